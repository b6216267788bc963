// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Mean, variance, quantiles, covariance, and the first principal component by the power method.
#include "check.hpp"

#include <algorithm>

namespace pm = pumice;

TEST_CASE("user: statistics of a table, and its principal component") {
    constexpr int n = 500, d = 4;
    const pm::matrix<float> skew{{2, 0, 0, 0}, {1, 1, 0, 0}, {0, .5f, 1, 0}, {0, 0, .2f, .5f}};
    const pm::matrix<float> x =
        pm::matmul(pm::random::normal<float>({n, d}, pm::random::key(4)), skew) + 3.0f;
    const std::vector<float> p = x.to_vector();
    std::vector<double> mean(d), covariance(d * d), median(d);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < d; ++j) mean[j] += double(p[i * d + j]) / n;
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < d; ++j)
            for (std::size_t k = 0; k < d; ++k)
                covariance[j * d + k] +=
                    (double(p[i * d + j]) - mean[j]) * (double(p[i * d + k]) - mean[k]) / (n - 1);
    for (std::size_t j = 0; j < d; ++j) {
        std::vector<float> column;
        for (std::size_t i = 0; i < n; ++i) column.push_back(p[i * d + j]);
        std::sort(column.begin(), column.end());
        median[j] = 0.5 * double(column[n / 2 - 1] + column[n / 2]);
    }

    const pm::vector<float> centre = pm::mean(x, pm::axis<0>);
    CHECK(pumice_test::worst(centre.to_vector(), mean) < 1e-5);
    const auto sorted = pm::sort(x, pm::axis<0>);
    CHECK(pumice_test::worst(((sorted[n / 2 - 1] + sorted[n / 2]) * 0.5f).to_vector(), median) <
          1e-6);
    const pm::matrix<float> off = x - centre;
    const pm::matrix<float> c = pm::matmul(pm::transpose(off), off) / float(n - 1);
    CHECK(pumice_test::worst(c.to_vector(), covariance) < 1e-4);
    const std::vector<float> spread = pm::var(x, pm::axis<0>).to_vector();
    for (std::size_t j = 0; j < d; ++j)
        CHECK(double(spread[j]) * n / (n - 1) ==
              doctest::Approx(covariance[j * d + j]).epsilon(1e-4));

    std::vector<double> plain(d, 1.0);
    pm::matrix<float> v = pm::ones<float>({d, 1});
    const auto step = pm::compile([](const pm::matrix<float>& a, const pm::matrix<float>& b) {
        const pm::matrix<float> next = pm::matmul(a, b);
        return pm::matrix<float>(next / pm::sqrt(pm::sum(next * next)));
    });
    for (int i = 0; i < 30; ++i) {
        v = step(c, v);
        std::vector<double> next(d);
        double square = 0;
        for (std::size_t j = 0; j < d; ++j)
            for (std::size_t k = 0; k < d; ++k) next[j] += covariance[j * d + k] * plain[k];
        for (const double each : next) square += each * each;
        for (std::size_t j = 0; j < d; ++j) plain[j] = next[j] / std::sqrt(square);
    }
    CHECK(pumice_test::worst(v.to_vector(), plain) < 1e-4);
    CHECK(pumice_test::kernels_of([&] { step(c, v).to_vector(); }) <= 3);
}
