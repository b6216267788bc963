// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Pumice's host device. usage: [part of a case's name]
#include <bench/host/measure.hpp>
#include <pumice.hpp>

namespace pm = pumice;

int main(int argc, char** argv) {
    const char* only = argc > 1 ? argv[1] : "";
    const pm::context host{pm::host_only{}};
    pm::set_default_context(host);
    const auto run = [&](const char* name, std::int64_t n, auto&& make) {
        bench::report("pumice", name, n, only, [&] {
            const auto y = make();
            pm::eval(y);
            bench::use(&y);
        });
    };
    for (const std::int64_t n : bench::sizes) {
        std::vector<pm::vector<float>> v;
        for (std::uint32_t i = 0; i < 5; ++i)
            v.push_back(pm::from_span<float>({n}, bench::numbers(n, i)));
        const auto &a = v[0], &b = v[1], &c = v[2], &d = v[3], &e = v[4];
        run("add", n, [&] { return pm::vector<float>(a + b); });
        run("relu3", n, [&] { return pm::vector<float>(pm::relu(a * b + c)); });
        run("relu5", n, [&] { return pm::vector<float>(pm::relu(a * b + c) * d + e); });
        const std::int64_t rows = bench::rows_of(n);
        const pm::matrix<float> x = pm::from_span<float>({rows, n / rows}, bench::numbers(n, 9));
        run("row_sums", n, [&] { return pm::vector<float>(pm::sum(x, pm::axis<1>)); });
        run("column_sums", n, [&] { return pm::vector<float>(pm::sum(x, pm::axis<0>)); });
        run("softmax", n, [&] { return pm::matrix<float>(pm::softmax(x, pm::axis<1>)); });
    }
    for (const std::int64_t n : {64, 128, 256, 512}) {
        const auto square = [&](std::uint32_t seed) {
            return pm::matrix<float>(pm::from_span<float>({n, n}, bench::numbers(n * n, seed)));
        };
        const pm::matrix<float> a = square(1), b = square(2);
        run("matmul", n, [&] { return pm::matrix<float>(pm::matmul(a, b)); });
    }
}
