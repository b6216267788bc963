// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Pumice's host device. usage: [part of a case's name]
#include <bench/host/measure.hpp>
#include <pumice.hpp>

namespace pm = pumice;

namespace {

template <class T>
void run_all(const char* only) {
    using vec = pm::vector<T>;
    using mat = pm::matrix<T>;
    const auto run = [&](const char* name, std::int64_t n, auto&& make) {
        bench::report<T>("pumice", name, n, only, [&] {
            const auto y = make();
            pm::eval(y);
            bench::use(&y);
        });
    };
    for (const std::int64_t n : bench::sizes) {
        std::vector<vec> v;
        for (std::uint32_t i = 0; i < 5; ++i)
            v.push_back(pm::from_span<T>({n}, bench::numbers<T>(n, i)));
        const auto &a = v[0], &b = v[1], &c = v[2], &d = v[3], &e = v[4];
        run("add", n, [&] { return vec(a + b); });
        run("relu3", n, [&] { return vec(pm::relu(a * b + c)); });
        run("relu5", n, [&] { return vec(pm::relu(a * b + c) * d + e); });
        const std::int64_t rows = bench::rows_of(n);
        const mat x = pm::from_span<T>({rows, n / rows}, bench::numbers<T>(n, 9));
        run("row_sums", n, [&] { return vec(pm::sum(x, pm::axis<1>)); });
        run("column_sums", n, [&] { return vec(pm::sum(x, pm::axis<0>)); });
        run("softmax", n, [&] { return mat(pm::softmax(x, pm::axis<1>)); });
    }
    for (const std::int64_t n : {64, 128, 256, 512}) {
        const auto square = [&](std::uint32_t seed) {
            return mat(pm::from_span<T>({n, n}, bench::numbers<T>(n * n, seed)));
        };
        const mat a = square(1), b = square(2);
        run("matmul", n, [&] { return mat(pm::matmul(a, b)); });
    }
}

}  // namespace

int main(int argc, char** argv) {
    const char* only = argc > 1 ? argv[1] : "";
    pm::set_default_context(pm::context{pm::host_only{}});
    run_all<float>(only);
    run_all<double>(only);
}
