// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Views of typed tensors, which cost nothing: reshape, permute_dims, transpose, flip, broadcast_to,
// expand_dims, squeeze (graph/view.hpp says what they show).
#pragma once

#include <pumice/graph/view.hpp>
#include <pumice/tensor/axes.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// The elements in row-major order under a static shape.
template <std::int64_t... Ns, array_argument X>
auto reshape(const X& x) {
    using to = extents<Ns...>;
    static_assert(detail::check_reshaped<detail::extents_of<X>, to>());
    return tensor<detail::element_of_argument<X>, to>(reshape(any_tensor(x.get()), to::to_shape()));
}
/// The elements under a shape of a known rank, of whole numbers; one extent may be -1.
template <array_argument X, std::size_t Rank>
auto reshape(const X& x, const std::int64_t (&to)[Rank]) {
    return tensor<detail::element_of_argument<X>,
                  dims<int(Rank)>>(reshape(any_tensor(x.get()),
                                           shape(span<const std::int64_t>(to))));
}
/// `reshape_to(x, n, m)`: the same with the extents as arguments.
template <array_argument X, std::integral... N>
auto reshape_to(const X& x, N... n) {
    return tensor<detail::element_of_argument<X>,
                  dims<int(sizeof...(N))>>(reshape(any_tensor(x.get()),
                                                   shape{static_cast<std::int64_t>(n)...}));
}

/// A view whose axis i is axis Order[i] of x: `permute_dims(x, axes<1, 0>)`.
template <int... Order, array_argument X>
auto permute_dims(const X& x, axes_t<Order...> order) {
    using e = detail::extents_of<X>;
    static_assert(sizeof...(Order) == std::size_t(e::rank) &&
                      detail::named_once<e::rank, Order...>(),
                  "permute_dims names every axis once");
    return tensor<detail::element_of_argument<X>,
                  extents<e::values[std::size_t(detail::axis_in<Order, e::rank>())]...>,
                  strided>(permute_dims(any_tensor(x.get()), order.list));
}
/// A view with the axes in the reverse order: the transpose of a matrix.
template <array_argument X>
auto transpose(const X& x) {
    constexpr int rank = detail::extents_of<X>::rank;
    return [&]<int... Axis>(std::integer_sequence<int, Axis...>) {
        return permute_dims(x, axes<(rank - 1 - Axis)...>);
    }(std::make_integer_sequence<int, rank>{});
}
/// A view with the axes in that order, as permute_dims has it.
template <array_argument X, int... Order>
auto transpose(const X& x, axes_t<Order...> order) {
    return permute_dims(x, order);
}

/// A view with the named axes (all where none is named) reversed.
template <array_argument X, int... Is>
auto flip(const X& x, axes_t<Is...> a = {}) {
    static_assert(detail::named_once<detail::extents_of<X>::rank, Is...>(),
                  "an axis is named twice");
    return tensor<detail::element_of_argument<X>, detail::extents_of<X>,
                  strided>(flip(any_tensor(x.get()), a.list));
}
/// The axes of a typed tensor stand in the type: axis<1>.
template <array_argument X, std::integral N>
auto flip(const X&, N) {
    return name_axes_in_the_type_as_axis_1<N>{};
}
/// A view of x repeated to the extents Ns: `broadcast_to<2, 3>(x)`.
template <std::int64_t... Ns, array_argument X>
auto broadcast_to(const X& x) {
    static_cast<void>(detail::broadcast_or_explain<detail::extents_of<X>, extents<Ns...>>());
    return tensor<detail::element_of_argument<X>, extents<Ns...>,
                  strided>(broadcast_to(any_tensor(x.get()), extents<Ns...>::to_shape()));
}
/// The same to extents that are known at run time: `broadcast_to(x, {n, m})`.
template <array_argument X, std::size_t Rank>
auto broadcast_to(const X& x, const std::int64_t (&to)[Rank]) {
    return tensor<detail::element_of_argument<X>, dims<int(Rank)>,
                  strided>(broadcast_to(any_tensor(x.get()), shape(span<const std::int64_t>(to))));
}
/// A view with a new axis of length 1 before axis I of the result.
template <int I, array_argument X>
auto expand_dims(const X& x, axes_t<I>) {
    constexpr int rank = detail::extents_of<X>::rank + 1;
    return tensor<detail::element_of_argument<X>, dims<rank>,
                  strided>(expand_dims(any_tensor(x.get()), detail::axis_in<I, rank>()));
}
/// A view without axis I, which has the length 1; else throws errc::shape_mismatch.
template <int I, array_argument X>
auto squeeze(const X& x, axes_t<I>) {
    constexpr int rank = detail::extents_of<X>::rank;
    return tensor<detail::element_of_argument<X>, dims<rank - 1>,
                  strided>(squeeze(any_tensor(x.get()), detail::axis_in<I, rank>()));
}
// An axis that is known at run time; the result's rank is known all the same.
template <array_argument X>
auto expand_dims(const X& x, std::int64_t axis) {
    return tensor<detail::element_of_argument<X>, dims<detail::extents_of<X>::rank + 1>,
                  strided>(expand_dims(any_tensor(x.get()), axis));
}
template <array_argument X>
auto squeeze(const X& x, std::int64_t axis) {
    return tensor<detail::element_of_argument<X>, dims<detail::extents_of<X>::rank - 1>,
                  strided>(squeeze(any_tensor(x.get()), axis));
}

}}  // namespace pumice::PUMICE_ABI
