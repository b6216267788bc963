// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The tensor cases of bench/peers/torch_ref.py under the same names. usage: [part of a name]
// [divisor of sizes]
#include <bench/support/measure.hpp>

#include <pumice/policy/passes.hpp>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

namespace pm = pumice;

namespace {

const char* only = "";
std::int64_t shrink = 1;

template <class T>
pm::matrix<T> random(std::int64_t rows, std::int64_t columns) {
    pm::matrix<T> m = pm::random::normal<T>({rows, columns});
    pm::eval(m);
    return m;
}

void run(const char* name, double flop, double bytes, int iterations,
         const std::function<pm::any_tensor()>& call) {
    if (!std::strstr(name, only)) return;
    const bench::timing t = bench::measure(call, iterations);
    pm::any_tensor one = call();
    pm::eval(std::span<const pm::any_tensor>(&one, 1));
    bench::report(name, t, flop, bytes, pm::explain(one));
}

template <class T>
void product(const char* name, std::int64_t m, std::int64_t n, std::int64_t k) {
    if (!std::strstr(name, only)) return;
    m /= shrink, n /= shrink, k /= shrink;
    const auto a = random<T>(m, k), b = random<T>(k, n);
    run(name, 2.0 * double(m) * double(n) * double(k), 0, 20,
        [&] { return pm::any_tensor(pm::matmul(a, b)); });
}

/// relu(a) * c as the left factor; and the same in one kernel, whatever that takes.
template <class T>
void with_prologue(const char* name, std::int64_t n) {
    static const pm::context fused(pm::without_pass{"store_prologues"});
    n /= shrink;
    const pm::context homes[] = {pm::default_context(), fused};
    for (const pm::context& home : homes) {
        const std::string full = std::string(name) + (&home == &homes[1] ? "_fused" : "");
        if (!std::strstr(full.c_str(), only)) continue;
        const auto a = pm::to(random<T>(n, n), home), b = pm::to(random<T>(n, n), home),
                   c = pm::to(random<T>(n, n), home);
        run(full.c_str(), 2.0 * double(n) * double(n) * double(n), 0, 20,
            [&] { return pm::any_tensor(pm::matmul(pm::relu(a) * c, b)); });
    }
}

/// What does little but read and write a square.
template <class T>
void rows(const std::string& type, std::int64_t side) {
    const std::string end = "_" + type + "_8192x8192";
    const double bytes = double(sizeof(T)) * double(side) * double(side);
    const auto x = random<T>(side, side);
    pm::vector<T> w = pm::random::normal<T>({side}), b = pm::ones<T>({side});
    pm::eval(w, b);
    const auto each = [&](const char* name, double moved, const auto& f) {
        run((name + end).c_str(), 0, moved, 30, [&] { return pm::any_tensor(f()); });
    };
    each("softmax", 2 * bytes, [&] { return pm::softmax(x, pm::axis<1>); });
    each("layernorm", 2 * bytes, [&] { return pm::matrix<T>(pm::layer_norm(x) * w + b); });
    each("rmsnorm", 2 * bytes, [&] { return pm::matrix<T>(pm::rms_norm(x) * w); });
    each("cumsum_rows", 2 * bytes, [&] { return pm::cumulative_sum(x, pm::axis<1>); });
    each("cumsum_cols", 2 * bytes, [&] { return pm::cumulative_sum(x, pm::axis<0>); });
    each("sum_rows", bytes, [&] { return pm::sum(x, pm::axis<1>); });
    each("sum_cols", bytes, [&] { return pm::sum(x, pm::axis<0>); });
    each("sum_full", bytes, [&] { return pm::sum(x); });
    each("transpose", 2 * bytes, [&] { return pm::copy(pm::transpose(x)); });
}

template <class T>
void elementwise(const std::string& type) {
    const auto each = [&](const std::string& name, std::int64_t count, double times,
                          const auto& f) {
        if (!std::strstr(name.c_str(), only)) return;
        pm::vector<T> a = pm::random::normal<T>({count}), b = pm::random::normal<T>({count});
        pm::eval(a, b);
        run(name.c_str(), 0, times * double(sizeof(T)) * double(count), 30,
            [&] { return pm::any_tensor(pm::vector<T>(f(a, b))); });
    };
    const auto of = [&](std::int64_t bytes) {
        return bytes / std::int64_t(sizeof(T)) / (shrink * shrink);
    };
    each("gelu_" + type + "_64MiB", of(64 << 20), 2,
         [](const auto& a, const auto&) { return pm::gelu(a); });
    each("add_" + type + "_1GiB", of(1 << 30), 3,
         [](const auto& a, const auto& b) { return a + b; });
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc > 1) only = argv[1];
    if (argc > 2) shrink = std::max(1, std::atoi(argv[2]));
    std::printf("{\"peer\":\"pumice\",\"mode\":\"info\",\"device\":\"%s\"}\n",
                pm::default_context().device().name.c_str());

    product<pm::f16>("gemm_f16_4096", 4096, 4096, 4096);
    product<pm::f16>("gemm_f16_1024", 1024, 1024, 1024);
    product<pm::f16>("gemm_f16_odd", 4095, 4097, 4093);
    product<pm::bf16>("gemm_bf16_4096", 4096, 4096, 4096);
    product<float>("gemm_f32_4096", 4096, 4096, 4096);
    with_prologue<pm::f16>("gemm_f16_4096_prologue", 4096);
    with_prologue<pm::f16>("gemm_f16_512_prologue", 512);
    with_prologue<float>("gemm_f32_4096_prologue", 4096);

    const std::int64_t side = 8192 / shrink, chain = (std::int64_t(1) << 28) / (shrink * shrink);
    const double square_bytes = 4.0 * double(side) * double(side);
    if (std::strstr("eltchain_f32_1GiB", only)) {
        std::vector<pm::vector<float>> v;
        for (int i = 0; i < 5; ++i) {
            v.push_back(pm::random::normal<float>({chain}));
            pm::eval(v.back());
        }
        run("eltchain_f32_1GiB", 0, 6 * 4.0 * double(chain), 20, [&] {
            return pm::any_tensor(pm::vector<float>(pm::relu(v[0] * v[1] + v[2]) * v[3] + v[4]));
        });
    }
    rows<float>("f32", side);
    rows<pm::f16>("f16", side);
    elementwise<float>("f32");
    elementwise<pm::f16>("f16");
    const auto x = random<float>(side, side);
    run("layernorm_written_out_f32_8192x8192", 0, 2 * square_bytes, 30, [&] {
        const pm::matrix<float> d = x - pm::mean(x, pm::axis<1>, pm::keepdims),
                                v = pm::mean(d * d, pm::axis<1>, pm::keepdims);
        return pm::any_tensor(pm::matrix<float>(d / pm::sqrt(v + 1e-5f)));
    });
    run("softmax_written_out_f32_8192x8192", 0, 2 * square_bytes, 30, [&] {
        const pm::matrix<float> e = pm::exp(x - pm::max(x, pm::axis<1>, pm::keepdims));
        return pm::any_tensor(pm::matrix<float>(e / pm::sum(e, pm::axis<1>, pm::keepdims)));
    });
} catch (const pm::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
