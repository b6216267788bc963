// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Gravity between bodies, by NumPy's broadcasting: all pairs, leapfrog steps.
#include "check.hpp"

namespace pm = pumice;

TEST_CASE("user: n-body takes at most four kernels a step") {
    constexpr int n = 96, steps = 5;
    constexpr float dt = 0.01f, soft = 0.05f;
    pm::matrix<float> x = pm::random::normal<float>({n, 3}, pm::random::key(1));
    pm::matrix<float> v = 0.1f * pm::random::normal<float>({n, 3}, pm::random::key(2));
    const pm::vector<float> m = pm::random::uniform<float>({n}, pm::random::key(3)) / float(n);

    const std::vector<float> x0 = x.to_vector(), v0 = v.to_vector(), mass = m.to_vector();
    std::vector<double> px(x0.begin(), x0.end()), pv(v0.begin(), v0.end());
    for (int step = 0; step < steps; ++step) {
        for (std::size_t i = 0; i < n; ++i) {
            double a[3] = {};
            for (std::size_t j = 0; j < n; ++j) {
                double d[3], square = double(soft) * double(soft);
                for (std::size_t k = 0; k < 3; ++k) {
                    d[k] = px[j * 3 + k] - px[i * 3 + k];
                    square += d[k] * d[k];
                }
                for (std::size_t k = 0; k < 3; ++k)
                    a[k] += double(mass[j]) * d[k] / (square * std::sqrt(square));
            }
            for (std::size_t k = 0; k < 3; ++k) pv[i * 3 + k] += double(dt) * a[k];
        }
        for (std::size_t i = 0; i < px.size(); ++i) px[i] += double(dt) * pv[i];
    }

    for (int step = 0; step < steps; ++step) {
        const auto kernels = pumice_test::kernels_of([&] {
            const auto d = x(pm::newaxis, pm::all, pm::all) - x(pm::all, pm::newaxis, pm::all);
            const auto square = pm::sum(d * d, pm::axis<2>) + soft * soft;
            const auto pull = m / (square * pm::sqrt(square));  // (i, j)
            v += dt * pm::sum(d * pm::expand_dims(pull, pm::axis<2>), pm::axis<1>);
            x += dt * v;
            pm::eval(x, v);
        });
        CHECK(kernels <= 4);
    }
    CHECK(pumice_test::worst(x.to_vector(), px) < 1e-5);
    CHECK(pumice_test::worst(v.to_vector(), pv) < 1e-5);
}
