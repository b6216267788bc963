// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Typed tensors cut, joined, repeated and padded, convolutions, and einsum, whose result has its
// rank at run time.
#pragma once

#include <pumice/graph/einsum.hpp>
#include <pumice/graph/manipulation.hpp>
#include <pumice/graph/window.hpp>
#include <pumice/tensor/creation.hpp>
#include <pumice/tensor/view.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Named in compile errors; never defined.
template <int Rank, int Widths> struct pad_needs_widths_for_each_axis;
template <int Rank> struct windows_need_four_axes;

/// The extents are a list: reshape(x, {n, m}), reshape(x, {-1}).
template <array_argument X, std::integral... N>
    requires(sizeof...(N) > 0)
auto reshape(const X&, N...) {
    return extents_are_a_list_in_braces<N...>{};
}

namespace detail {

template <class X, int Rank = extents_of<X>::rank, class Layout = row_major>
using of_rank = tensor<element_of_argument<X>, dims<Rank>, Layout>;

template <class Typed>
std::vector<Typed> typed_list(const std::vector<any_tensor>& list) {
    std::vector<Typed> r;
    for (const any_tensor& t : list) r.emplace_back(t);
    return r;
}

}  // namespace detail

/// Joins tensors of one type and shape along a new axis, the I-th of the result.
template <int I = 0, array_argument First, array_argument... Rest>
auto stack(axes_t<I>, const First& first, const Rest&... rest) {
    static_assert((detail::check_joined<First, Rest>() && ...));
    constexpr int rank = detail::extents_of<First>::rank + 1;
    const any_tensor list[] = {any_tensor(first.get()), any_tensor(rest.get())...};
    return detail::of_rank<First, rank>(detail::noted(stack(span<const any_tensor>(list),
                                                            detail::axis_in<I, rank>())));
}

template <array_argument First, array_argument... Rest>
auto stack(const First&, const Rest&...) {
    return name_the_axis_first_as_axis_0<First>{};
}
/// The tensors of a std::vector, array or span joined along a new axis of the result.
template <detail::tensor_list List>
auto stack(const List& list, std::int64_t axis = 0) {
    using x = detail::listed<List>;
    return detail::of_rank<x, detail::extents_of<x>::rank +
                                  1>(detail::noted(stack(detail::parts_of(list), axis)));
}
template <detail::tensor_list List, int I>
auto stack(const List& list, axes_t<I>) {
    return stack(list, std::int64_t(I));
}

/// The slices along an axis, which they lack: views.
template <array_argument X, int I = 0>
auto unstack(const X& x, axes_t<I> = {}) {
    constexpr int rank = detail::extents_of<X>::rank;
    return detail::typed_list<detail::of_rank<X, rank - 1, strided>>(
        unstack(any_tensor(x.get()), detail::axis_in<I, rank>()));
}

/// `parts` equal views along an axis, or views that begin at 0 and at each of `places`.
template <array_argument X, int I = 0>
auto split(const X& x, std::int64_t parts, axes_t<I> = {}) {
    constexpr int rank = detail::extents_of<X>::rank;
    return detail::typed_list<detail::of_rank<X, rank, strided>>(split(any_tensor(x.get()), parts,
                                                                       detail::axis_in<I, rank>()));
}
template <array_argument X, int I = 0>
auto split(const X& x, span<const std::int64_t> places, axes_t<I> = {}) {
    constexpr int rank = detail::extents_of<X>::rank;
    return detail::typed_list<detail::of_rank<X, rank, strided>>(split(any_tensor(x.get()), places,
                                                                       detail::axis_in<I, rank>()));
}
template <array_argument X, int I = 0>
auto split(const X& x, std::initializer_list<std::int64_t> places, axes_t<I> a = {}) {
    return split(x, span<const std::int64_t>(places), a);
}

/// Each element `times` times along an axis, or of the flattened tensor.
template <array_argument X, int I>
auto repeat(const X& x, std::int64_t times, axes_t<I>) {
    return detail::of_rank<X>(detail::noted(
        repeat(any_tensor(x.get()), times, detail::axis_in<I, detail::extents_of<X>::rank>())));
}
template <array_argument X>
auto repeat(const X& x, std::int64_t times) {
    return detail::of_rank<X, 1>(detail::noted(repeat(any_tensor(x.get()), times, std::nullopt)));
}

