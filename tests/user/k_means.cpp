// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Lloyd's k-means: the nearest centre of each point, then the mean of each centre's points.
#include "check.hpp"

#include <pumice/array_api.hpp>

namespace pm = pumice;

TEST_CASE("user: k-means takes at most five kernels a step") {
    constexpr int n = 1500, d = 3, k = 6, steps = 5;
    const pm::matrix<float> points = pm::random::normal<float>({n, d}, pm::random::key(7));
    pm::matrix<float> centres = pm::view(points, pm::slice{0, k});
    pm::vector<std::int32_t> nearest = pm::zeros<std::int32_t>({n});
    pm::eval(centres, nearest);

    const std::vector<float> p = points.to_vector();
    std::vector<float> plain(p.begin(), p.begin() + k * d);
    std::vector<int> of(n);
    for (int step = 0; step < steps; ++step) {
        std::vector<double> sums(k * d), counts(k);
        for (std::size_t i = 0; i < n; ++i) {
            float least = HUGE_VALF;
            for (std::size_t c = 0; c < k; ++c) {
                float far = 0;
                for (std::size_t a = 0; a < d; ++a) {
                    const float gap = p[i * d + a] - plain[c * d + a];
                    far += gap * gap;
                }
                if (far < least) least = far, of[i] = int(c);
            }
            ++counts[std::size_t(of[i])];
            for (std::size_t a = 0; a < d; ++a)
                sums[std::size_t(of[i]) * d + a] += double(p[i * d + a]);
        }
        for (std::size_t c = 0; c < k; ++c)
            for (std::size_t a = 0; a < d; ++a)
                plain[c * d + a] = float(sums[c * d + a] / counts[c]);
    }

    for (int step = 0; step < steps; ++step) {
        const auto kernels = pumice_test::kernels_of([&] {
            const auto gap = points(pm::all, pm::newaxis, pm::all) - centres;  // (n, k, d)
            nearest =
                pm::astype<std::int32_t>(pm::argmin(pm::sum(gap * gap, pm::axis<2>), pm::axis<1>));
            const auto ids = pm::arange<std::int32_t>(0, k);
            const pm::matrix<float> own =
                pm::astype<float>(pm::expand_dims(nearest, pm::axis<1>) == ids);  // (n, k)
            const auto counts = pm::sum(own, pm::axis<0>);
            centres = pm::matmul(pm::transpose(own), points) / pm::expand_dims(counts, pm::axis<1>);
            pm::eval(centres, nearest);
        });
        CHECK(kernels <= 5);
    }
    CHECK(pumice_test::worst(nearest.to_vector(), of) == 0);
    CHECK(pumice_test::worst(centres.to_vector(), plain) < 1e-4);
}
