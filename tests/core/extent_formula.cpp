// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Polynomials found from five values are exact at every other extent, and nothing else is taken for
// one.
#include <pumice/core/extent_formula.hpp>

#include <doctest/doctest.h>

namespace {

template <class F>
bool found(pumice::extent_formula& f, std::int64_t first, F&& number) {
    std::int64_t values[pumice::extent_formula::samples] = {};
    for (int i = 0; i < pumice::extent_formula::samples; ++i) values[i] = number(first + i);
    return f.find(first, values);
}

}  // namespace

TEST_CASE("extent_formula: polynomials of degree 3 are exact at every extent") {
    const auto same = [](auto&& number) {
        for (const std::int64_t first : {0, 3, 508, 4096}) {
            pumice::extent_formula f;
            REQUIRE(found(f, first, number));
            for (const std::int64_t n : {0, 1, 2, 5, 100, 511, 4097}) CHECK(f.at(n) == number(n));
        }
    };
    same([](std::int64_t n) { return 0 * n + 7; });
    same([](std::int64_t n) { return n; });
    same([](std::int64_t n) { return 64 * n - 3; });
    same([](std::int64_t n) { return 12 * n * n + n; });
    same([](std::int64_t n) { return n * (n + 1) / 2; });
    same([](std::int64_t n) { return n * n * n - 5 * n; });
}

TEST_CASE("extent_formula: rounded and cut numbers have none") {
    pumice::extent_formula f;
    CHECK_FALSE(found(f, 508, [](std::int64_t n) { return n / 2; }));
    CHECK_FALSE(found(f, 508, [](std::int64_t n) { return (n + 3) / 4; }));
    CHECK_FALSE(found(f, 98, [](std::int64_t n) { return n < 100 ? n : 100; }));
    CHECK_FALSE(found(f, 4, [](std::int64_t n) { return n * n * n * n; }));
}

TEST_CASE("extent_formula: constants, and sizes that do not fit") {
    CHECK(pumice::extent_formula(5).is_constant());
    CHECK(pumice::extent_formula(5).at(1 << 20) == 5);
    pumice::extent_formula cube;
    REQUIRE(found(cube, 0, [](std::int64_t n) { return n * n * n; }));
    CHECK_FALSE(cube.is_constant());
    CHECK_THROWS_WITH_AS(cube.at(1 << 22), doctest::Contains("63 bits"), pumice::error);
}

TEST_CASE("extent_formula: found from extents that lie apart") {
    const auto found_in_steps = [](pumice::extent_formula& f, std::int64_t step, auto&& number) {
        std::int64_t values[pumice::extent_formula::samples] = {};
        for (int i = 0; i < pumice::extent_formula::samples; ++i)
            values[i] = number(513 + step * i);
        return f.find(513, values, step);
    };
    for (const std::int64_t step : {2, 4, 16}) {
        pumice::extent_formula f;
        const auto cube = [](std::int64_t n) { return n * n * n - 5 * n + 2; };
        REQUIRE(found_in_steps(f, step, cube));
        for (const std::int64_t n : {0, 1, 511, 512, 4096}) CHECK(f.at(n) == cube(n));
        CHECK_FALSE(found_in_steps(f, step, [](std::int64_t n) { return n / 2; }));
        CHECK_FALSE(found_in_steps(f, step, [](std::int64_t n) { return n / 3; }));
    }
}

TEST_CASE("extent_formula: a degree that counts for nothing does not overflow") {
    pumice::extent_formula f;
    REQUIRE(found(f, 100, [](std::int64_t n) { return 3 * n + 1; }));
    constexpr std::int64_t far = std::int64_t{1} << 60;
    CHECK(f.at(far) == 3 * far + 1);
    REQUIRE(found(f, 100, [](std::int64_t n) { return n * n; }));
    CHECK(f.at(1 << 30) == std::int64_t{1} << 60);
}

TEST_CASE("extent_formula: what divides the number for every extent") {
    pumice::extent_formula f;
    REQUIRE(found(f, 7, [](std::int64_t n) { return 12 * n + 8; }));
    CHECK(f.even() == 4);
    REQUIRE(found(f, 7, [](std::int64_t n) { return n * (n + 1); }));
    CHECK(f.even() == 2);
    CHECK(pumice::extent_formula(0).even() == 0);
}
