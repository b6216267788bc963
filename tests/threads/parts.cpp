// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Kernels whose workgroups leave parts for the last of them (shaders/arrive.slang), by several
// threads at once: what they count in is each launch's own, and 0 again when it ends.
#include <pumice/front.hpp>
#include <pumice/tensor/compile.hpp>

#include <doctest/doctest.h>

#include <thread>

namespace pm = pumice;

TEST_CASE("parts: whole sums and deep products are the same in each thread, run and recording") {
    for (const bool on_host : {false, true}) {
        const pm::context home = on_host ? pm::context(pm::host_only{}) : pm::context();
        const std::int64_t k = 1 << 15;
        // Small integers: any order of the sums is exact.
        const pm::matrix<float>
            x = pm::reshape_to(pm::arange<float>(0, float(k), 1.0f, home) % 7.0f - 3.0f,
                               std::int64_t{1}, k),
            w = pm::reshape_to(pm::arange<float>(0, float(k) * 10, 1.0f, home) % 5.0f - 2.0f, k,
                               std::int64_t{10});
        pm::eval(x, w);
        const auto both = [](const pm::matrix<float>& v, const pm::matrix<float>& m) {
            return pm::vector<float>(pm::reshape_to(pm::matmul(v, m), std::int64_t{10}) +
                                     pm::sum(v * 2.0f));
        };
        std::vector<float> want(10);
        {
            double sum = 0;
            std::vector<double> products(10);
            for (std::int64_t i = 0; i < k; ++i) {
                const double v = double(i % 7) - 3;
                sum += 2 * v;
                for (std::int64_t j = 0; j < 10; ++j)
                    products[std::size_t(j)] += v * (double((i * 10 + j) % 5) - 2);
            }
            for (std::size_t j = 0; j < 10; ++j) want[j] = float(products[j] + sum);
        }
        const auto recorded = pm::compile(both);
        std::vector<int> right(4);
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < right.size(); ++t)
            threads.emplace_back([&, t] {
                for (int i = 0; i < 12; ++i) {
                    const pm::vector<float> y = i % 2 ? both(x, w) : recorded(x, w);
                    right[t] += y.to_vector() == want;
                }
            });
        threads.clear();
        CHECK(right == std::vector<int>{12, 12, 12, 12});
    }
}
