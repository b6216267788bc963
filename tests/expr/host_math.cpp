// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What op bodies may call, where it is more than the C library's function: overflow, signs, limits.
#include <pumice/expr/host_math.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace pumice;
using namespace pumice::host_math;

namespace {
constexpr double inf = std::numeric_limits<double>::infinity();
const double not_a_number = std::nan("");
bool negative_zero(double x) { return x == 0 && std::signbit(x); }
}  // namespace

TEST_CASE("the C library's functions are those of <cmath>") {
    for (double x : {0.0, -0.0, 0.3, -2.5, 17.0, inf, -inf}) {
        CHECK(detail::libm::exp(x) == std::exp(x));
        CHECK(detail::libm::tanh(x) == std::tanh(x));
        CHECK(detail::libm::nearbyint(x) == std::nearbyint(x));
        CHECK(detail::libm::copysign(1.0, x) == std::copysign(1.0, x));
        const auto f = static_cast<float>(x);
        CHECK(detail::libm::exp(f) == std::exp(f));
        CHECK(detail::libm::hypot(f, 2.0f) == std::hypot(f, 2.0f));
        CHECK(pm_isinf(x) == std::isinf(x));
        CHECK(pm_signbit(x) == std::signbit(x));
    }
}

TEST_CASE("gelu does not cancel, and keeps to its limits") {
    CHECK(pm_gelu(-5.0) == doctest::Approx(-1.4332578965e-6).epsilon(1e-6));
    CHECK(pm_gelu(1.0) == doctest::Approx(0.8413447460685429));
    CHECK(pm_gelu(-std::numeric_limits<double>::infinity()) == 0);
    CHECK(pm_gelu(std::numeric_limits<double>::infinity()) ==
          std::numeric_limits<double>::infinity());
    CHECK(std::isnan(pm_gelu(not_a_number)));
}
TEST_CASE("sigmoid and softplus keep to their limits") {
    CHECK(pm_sigmoid(-1000.0) == 0);
    CHECK(pm_sigmoid(1000.0) == 1);
    CHECK(pm_sigmoid(0.0) == 0.5);
    CHECK(pm_sigmoid(-700.0) == doctest::Approx(std::exp(-700.0)));
    CHECK(std::isnan(pm_sigmoid(not_a_number)));
    CHECK(pm_softplus(1000.0) == 1000);
    CHECK(pm_softplus(-1000.0) == 0);
    CHECK(pm_softplus(-40.0) == doctest::Approx(std::exp(-40.0)));
    CHECK(std::isnan(pm_softplus(not_a_number)));
    CHECK(pm_softplus(inf) == inf);
}

TEST_CASE("logaddexp of equal infinities, and of NaN") {
    CHECK(pm_logaddexp(-inf, -inf) == -inf);
    CHECK(pm_logaddexp(inf, inf) == inf);
    CHECK(pm_logaddexp(-inf, 3.0) == 3);
    CHECK(pm_logaddexp(1000.0, 1000.0) == doctest::Approx(1000 + std::log(2.0)));
    CHECK(std::isnan(pm_logaddexp(not_a_number, 1.0)));
    CHECK(std::isnan(pm_logaddexp(1.0, not_a_number)));
}

TEST_CASE("remainder and floor division have Python's signs") {
    CHECK(pm_remainder(5.0, 3.0) == 2);
    CHECK(pm_remainder(-5.0, 3.0) == 1);
    CHECK(pm_remainder(5.0, -3.0) == -1);
    CHECK(negative_zero(pm_remainder(6.0, -3.0)));
    CHECK(pm_remainder(-1.0, inf) == inf);
    CHECK(pm_remainder(1.0, inf) == 1);
    CHECK(std::isnan(pm_remainder(1.0, 0.0)));
    CHECK(pm_floor_divide(-5.0, 3.0) == -2);
    CHECK(negative_zero(pm_floor_divide(-0.0, 3.0)));
    CHECK(pm_floor_divide(1.0, 0.0) == inf);
    CHECK(pm_floor_divide(-1.0, inf) == -1);
    CHECK(pm_floor_divide(1.0, 0.1) == 9);  // as NumPy: 1 % 0.1 is just under 0.1
}

TEST_CASE("wrapping integers") {
    using i32 = wrapping<std::int32_t>;
    const i32 low = std::numeric_limits<std::int32_t>::min();
    CHECK((low - i32(1)).value == std::numeric_limits<std::int32_t>::max());
    CHECK((-low).value == low.value);
    CHECK(pm_abs(low).value == low.value);
    CHECK(pm_divide(low, i32(-1)).value == low.value);
    CHECK(pm_fmod(low, i32(-1)).value == 0);
    CHECK(pm_divide(i32(7), i32(0)).value == 0);
    CHECK(pm_remainder(i32(-7), i32(3)).value == 2);
    CHECK(pm_floor_divide(i32(-7), i32(3)).value == -3);
    CHECK(pm_pow(i32(3), i32(5)).value == 243);
    CHECK(pm_pow(i32(2), i32(-1)).value == 0);
    CHECK(pm_pow(i32(-1), i32(-3)).value == -1);
    CHECK(pm_shift_right(i32(-8), i32(1)).value == -4);
    CHECK(pm_shift_right(i32(-8), i32(99)).value == -1);
    CHECK(pm_shift_left(i32(1), i32(32)).value == 0);
    CHECK((low < i32(0)));
}

TEST_CASE("Philox4x32-10 gives the vectors of its authors") {
    // Random123's known answers for philox4x32-10: counter and key all zero, and all ones.
    CHECK(pm_philox(std::uint32_t{0}, std::uint32_t{0}) == 0x6627e8d5u);
    CHECK(pm_philox(std::uint64_t{0}, std::uint64_t{0}) == 0x6627e8d5u);
    CHECK(pm_philox(std::uint32_t{1}, std::uint32_t{0}) != 0x6627e8d5u);
    CHECK(pm_philox(std::uint32_t{0}, std::uint32_t{1}) != 0x6627e8d5u);
}

TEST_CASE("rounding is half to even, NaN passes every clip") {
    CHECK(pm_round(0.5) == 0);
    CHECK(pm_round(1.5) == 2);
    CHECK(pm_round(-2.5) == -2);
    CHECK(negative_zero(pm_round(-0.4)));
    CHECK(std::isnan(pm_unit_clip(not_a_number)));
    CHECK(pm_unit_clip(2.0) == 1);
    CHECK(std::isnan(pm_sign(not_a_number)));
    CHECK(pm_sign(-0.0) == 0);
}
