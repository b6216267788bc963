// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The tensor cases of bench/peers/torch_ref.py under the same names. usage: [part of a name]
// [divisor of sizes]
#include <bench/support/measure.hpp>

#include <pumice/measure_rates.hpp>
#include <pumice/policy/passes.hpp>

#include <array>
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

/// `kernels`: also by the device's clock.
void run(const char* name, double flop, double bytes, int iterations,
         const std::function<pm::any_tensor()>& call, bool kernels = false) {
    if (!std::strstr(name, only)) return;
    const bench::timing t = bench::measure(call, iterations);
    pm::any_tensor one = call();
    pm::eval(std::span<const pm::any_tensor>(&one, 1));
    const double seconds = kernels ? pm::kernel_seconds(pm::default_context(), call) : 0;
    bench::report(name, t, flop, bytes, pm::explain(one), seconds * 1e6);
}

template <class T>
void product(const char* name, std::int64_t m, std::int64_t n, std::int64_t k) {
    if (!std::strstr(name, only)) return;
    m /= shrink, n /= shrink, k /= shrink;
    const auto a = random<T>(m, k), b = random<T>(k, n);
    run(
        name, 2.0 * double(m) * double(n) * double(k), 0, 20,
        [&] { return pm::any_tensor(pm::matmul(a, b)); }, true);
}

/// Of a right factor that lies (n, k) in memory, and of 32 pairs.
template <class T>
void further_products(const std::string& type) {
    const std::int64_t n = 4096 / shrink, small = 512 / shrink;
    const std::string turned = "gemm_" + type + "_4096_turned", batch = "bmm_" + type + "_32x512";
    if (std::strstr(turned.c_str(), only)) {
        const auto a = random<T>(n, n), b = random<T>(n, n);
        run(
            turned.c_str(), 2.0 * double(n) * double(n) * double(n), 0, 20,
            [&] { return pm::any_tensor(pm::matmul(a, pm::transpose(b))); }, true);
    }
    if (std::strstr(batch.c_str(), only)) {
        const auto made = [&](std::uint32_t key) {
            const pm::any_tensor t =
                pm::random::normal(pm::dtype_of<T>, pm::shape{32, small, small},
                                   pm::random::key(key), 0, 1, pm::default_context());
            pm::eval(std::span(&t, 1));
            return t;
        };
        const pm::any_tensor a = made(1), b = made(2);
        run(
            batch.c_str(), 64.0 * double(small) * double(small) * double(small), 0, 20,
            [&] { return pm::matmul(a, b); }, true);
    }
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
        run((name + end).c_str(), 0, moved, 30, [&] { return pm::any_tensor(f()); }, true);
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

/// What else memory limits.
template <class T>
void others(const std::string& type) {
    const double size = sizeof(T);
    const pm::dtype t = pm::dtype_of<T>;
    const auto given = [&](const pm::shape& s) {
        const pm::any_tensor made =
            pm::random::normal(t, s, pm::random::key(1), 0, 1, pm::default_context());
        pm::eval(std::span(&made, 1));
        return made;
    };
    const auto each = [&](const std::string& name, double bytes, const auto& f) {
        run(name.c_str(), 0, bytes, 30, [&] { return pm::any_tensor(f()); }, true);
    };
    {
        const auto count = [&](std::int64_t bytes) {
            return bytes / std::int64_t(sizeof(T)) / (shrink * shrink);
        };
        const std::int64_t few = count(64 << 20), many = count(1 << 30);
        const pm::any_tensor v = given({few}), w = given({many}), u = given({many});
        each("gelu_" + type + "_64MiB", 2 * size * double(few), [&] { return pm::gelu(v); });
        each("gelu_tanh_" + type + "_64MiB", 2 * size * double(few),
             [&] { return pm::gelu_tanh(v); });
        each("add_" + type + "_1GiB", 3 * size * double(many), [&] { return w + u; });
        each("chain_" + type + "_1GiB", 3 * size * double(many),
             [&] { return pm::relu(w * u + w) * 0.5f - u; });
        each("cast_" + type + "_1GiB", 1.5 * size * double(many),
             [&] { return pm::astype(w, sizeof(T) == 4 ? pm::dtype::f16 : pm::dtype::i8); });
    }
    const std::int64_t images = std::max<std::int64_t>(32 / shrink, 1);
    const double moved = 2 * size * double(images * 56 * 56 * 256);
    const pm::any_tensor nhwc = given({images, 56, 56, 256}), nchw = given({images, 256, 56, 56}),
                         taps = given({256, 1, 3, 3});
    each("nhwc_to_nchw_" + type + "_32x56x56x256", moved,
         [&] { return pm::copy(pm::permute_dims(nhwc, std::array<std::int64_t, 4>{0, 3, 1, 2})); });
    each("depthwise_" + type + "_32x256x56x56", moved, [&] {
        pm::conv_op how;
        how.group = 256;
        for (int i = 0; i < 2; ++i) how.pad_begin[i] = how.pad_end[i] = 1;
        return pm::conv(nchw, taps, how);
    });
    const std::int64_t k = 14336 / shrink, n = 4096 / shrink;
    const pm::any_tensor tall = given({k, n}),
                         turned = pm::permute_dims(tall, std::array<std::int64_t, 2>{1, 0});
    for (const std::int64_t rows : {1, 8}) {
        const pm::any_tensor a = given({rows, k}), b = given({rows, n});
        const std::string name = "gemv_" + type + "_14336x4096_rows" + std::to_string(rows);
        each(name, size * double(k * n), [&] { return pm::matmul(a, tall); });
        each(name + "_turned", size * double(k * n), [&] { return pm::matmul(b, turned); });
    }
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc > 1) only = argv[1];
    if (argc > 2) shrink = std::max(1, std::atoi(argv[2]));
    std::printf("{\"peer\":\"pumice\",\"mode\":\"info\",\"device\":\"%s\"}\n",
                pm::default_context().device().name.c_str());

    product<pm::f16>("gemm_f16_4096", 4096, 4096, 4096);
    product<pm::f16>("gemm_f16_8192", 8192, 8192, 8192);
    product<pm::f16>("gemm_f16_2048", 2048, 2048, 2048);
    product<pm::f16>("gemm_f16_1024", 1024, 1024, 1024);
    product<pm::f16>("gemm_f16_512", 512, 512, 512);
    product<pm::f16>("gemm_f16_odd", 4095, 4097, 4093);
    product<pm::f16>("gemm_f16_4096x512x14336", 4096, 512, 14336);
    further_products<pm::f16>("f16");
    product<pm::bf16>("gemm_bf16_4096", 4096, 4096, 4096);
    product<float>("gemm_f32_4096", 4096, 4096, 4096);
    product<float>("gemm_f32_2048", 2048, 2048, 2048);
    product<float>("gemm_f32_1024", 1024, 1024, 1024);
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
    others<float>("f32");
    others<pm::f16>("f16");
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
