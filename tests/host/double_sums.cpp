// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/host/double_sums.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <limits>
#include <vector>

using namespace pumice;

namespace {

std::vector<double> numbers(std::int64_t n) {
    std::vector<double> v(static_cast<std::size_t>(n));
    std::uint64_t seed = 3;
    for (double& x : v) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x = static_cast<double>(static_cast<std::int64_t>(seed)) * 0x1p-50;
    }
    return v;
}

}  // namespace

TEST_CASE("double sums: in lanes, as of an array of 32 that is folded") {
    const std::vector<double> v = numbers(32 * 9);
    for (std::int64_t rounds = 0; rounds <= 9; ++rounds) {
        double part[32] = {};
        for (std::int64_t i = 0; i < rounds * 32; ++i)
            part[i % 32] += v[static_cast<std::size_t>(i)];
        for (int half = 16; half > 0; half /= 2)
            for (int k = 0; k < half; ++k) part[k] += part[k + half];
        CHECK(detail::sum_in_lanes(v.data(), rounds) == part[0]);
    }
}

TEST_CASE("double sums: what an addition loses is kept") {
    double sum = 1e16, lost = 0;
    for (int i = 0; i < 5; ++i) detail::add_exactly(sum, lost, 0.25);
    CHECK(sum == 1e16);
    CHECK(lost == 1.25);
}

TEST_CASE("double sums: four lines are added up plainly, their sums exactly") {
    for (const std::int64_t n : {0, 1, 31, 32, 70}) {
        const std::vector<double> v = numbers(4 * n);
        std::vector<double> sums(static_cast<std::size_t>(n), 1e20), lost(sums.size(), 0);
        std::vector<double> want = sums, want_lost = lost;
        const void* lines[4];
        for (int c = 0; c < 4; ++c) lines[c] = v.data() + c * n;
        detail::add_four_lines{}(sums.data(), lost.data(), lines, n);
        for (std::size_t i = 0; i < want.size(); ++i) {
            const auto at = [&](std::size_t c) { return v[c * want.size() + i]; };
            detail::add_exactly(want[i], want_lost[i], (at(0) + at(1)) + (at(2) + at(3)));
        }
        CHECK(sums == want);
        CHECK(lost == want_lost);
    }
}

TEST_CASE("double sums: lines in registers, as one line after the other") {
    for (const std::int64_t n : {1, 7, 8, 31, 100})
        for (const std::int64_t rows : {0, 1, 3, 7, 8, 9, 12, 15, 64}) {
            const std::vector<double> v = numbers(rows * n);
            std::vector<double> sums(static_cast<std::size_t>(n)), want = sums;
            detail::sum_lines{}(v.data(), n, rows, n, sums.data());
            for (std::int64_t i = 0; i < n; ++i) {
                const auto at = [&](std::int64_t r) {
                    return v[static_cast<std::size_t>(r * n + i)];
                };
                double sum = 0, lost = 0;
                std::int64_t r = 0;
                for (; rows >= 8 && r + 4 <= rows; r += 4)
                    detail::add_exactly(sum, lost, (at(r) + at(r + 1)) + (at(r + 2) + at(r + 3)));
                for (; r < rows; ++r) detail::add_exactly(sum, lost, at(r));
                want[static_cast<std::size_t>(i)] = sum + lost;
            }
            CHECK(sums == want);
        }
    const double end = std::numeric_limits<double>::infinity(), v[] = {end, -0.0, 1, -0.0};
    double sums[2];
    detail::sum_lines{}(v, 2, 2, 2, sums);
    CHECK(sums[0] == end);
    CHECK(std::bit_cast<std::uint64_t>(sums[1]) == 0);
}