/// The whole tensor repeats[i] times along axis i.
template <array_argument X, std::size_t N>
auto tile(const X& x, const std::int64_t (&repeats)[N]) {
    constexpr int own = detail::extents_of<X>::rank, rank = own > int(N) ? own : int(N);
    return detail::of_rank<X, rank>(detail::noted(tile(any_tensor(x.get()), repeats)));
}
/// Along the last axis alone.
template <array_argument X, std::integral N>
auto tile(const X& x, N repeats) {
    return tile(x, {static_cast<std::int64_t>(repeats)});
}

/// Elements moved on by `shift`, around the end of an axis or of the flattened tensor.
template <array_argument X, int I>
auto roll(const X& x, std::int64_t shift, axes_t<I>) {
    return detail::of_rank<X>(detail::noted(
        roll(any_tensor(x.get()), shift, detail::axis_in<I, detail::extents_of<X>::rank>())));
}
template <array_argument X>
auto roll(const X& x, std::int64_t shift) {
    return detail::of_rank<X>(detail::noted(roll(any_tensor(x.get()), shift, std::nullopt)));
}

/// x with a width before and after each axis: `pad(x, {{1, 1}, {0, 2}}, pm::pad_mode::edge)`.
template <array_argument X, std::size_t N>
auto pad(const X& x, const pad_width (&widths)[N], pad_mode mode = pad_mode::constant,
         const any_operand& value = scalar(0.0)) {
    constexpr int rank = detail::extents_of<X>::rank;
    if constexpr (N != std::size_t(rank))
        static_cast<void>(pad_needs_widths_for_each_axis<rank, int(N)>{});
    return detail::of_rank<X>(detail::noted(pad(any_tensor(x.get()), span(widths), mode, value)));
}

/// The same width before and after every axis: `pad(x, 1)`.
template <array_argument X, std::integral N>
auto pad(const X& x, N width, pad_mode mode = pad_mode::constant,
         const any_operand& value = scalar(0.0)) {
    return detail::of_rank<X>(detail::noted(pad(any_tensor(x.get()), width, mode, value)));
}
/// One width before and one after every axis: `pad(x, {1, 2})`.
template <array_argument X, std::integral N>
auto pad(const X& x, const N (&each)[2], pad_mode mode = pad_mode::constant,
         const any_operand& value = scalar(0.0)) {
    return detail::of_rank<X>(detail::noted(pad(any_tensor(x.get()), each, mode, value)));
}

/// A view without the axes of length 1, whose rank is known at run time.
template <array_argument X>
auto squeeze(const X& x) {
    return created<detail::element_of_argument<X>>(squeeze(any_tensor(x.get())));
}

namespace detail {
template <class X>
constexpr bool check_windows() {
    if constexpr (extents_of<X>::rank != 4)
        static_cast<void>(windows_need_four_axes<extents_of<X>::rank>{});
    return true;
}
}  // namespace detail

/// Convolution and pooling over the last two axes (graph/window.hpp); of one axis with an extent of
/// 1 for the other.
template <array_argument X, array_argument Weight>
auto conv(const X& x, const Weight& weight, const conv_op& options = {}) {
    static_assert(detail::check_windows<X>() && detail::check_windows<Weight>());
    return detail::of_rank<X>(detail::noted(conv(any_tensor(x.get()), any_tensor(weight.get()),
                                                 options)));
}
template <array_argument X>
auto pool(const X& x, const pool_op& options) {
    static_assert(detail::check_windows<X>());
    return detail::of_rank<X>(detail::noted(pool(any_tensor(x.get()), options)));
}

/// Einstein summation: `pm::matrix<float> c = einsum("ij,jk->ik", a, b)`. The element type is known
/// where all operands' are.
template <class... X>
    requires((array_argument<X> || any_array<X>) && ...)
auto einsum(std::string_view subscripts, const X&... x) {
    const any_tensor list[] = {any_tensor(x.get())...};
    const any_tensor made = detail::noted(einsum(subscripts, span<const any_tensor>(list)));
    if constexpr ((array_argument<X> && ...))
        return created<typename detail::common_of<detail::pack<X...>>::type>(made);
    else return made;
}

}}  // namespace pumice::PUMICE_ABI
