// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Which axes, and which elements.
#include <pumice/front.hpp>

namespace pm = pumice;

// expect: name_axes_in_the_type_as_axis_1
void axis_as_a_number(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    a += pm::sum(b, pm::axis<1>, pm::keepdims);
#else
    a += pm::sum(b, 1);
#endif
}

// expect: name_axes_in_the_type_as_axis_1
void norm_along_a_number(pm::matrix<float>& a) {
#ifdef RIGHT
    a += pm::layer_norm(a, pm::axis<0>);
#else
    a += pm::layer_norm(a, 0);
#endif
}

// expect: name_axes_in_the_type_as_axis_1
void root_mean_square_along_a_number(pm::matrix<float>& a) {
#ifdef RIGHT
    a += pm::rms_norm(a, pm::axis<1>);
#else
    a += pm::rms_norm(a, 1);
#endif
}

// expect: name_axes_in_the_type_as_axis_1
void deviation_of_a_number(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    a += pm::std(b, pm::axis<1>, pm::keepdims);
#else
    a += pm::std(b, 1);
#endif
}

// expect: name_axes_in_the_type_as_axis_1
void variance_of_a_number_that_keeps(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    a += pm::var(b, pm::axis<0>, pm::keepdims, pm::correction{1});
#else
    a += pm::var(b, 0, pm::keepdims);
#endif
}

// expect: name_axes_in_the_type_as_axis_1
void reversed_along_a_number(pm::matrix<float>& a) {
#ifdef RIGHT
    a += pm::flip(a, pm::axis<1>);
#else
    a += pm::flip(a, 1);
#endif
}

// expect: indices_must_be_i32_or_i64<double>
void taken_at_a_fraction(pm::vector<float>& a, pm::scalar_tensor<float>& b) {
#ifdef RIGHT
    b = pm::take(a, 1);
#else
    b = pm::take(a, 1.5);
#endif
}

// expect: axis_is_outside_the_rank<2, ?2>
void axis_outside(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::sum(a, pm::axis<1>);
#else
    auto y = pm::sum(a, pm::axis<2>);
#endif
}

// expect: an axis is named twice
void axis_twice(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::sum(a, pm::axes<0, 1>);
#else
    auto y = pm::sum(a, pm::axes<1, -1>);
#endif
}

// expect: axis_is_outside_the_rank<3, ?2>
void flip_outside(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::flip(a, pm::axis<1>);
#else
    auto y = pm::flip(a, pm::axis<3>);
#endif
}

// expect: axis_is_outside_the_rank<4, ?2>
void squeeze_outside(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::squeeze(a, pm::axis<0>);
#else
    auto y = pm::squeeze(a, pm::axis<4>);
#endif
}

// expect: axis_is_outside_the_rank<5, ?3>
void expand_outside(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::expand_dims(a, pm::axis<2>);
#else
    auto y = pm::expand_dims(a, pm::axis<5>);
#endif
}

// expect: permute_dims names every axis once
void permute_too_few(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::permute_dims(a, pm::axes<1, 0>);
#else
    auto y = pm::permute_dims(a, pm::axes<1>);
#endif
}

// expect: permute_dims names every axis once
void permute_twice(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::permute_dims(a, pm::axes<0, 1>);
#else
    auto y = pm::permute_dims(a, pm::axes<0, 0>);
#endif
}

// expect: axis_is_outside_the_rank<6, ?2>
void concat_outside(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::concat(pm::axis<1>, a, b);
#else
    auto y = pm::concat(pm::axis<6>, a, b);
#endif
}

// expect: name_the_axis_first_as_axis_0
void concat_without_an_axis(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::concat(pm::axis<0>, a, b);
#else
    auto y = pm::concat(a, b);
#endif
}

// expect: name_the_axis_first_as_axis_0
void stack_without_an_axis(pm::vector<float>& a, pm::vector<float>& b) {
#ifdef RIGHT
    auto y = pm::stack(pm::axis<0>, a, b);
#else
    auto y = pm::stack(a, b);
#endif
}

// expect: cannot_index_with<char
void index_of_text(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    a += b[0];
#else
    a += b["0"];
#endif
}

// expect: cannot_index_with<double>
void index_of_a_real(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    a += b[1];
#else
    a += b[1.5];
#endif
}

// expect: more_indices_than_axes<3, 2>
void more_indices_than_axes(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    a += b(0, pm::all);
#else
    a += b(0, 0, 0);
#endif
}

// expect: more_indices_than_axes<4, 2>
void more_indices_in_at(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    pm::at(a, 0, pm::slice{0, 2}) = 0;
#else
    pm::at(a, 0, 0, 0, pm::slice{0, 2}) = 0;
#endif
}

// expect: indices_must_be_i32_or_i64<float>
void indices_of_reals(pm::matrix<float>& a, pm::vector<float>& b) {
#ifdef RIGHT
    auto y = a[pm::astype<int>(b)];
#else
    auto y = a[b];
#endif
}

// expect: indices_must_be_i32_or_i64<unsigned char>
void take_by_bytes(pm::matrix<float>& a, pm::vector<std::uint8_t>& b) {
#ifdef RIGHT
    auto y = pm::take(a, pm::astype<int>(b));
#else
    auto y = pm::take(a, b);
#endif
}

// expect: windows_need_four_axes<2>
void conv_of_matrices(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::conv(pm::reshape<1, 1, 8, 8>(a), pm::reshape<1, 1, 3, 3>(b));
#else
    auto y = pm::conv(a, b);
#endif
}

// expect: pad_needs_widths_for_each_axis<2, 1>
void pad_of_one_axis(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::pad(a, {{1, 1}, {0, 0}});
#else
    auto y = pm::pad(a, {{1, 1}});
#endif
}

// expect: indices_must_be_i32_or_i64<double>
void take_of_reals(pm::matrix<float>& a, pm::vector<double>& b) {
#ifdef RIGHT
    auto y = pm::take(a, pm::astype<int>(b));
#else
    auto y = pm::take(a, b);
#endif
}

// expect: a tensor has at most 8 axes
void rank_nine(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    pm::tensor<float, pm::dims<8>> y;
#else
    pm::tensor<float, pm::dims<9>> y;
#endif
}

// expect: name_axes_in_the_type_as_axis_1
void sorted_along_a_number(const pm::matrix<float>& a) {
#ifdef RIGHT
    static_cast<void>(pm::sort(a, pm::axis<0>));
#else
    static_cast<void>(pm::sort(a, 0));
#endif
}
