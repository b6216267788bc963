// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A grey picture blurred, its edges, its histogram.
#include "check.hpp"

#include <pumice/array_api.hpp>

namespace pm = pumice;

TEST_CASE("user: a picture is blurred, its edges found and its bytes counted") {
    constexpr int n = 80;
    const pm::matrix<std::uint8_t> picture =
        pm::astype<std::uint8_t>(pm::random::uniform<float>({n, n}, pm::random::key(9)).rank<2>() *
                                 256.0f);
    const std::vector<std::uint8_t> bytes = picture.to_vector();
    const auto at = [&](int i, int j) {
        return i < 0 || j < 0 || i >= n || j >= n ? 0.0 : double(bytes[std::size_t(i * n + j)]);
    };
    std::vector<double> blur(n * n), edge(n * n);
    std::vector<int> histogram(256);
    for (const std::uint8_t each : bytes) ++histogram[each];
    constexpr int bell[] = {1, 4, 6, 4, 1}, slope[] = {-1, 0, 1}, flat[] = {1, 2, 1};
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            double sum = 0, across = 0, along = 0;
            for (int a = 0; a < 5; ++a)
                for (int b = 0; b < 5; ++b)
                    sum += bell[a] * bell[b] * at(i + a - 2, j + b - 2) / 256;
            for (int a = 0; a < 3; ++a)
                for (int b = 0; b < 3; ++b) {
                    across += flat[a] * slope[b] * at(i + a - 1, j + b - 1);
                    along += slope[a] * flat[b] * at(i + a - 1, j + b - 1);
                }
            blur[std::size_t(i * n + j)] = sum;
            edge[std::size_t(i * n + j)] = std::hypot(across, along);
        }

    const auto grey = pm::reshape<1, 1, n, n>(pm::astype<float>(picture));
    const pm::vector<float> b{1, 4, 6, 4, 1}, s{-1, 0, 1}, f{1, 2, 1};
    const auto outer = [](const pm::vector<float>& y, const pm::vector<float>& x) {
        return pm::tensor<float, pm::dims<4>>(y(pm::newaxis, pm::newaxis, pm::all, pm::newaxis) *
                                              x);
    };
    const pm::tensor<float, pm::dims<4>> blurred =
        pm::conv(grey, outer(b, b) / 256.0f, {.pad_begin = {2, 2}, .pad_end = {2, 2}});
    CHECK(pumice_test::worst(blurred.to_vector(), blur) < 1e-3);

    const pm::conv_op around{.pad_begin = {1, 1}, .pad_end = {1, 1}};
    const auto across = pm::conv(grey, outer(f, s), around),
               along = pm::conv(grey, outer(s, f), around);
    CHECK(pumice_test::worst(pm::sqrt(across * across + along * along).to_vector(), edge) < 1e-2);

    const auto where = pm::reshape<n * n>(pm::astype<std::int32_t>(picture));
    const pm::vector<std::int32_t> counts =
        pm::scatter_elements(pm::zeros<std::int32_t>({256}).rank<1>(), where,
                             pm::ones<std::int32_t>({n * n}).rank<1>(), pm::axis<0>,
                             pm::scattering::sum);
    CHECK(pumice_test::worst(counts.to_vector(), histogram) == 0);
}
