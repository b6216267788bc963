// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Bytes, integers, bools, halves and doubles together; a Fourier transform as two products.
#include "check.hpp"

#include <pumice/array_api.hpp>

#include <algorithm>
#include <numbers>

namespace pm = pumice;

TEST_CASE("user: types are mixed by name") {
    constexpr int n = 48;
    const pm::vector<std::uint8_t> bytes =
        pm::astype<std::uint8_t>(pm::arange<std::int32_t>(0, n) * 5);
    std::vector<std::int64_t> plain;
    for (int i = 0; i < n; ++i) plain.push_back(i * 5);
    CHECK(pm::sum(bytes).item() == std::uint64_t(5 * n * (n - 1) / 2));  // widens: no overflow

    const auto odd = (bytes & 1) == 1;
    const auto chosen = bytes[odd];
    std::vector<std::int64_t> wanted;
    for (const std::int64_t each : plain)
        if (each % 2 == 1) wanted.push_back(each);
    CHECK(pumice_test::worst(chosen.to_vector(), wanted) == 0);
    CHECK(pm::count_nonzero(odd).item() == std::int64_t(wanted.size()));

    const pm::vector<pm::f16> halves = pm::astype<pm::f16>(bytes) / pm::f16(8.0f);
    const pm::vector<float> back = pm::where(odd, pm::astype<float>(halves) * 8.0f, -1.0f);
    std::vector<float> either;
    for (const std::int64_t each : plain) either.push_back(each % 2 == 1 ? float(each) : -1.0f);
    CHECK(pumice_test::worst(back.to_vector(), either) == 0);

    const pm::vector<std::int32_t> order = pm::astype<std::int32_t>(pm::argsort(-back));
    std::vector<std::size_t> by(n);
    for (std::size_t i = 0; i < n; ++i) by[i] = i;
    std::sort(by.begin(), by.end(), [&](std::size_t a, std::size_t b) {
        return either[a] > either[b] || (either[a] == either[b] && a < b);  // argsort is stable
    });
    CHECK(pumice_test::worst(order.to_vector(), by) == 0);
}

TEST_CASE("user: a Fourier transform in doubles") {
    constexpr int n = 32;
    const auto turn =
        pm::astype<double>(pm::expand_dims(pm::arange<std::int32_t>(0, n), pm::axis<1>) *
                           pm::arange<std::int32_t>(0, n) % n) *
        (2 * std::numbers::pi / n);
    const pm::vector<double> t = pm::arange<double>(0, n);
    const pm::vector<double> signal =
        pm::astype<double>(pm::sin(pm::astype<float>(t) * 0.7f) + 0.01f * pm::astype<float>(t * t));
    const auto column = pm::expand_dims(signal, pm::axis<1>);
    const auto along = [&](const auto& wave) {
        return pm::astype<double>(pm::matmul(pm::astype<float>(wave), pm::astype<float>(column)));
    };
    const pm::matrix<double> re = along(pm::cos(pm::astype<float>(turn))),
                             im = along(-pm::sin(pm::astype<float>(turn)));
    const std::vector<double> power = pm::sqrt(re * re + im * im).to_vector(),
                              s = signal.to_vector();
    std::vector<double> plain;
    for (int k = 0; k < n; ++k) {
        double a = 0, b = 0;
        for (int i = 0; i < n; ++i) {
            a += s[std::size_t(i)] * std::cos(2 * std::numbers::pi * k * i / n);
            b -= s[std::size_t(i)] * std::sin(2 * std::numbers::pi * k * i / n);
        }
        plain.push_back(std::hypot(a, b));
    }
    CHECK(pumice_test::worst(power, plain) < 1e-4);
}
