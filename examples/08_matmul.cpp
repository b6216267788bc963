// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A product of half floats: weights are unpacked on the way in, bias and activation follow on the
// way out, and all of it is one kernel, on the matrix units where the device has them.
#include <pumice.hpp>

#include <cmath>
#include <iostream>

namespace pm = pumice;

int main() try {
    const std::int64_t m = 96, k = 160, n = 72;
    const pm::matrix<pm::f16> x = pm::random::normal<pm::f16>({m, k});
    const pm::matrix<float> weights = pm::random::normal<float>({k, n});
    const pm::matrix<std::int8_t> packed = pm::astype<std::int8_t>(weights * 32.0f);
    const pm::vector<pm::f16> scale = pm::full<pm::f16>({n}, pm::f16(1 / 64.0f));
    const pm::vector<pm::f16> bias = pm::random::normal<pm::f16>({n});
    pm::eval(x, packed, scale, bias);

    const pm::statistics before = pm::stats();
    const pm::matrix<pm::f16> y =
        pm::relu(pm::matmul(x, pm::astype<pm::f16>(packed) * scale) + bias);
    pm::eval(y);
    std::cout << pm::explain(y) << "dispatches=" << pm::stats().dispatches - before.dispatches
              << '\n';

    const auto vx = x.to_vector(), vb = bias.to_vector(), vy = y.to_vector();
    const auto vw = packed.to_vector();
    double worst = 0;
    for (std::int64_t r = 0; r < m; ++r)
        for (std::int64_t c = 0; c < n; ++c) {
            double sum = float(vb[std::size_t(c)]);
            for (std::int64_t i = 0; i < k; ++i)
                sum += double(float(vx[std::size_t(r * k + i)])) * vw[std::size_t(i * n + c)] / 64;
            const double off = std::fabs(std::max(sum, 0.0) - float(vy[std::size_t(r * n + c)]));
            worst = std::max(worst, off / (1 + std::fabs(sum)));
        }
    std::cout << "largest relative difference to plain C++: " << worst << '\n';
    return worst < 2e-3 ? 0 : 1;
} catch (const pm::error& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
