// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Divisions that kernels do by multiplying, as shaders/element.slang does them.
#include <pumice/kernels/division.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace pumice;

TEST_CASE("division: every quotient of numbers below 2^31") {
    const auto quotient = [](std::uint32_t n, std::int64_t d) {
        const detail::division by = detail::division_by(d);
        const auto upper = static_cast<std::uint32_t>(std::uint64_t{by.factor} * n >> 32);
        return (upper + n) >> by.shift;
    };
    constexpr std::uint32_t most = 0x7fffffff;
    std::vector<std::uint32_t> divisors;
    for (std::uint32_t d = 1; d < 300; ++d) divisors.push_back(d);
    for (int bit = 8; bit < 31; ++bit)
        for (const std::uint32_t near : {0u, 1u, 2u, 3u})
            divisors.push_back((1u << bit) - 1 + near),
                divisors.push_back(most - (1u << bit) - near);
    divisors.push_back(most - 1), divisors.push_back(most);
    std::uint64_t wrong = 0;
    for (const std::uint32_t d : divisors) {
        const auto check = [&](std::uint64_t n) {
            if (n <= most) wrong += quotient(static_cast<std::uint32_t>(n), d) != n / d;
        };
        for (std::uint64_t n = 0; n < 1000; ++n) check(n), check(most - n);
        // The last of one quotient and the first of the next.
        for (std::uint64_t q = 1; q < most; q = q * 5 / 4 + 1)
            check(q * d - 1), check(q * d), check(q * d + 1);
        for (std::uint64_t q = 0; q < 1000; ++q)
            check((most / d - q) * d), check((most / d - q) * d - 1);
    }
    CHECK(wrong == 0);
}

TEST_CASE("division: by numbers that no 32-bit index is divided by it is by 1") {
    for (const std::int64_t d : {std::int64_t{0}, std::int64_t{-3}, std::int64_t{1} << 31}) {
        CHECK(detail::division_by(d).factor == 1);
        CHECK(detail::division_by(d).shift == 0);
    }
}
