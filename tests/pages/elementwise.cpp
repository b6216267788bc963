// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <tests/pages/shows.hpp>

namespace pm = pumice;

// clang-format off: lines as the pages show them

// page: elementwise
TEST_CASE("pages: elementwise") {
    const pm::any_tensor x = pm::vector<float>{-2, 0, 3}, y = pm::vector<float>{1, 2, 4};
    const pm::any_tensor i = pm::vector<int>{6, 5, -1}, j = pm::vector<int>{3, 1, 2};
    const pm::any_tensor p = x > 0.0f, q = y > 1.0f;
    //
    SHOWS("[-1. 2. 7.]", pm::add(x, y));
    SHOWS("[-3. -2. -1.]", pm::subtract(x, y));
    SHOWS("[-2. 0. 12.]", pm::multiply(x, y));
    SHOWS("[-2. 0. 0.75]", pm::divide(x, y));
    SHOWS("[-2. 0. 0.]", pm::floor_divide(x, y));
    SHOWS("[0. 0. 3.]", pm::remainder(x, y));
    SHOWS("[-0. 0. 3.]", pm::fmod(x, y));
    SHOWS("[4. 0. 9.]", pm::pow(x, 2.0f));
    SHOWS("[1. 2. 4.]", pm::maximum(x, y));
    SHOWS("[-2. 0. 3.]", pm::minimum(x, y));
    SHOWS("[1. 2. 4.]", pm::fmax(x, y));
    SHOWS("[-2. 0. 3.]", pm::fmin(x, y));
    SHOWS("[-4. 0. 15.]", pm::fma(x, y, x));
    SHOWS("[-0.5 1. 3.5]", pm::lerp(x, y, 0.5f));
    SHOWS("[9. 4. 1.]", pm::squared_difference(x, y));
    SHOWS("[2. -0. -3.]", pm::negative(x));
    SHOWS("[-2. 0. 3.]", pm::positive(x));
    SHOWS("[2. 0. 3.]", pm::abs(x));
    SHOWS("[-1. 0. 1.]", pm::sign(x));
    SHOWS("[4. 0. 9.]", pm::square(x));
    SHOWS("[-0.5 inf 0.333333]", pm::reciprocal(x));
    SHOWS("[2. 0. 3.]", pm::copysign(x, y));
    SHOWS("[-1. 0. 1.]", pm::clip(x, -1.0f, 1.0f));
    SHOWS("[False False False]", pm::equal(x, y));
    SHOWS("[True True True]", pm::not_equal(x, y));
    SHOWS("[True True True]", pm::less(x, y));
    SHOWS("[True True True]", pm::less_equal(x, y));
    SHOWS("[False False False]", pm::greater(x, y));
    SHOWS("[False False False]", pm::greater_equal(x, y));
    SHOWS("[False False True]", pm::logical_and(p, q));
    SHOWS("[False True True]", pm::logical_or(p, q));
    SHOWS("[False True False]", pm::logical_xor(p, q));
    SHOWS("[True True False]", pm::logical_not(p));
    SHOWS("[1. 2. 3.]", pm::where(x > 0.0f, x, y));
    SHOWS("[False True False]", pm::isnan(x / 0.0f));
    SHOWS("[True False True]", pm::isinf(x / 0.0f));
    SHOWS("[False False False]", pm::isfinite(x / 0.0f));
    SHOWS("[True False False]", pm::signbit(x));
    SHOWS("[2 1 2]", pm::bitwise_and(i, j));
    SHOWS("[7 5 -1]", pm::bitwise_or(i, j));
    SHOWS("[5 4 -3]", pm::bitwise_xor(i, j));
    SHOWS("[-7 -6 0]", pm::bitwise_invert(i));
    SHOWS("[48 10 -4]", pm::bitwise_left_shift(i, j));
    SHOWS("[0 2 -1]", pm::bitwise_right_shift(i, j));
    SHOWS("[1. 1.41421 2.]", pm::sqrt(y));
    SHOWS("[1. 0.707107 0.5]", pm::rsqrt(y));
    SHOWS("[1. 1.25992 1.5874]", pm::cbrt(y));
    SHOWS("[2.23607 2. 5.]", pm::hypot(x, y));
    SHOWS("[0.135335 1. 20.0855]", pm::exp(x));
    SHOWS("[0.25 1. 8.]", pm::exp2(x));
    SHOWS("[-0.864665 0. 19.0855]", pm::expm1(x));
    SHOWS("[0. 0.693147 1.38629]", pm::log(y));
    SHOWS("[0. 1. 2.]", pm::log2(y));
    SHOWS("[0. 0.30103 0.60206]", pm::log10(y));
    SHOWS("[0.405465 1.25276 1.8718]", pm::log1p(x + 2.5f));
    SHOWS("[1.04859 2.12693 4.31326]", pm::logaddexp(x, y));
    SHOWS("[-0.909297 0. 0.14112]", pm::sin(x));
    SHOWS("[-0.416147 1. -0.989992]", pm::cos(x));
    SHOWS("[2.18504 0. -0.142547]", pm::tan(x));
    SHOWS("[-0.523599 0. 0.848062]", pm::asin(x * 0.25f));
    SHOWS("[2.0944 1.5708 0.722734]", pm::acos(x * 0.25f));
    SHOWS("[-1.10715 0. 1.24905]", pm::atan(x));
    SHOWS("[-1.10715 0. 0.643501]", pm::atan2(x, y));
    SHOWS("[-3.62686 0. 10.0179]", pm::sinh(x));
    SHOWS("[3.7622 1. 10.0677]", pm::cosh(x));
    SHOWS("[-0.964028 0. 0.995055]", pm::tanh(x));
    SHOWS("[-1.44364 0. 1.81845]", pm::asinh(x));
    SHOWS("[0. 1.31696 2.06344]", pm::acosh(y));
    SHOWS("[-0.549306 0. 0.972955]", pm::atanh(x * 0.25f));
    SHOWS("[-114.592 0. 171.887]", pm::degrees(x));
    SHOWS("[-0.0349066 0. 0.0523599]", pm::radians(x));
    SHOWS("[-2. 0. 2.]", pm::floor(x * 0.75f));
    SHOWS("[-1. 0. 3.]", pm::ceil(x * 0.75f));
    SHOWS("[-1. 0. 2.]", pm::trunc(x * 0.75f));
    SHOWS("[-2. 0. 2.]", pm::round(x * 0.75f));
    SHOWS("[-0.966105 0. 0.998537]", pm::erf(x * 0.75f));
    SHOWS("[0.119203 0.5 0.952574]", pm::sigmoid(x));
    SHOWS("[0. 0. 3.]", pm::relu(x));
    SHOWS("[0. 0. 3.]", pm::relu6(x));
    SHOWS("[-0.2 0. 3.]", pm::leaky_relu(x, 0.1f));
    SHOWS("[-0.2 0. 3.]", pm::prelu(x, 0.1f));
    SHOWS("[-0.864665 0. 3.]", pm::elu(x, 1.0f));
    SHOWS("[-1.26424 0. 3.]", pm::celu(x, 2.0f));
    SHOWS("[-1.52016 0. 3.1521]", pm::selu(x, 1.67326f, 1.0507f));
    SHOWS("[0. 0. 3.]", pm::thresholded_relu(x, 1.0f));
    SHOWS("[0.1 0.5 1.]", pm::hard_sigmoid(x, 0.2f, 0.5f));
    SHOWS("[-0.333333 0. 3.]", pm::hard_swish(x));
    SHOWS("[-1. 0. 1.]", pm::hard_tanh(x));
    SHOWS("[0.126928 0.693147 3.04859]", pm::softplus(x));
    SHOWS("[-0.666667 0. 0.75]", pm::softsign(x));
    SHOWS("[-0.238406 0. 2.85772]", pm::silu(x));
    SHOWS("[-0.252501 0. 2.98654]", pm::mish(x));
    SHOWS("[-0.0455003 0. 2.99595]", pm::gelu(x));
    SHOWS("[-0.0454023 0. 2.99636]", pm::gelu_tanh(x));
    SHOWS("[-2. 0. 3.]", pm::shrink(x, 0.5f, 0.0f));
    SHOWS("[0. 0.5 1.]", pm::heaviside(x, 0.5f));
}
