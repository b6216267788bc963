// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Blocks of f16 have the bits that one conversion at a time gives.
#include <pumice/core/half_blocks.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <vector>

using namespace pumice;

namespace {
std::uint32_t bits(float v) { return std::bit_cast<std::uint32_t>(v); }
}  // namespace

TEST_CASE("half blocks: every f16 as a float, from any element on") {
    std::vector<f16> halves(65536);
    for (std::size_t i = 0; i < halves.size(); ++i) halves[i].bits = static_cast<std::uint16_t>(i);
    std::vector<float> floats(halves.size());
    for (const std::int64_t begin : {0, 1, 7}) {
        detail::to_floats(halves.data() + begin, floats.data(), 65536 - begin);
        int wrong = 0;
        for (std::int64_t i = begin; i < 65536; ++i)
            wrong += bits(floats[static_cast<std::size_t>(i - begin)]) !=
                     bits(halves[static_cast<std::size_t>(i)]);
        CHECK(wrong == 0);
    }
}

TEST_CASE("half blocks: floats as f16, of every exponent and sign, with every way to round") {
    std::vector<float> floats;
    for (std::uint32_t high = 0; high < 1 << 19; ++high)  // sign, exponent, what f16 keeps
        for (const std::uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu})
            floats.push_back(std::bit_cast<float>(high << 13 | low));
    std::vector<f16> halves(floats.size());
    detail::to_halves(floats.data(), halves.data(), static_cast<std::int64_t>(floats.size()));
    int wrong = 0;
    for (std::size_t i = 0; i < floats.size(); ++i) wrong += halves[i].bits != f16(floats[i]).bits;
    CHECK(wrong == 0);
}

TEST_CASE("half blocks: no more than was asked for") {
    for (std::int64_t n = 0; n < 40; ++n) {
        const auto count = static_cast<std::size_t>(n);
        std::vector<float> floats(41, 3.0f);
        std::vector<f16> halves(41, f16(5.0f));
        detail::to_halves(std::vector<float>(40, 1.0f).data(), halves.data(), n);
        detail::to_floats(std::vector<f16>(40, f16(2.0f)).data(), floats.data(), n);
        CHECK((n == 0 || (floats[count - 1] == 2 && halves[count - 1] == 1.0f)));
        CHECK(floats[count] == 3);
        CHECK(halves[count] == 5.0f);
    }
}
