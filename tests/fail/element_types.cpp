// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Which element types an op takes, and which meet.
#include <pumice/front.hpp>

namespace pm = pumice;

// expect: cannot_convert_elements_use_astype
void group_norm_by_a_scale_of_another_type(pm::matrix<pm::f16>& a, pm::vector<float>& scale) {
#ifdef RIGHT
    a += pm::group_norm(a, 2, pm::astype<pm::f16>(scale), pm::astype<pm::f16>(scale));
#else
    a += pm::group_norm(a, 2, scale, scale);
#endif
}

// expect: op_does_not_take.*bitwise_xor.*float
void bits_of_reals(pm::matrix<float>& a, pm::matrix<int>& b) {
#ifdef RIGHT
    auto y = b ^ b;
#else
    auto y = a ^ 2;
#endif
}

// expect: element_types_do_not_mix_use_astype.*float.*bool
void bool_with_numbers(pm::matrix<float>& a, pm::matrix<bool>& b) {
#ifdef RIGHT
    auto y = a * pm::astype<float>(b);
#else
    auto y = a * b;
#endif
}

// expect: element_types_do_not_mix_use_astype.*float.*int
void mixed_kinds(pm::matrix<float>& a, pm::matrix<int>& b) {
#ifdef RIGHT
    auto y = a + pm::astype<float>(b);
#else
    auto y = a + b;
#endif
}

// expect: element_types_do_not_mix_use_astype<float, ?long
void created_of_another_kind(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    a += pm::zeros<float>(b.shape());
#else
    a += pm::zeros<std::int64_t>(b.shape());
#endif
}

// expect: element_types_do_not_mix_use_astype<float, ?double>
void joined_of_two_types(pm::matrix<float>& a, pm::matrix<double>& b) {
#ifdef RIGHT
    auto y = pm::concat(pm::axis<0>, pm::astype<double>(a), b);
#else
    auto y = pm::concat(pm::axis<0>, a, b);
#endif
}

// expect: element_types_do_not_mix_use_astype<float, ?long
void scattered_of_another_type(pm::vector<float>& x, pm::vector<std::int64_t>& at) {
#ifdef RIGHT
    x = pm::scatter_elements(x, at, pm::astype<float>(at));
#else
    x = pm::scatter_elements(x, at, at);
#endif
}

// expect: element_types_do_not_mix_use_astype<int, ?double>
void fraction_scattered_to_integers(pm::vector<int>& x, pm::vector<std::int64_t>& at) {
#ifdef RIGHT
    x = pm::scatter_elements(x, at, 2);
#else
    x = pm::scatter_elements(x, at, 2.5);
#endif
}

// expect: element_types_do_not_mix_use_astype<double, ?int>
void product_of_two_kinds(pm::matrix<double>& a, pm::matrix<int>& b) {
#ifdef RIGHT
    auto y = pm::matmul(a, pm::astype<double>(b));
#else
    auto y = pm::matmul(a, b);
#endif
}

// expect: op_does_not_take.*logical_and.*float
void logic_of_numbers(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::logical_and(a > 0, a < 1);
#else
    auto y = pm::logical_and(a, a);
#endif
}

// expect: op_does_not_take.*bitwise_invert.*float
void invert_of_reals(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = ~(a > 0);
#else
    auto y = ~a;
#endif
}

// expect: op_does_not_take.*subtract, ?bool
void difference_of_bools(pm::matrix<bool>& a, pm::matrix<bool>& b) {
#ifdef RIGHT
    auto y = a ^ b;
#else
    auto y = a - b;
#endif
}

// expect: op_needs_floating_point_use_astype<int>
void mean_of_integers(pm::matrix<int>& a) {
#ifdef RIGHT
    auto y = pm::mean(pm::astype<float>(a));
#else
    auto y = pm::mean(a);
#endif
}

// expect: op_needs_floating_point_use_astype<unsigned char>
void softmax_of_integers(pm::matrix<std::uint8_t>& a) {
#ifdef RIGHT
    auto y = pm::softmax(pm::astype<float>(a));
#else
    auto y = pm::softmax(a);
#endif
}

// expect: op_needs_numbers_use_astype.*bool
void prod_of_bool(pm::vector<bool>& a) {
#ifdef RIGHT
    auto y = pm::prod(pm::astype<int>(a));
#else
    auto y = pm::prod(a);
#endif
}

// expect: sum_needs_numbers_use_count_nonzero_or_astype.*bool
void sum_of_bool(pm::matrix<bool>& a) {
#ifdef RIGHT
    auto y = pm::sum(pm::astype<int>(a));
#else
    auto y = pm::sum(a);
#endif
}

// expect: number_does_not_fit_the_element_type.*double.*int
void real_number_with_integers(pm::matrix<int>& a) {
#ifdef RIGHT
    auto y = a * 2;
#else
    auto y = a * 2.5;
#endif
}

// expect: op_does_not_take.*sin.*int
void sine_of_integers(pm::matrix<int>& a) {
#ifdef RIGHT
    auto y = pm::sin(pm::astype<float>(a));
#else
    auto y = pm::sin(a);
#endif
}

// expect: condition_must_be_bool.*float
void where_of_numbers(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::where(a > 0, a, 0);
#else
    auto y = pm::where(a, a, 0);
#endif
}

// expect: linspace<int>|no matching function for call to 'linspace'
void integers_spread_evenly(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::linspace<float>(0, 1, 5);
#else
    auto y = pm::linspace<int>(0, 1, 5);
#endif
}
