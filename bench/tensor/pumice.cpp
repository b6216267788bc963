// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The tensor cases of bench/peers/torch_ref.py under the same names. usage: [part of a name]
// [divisor of sizes]
#include <bench/support/measure.hpp>

#include <cstdlib>
#include <cstring>
#include <functional>

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
    const auto x = random<float>(side, side);
    run("softmax_f32_8192x8192", 0, 2 * square_bytes, 30,
        [&] { return pm::any_tensor(pm::softmax(x, pm::axis<1>)); });
    const pm::vector<float> w = pm::random::normal<float>({side}), b = pm::ones<float>({side});
    pm::eval(w, b);
    run("layernorm_f32_8192x8192", 0, 2 * square_bytes, 30,
        [&] { return pm::any_tensor(pm::matrix<float>(pm::layer_norm(x) * w + b)); });
    run("rmsnorm_f32_8192x8192", 0, 2 * square_bytes, 30,
        [&] { return pm::any_tensor(pm::matrix<float>(pm::rms_norm(x) * w)); });
    run("layernorm_written_out_f32_8192x8192", 0, 2 * square_bytes, 30, [&] {
        const pm::matrix<float> d = x - pm::mean(x, pm::axis<1>, pm::keepdims),
                                v = pm::mean(d * d, pm::axis<1>, pm::keepdims);
        return pm::any_tensor(pm::matrix<float>(d / pm::sqrt(v + 1e-5f)));
    });
    run("softmax_written_out_f32_8192x8192", 0, 2 * square_bytes, 30, [&] {
        const pm::matrix<float> e = pm::exp(x - pm::max(x, pm::axis<1>, pm::keepdims));
        return pm::any_tensor(pm::matrix<float>(e / pm::sum(e, pm::axis<1>, pm::keepdims)));
    });
    run("cumsum_rows_f32_8192x8192", 0, 2 * square_bytes, 30,
        [&] { return pm::any_tensor(pm::cumulative_sum(x, pm::axis<1>)); });
    run("cumsum_cols_f32_8192x8192", 0, 2 * square_bytes, 30,
        [&] { return pm::any_tensor(pm::cumulative_sum(x, pm::axis<0>)); });
    run("sum_rows_f32_8192x8192", 0, square_bytes, 30,
        [&] { return pm::any_tensor(pm::sum(x, pm::axis<1>)); });
    run("sum_full_f32_8192x8192", 0, square_bytes, 30, [&] { return pm::any_tensor(pm::sum(x)); });
    run("transpose_f32_8192x8192", 0, 2 * square_bytes, 30,
        [&] { return pm::copy(pm::transpose(x)); });
} catch (const pm::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
