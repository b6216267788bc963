// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A launch as data: the bytes that an operand touches, when indices need 64 bits.
#include <pumice/kernels/launch.hpp>

#include <doctest/doctest.h>

#include <random>

using namespace pumice;

TEST_CASE("the range of an operand is from its first byte to its last, whatever its steps") {
    std::mt19937 random(5);
    for (int round = 0; round < 3000; ++round) {
        shape domain;
        for (auto r = random() % 4; r > 0; --r) domain.push_back(std::int64_t(random() % 5));
        operand o{7, random() % 2 ? dtype::f64 : dtype::i8, 500, {}};
        for (int d = 0; d < domain.rank(); ++d) o.steps.push_back(std::int64_t(random() % 41) - 20);
        const pumice::access a = range_of(o, domain, round % 2 == 0);
        const std::int64_t n = element_count(domain), size = info(o.type).bits / 8;
        std::int64_t low = 1 << 20, high = -1;
        for (std::int64_t i = 0; i < n; ++i) {
            std::int64_t rest = i, where = o.offset;
            for (int d = domain.rank() - 1; d >= 0; --d) {
                where += rest % domain[d] * o.steps[d];
                rest /= domain[d];
            }
            low = std::min(low, where * size);
            high = std::max(high, (where + 1) * size);
        }
        CAPTURE(round);
        CHECK(a.buffer == 7);
        CHECK(a.write == (round % 2 == 0));
        if (n == 0) CHECK(a.begin == a.end);
        else {
            CHECK(a.begin == low);
            CHECK(a.end == high);
        }
    }
}

TEST_CASE("indices are wide from 2^31 elements on, of an operand or of the domain") {
    const auto wide = [](std::int64_t offset, std::int64_t step, std::int64_t n) {
        return needs_wide_index({{0, dtype::f32, offset, {step}}}, {n});
    };
    CHECK_FALSE(wide(0, 1, 1 << 20));
    CHECK_FALSE(wide(0x7ffffffe, 0, 4));
    CHECK(wide(0x7fffffff, 0, 4));
    CHECK_FALSE(wide(0, 0x7ffffffe, 2));
    CHECK(wide(0, 0x7fffffff, 2));
    CHECK_FALSE(wide(0, -0x7fffffff, 2));
    CHECK(wide(-1, -0x7fffffff, 2));
    CHECK(wide(0, 0, 0x7fffffff));  // nothing but a count of coordinates, which idle groups pass
    CHECK_FALSE(wide(0, 0, 0x7e000000));
    CHECK(needs_wide_index({}, {1 << 16, 1 << 16}));
}
