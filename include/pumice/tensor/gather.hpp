// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Typed tensors sorted, picked from and scattered to (graph/gather.hpp says what happens).
#pragma once

#include <pumice/graph/gather.hpp>
#include <pumice/tensor/manipulation.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// The element at indices[c] along an axis for each c of indices (i32 or i64).
template <array_argument X, array_argument Indices, int I = -1>
auto take_along_axis(const X& x, const Indices& indices, axes_t<I> = {}) {
    return detail::of_rank<X>(
        detail::noted(take_along_axis(any_tensor(x.get()), any_tensor(indices.get()),
                                      detail::axis_in<I, detail::extents_of<X>::rank>())));
}

namespace detail {
/// The graph's op, but for few elements of a list, which the host joins at once.
PUMICE_FUNCTION node_ptr scatter_typed(const node_ptr& x, const node_ptr& indices,
                                       const node_ptr& updates, int axis, scattering what);
template <class X, class N>
constexpr bool check_update() {
    using e = element_of_argument<X>;
    if constexpr (std::floating_point<N> && !is_floating(dtype_of<e>))
        static_cast<void>(element_types_do_not_mix_use_astype<e, N>{});
    return true;
}
}  // namespace detail

/// x with updates[c] joined to the element at indices[c] along an axis.
template <array_argument X, array_argument Indices, array_argument Updates, int I = 0>
auto scatter_elements(const X& x, const Indices& indices, const Updates& updates, axes_t<I> = {},
                      scattering what = scattering::replace) {
    static_assert(detail::check_indices<Indices>() && detail::check_elements<X, Updates>());
    return detail::of_rank<X>(
        any_tensor(detail::scatter_typed(x.get(), indices.get(), updates.get(),
                                         detail::axis_in<I, detail::extents_of<X>::rank>(), what)));
}

/// The same with a number for every index.
template <array_argument X, array_argument Indices, detail::number_of_cpp N, int I = 0>
auto scatter_elements(const X& x, const Indices& indices, N update, axes_t<I> = {},
                      scattering what = scattering::replace) {
    static_assert(detail::check_indices<Indices>() && detail::check_update<X, N>());
    return detail::of_rank<X>(
        detail::noted(scatter_elements(any_tensor(x.get()), any_tensor(indices.get()),
                                       detail::typed_number<detail::element_of_argument<X>>(update),
                                       detail::axis_in<I, detail::extents_of<X>::rank>(), what)));
}

/// Along axis 0.
template <array_argument X, array_argument Indices, class Updates>
auto scatter_elements(const X& x, const Indices& indices, const Updates& updates, scattering what) {
    return scatter_elements(x, indices, updates, axis<0>, what);
}

/// x with updates joined to the slices at tuples of indices.
template <array_argument X, array_argument Indices, array_argument Updates>
auto scatter_nd(const X& x, const Indices& indices, const Updates& updates,
                scattering what = scattering::replace) {
    static_assert(detail::check_indices<Indices>() && detail::check_elements<X, Updates>());
    return detail::of_rank<X>(detail::noted(scatter_nd(any_tensor(x.get()),
                                                       any_tensor(indices.get()),
                                                       any_tensor(updates.get()), what)));
}

/// The same with a number for every element of the slices.
template <array_argument X, array_argument Indices, detail::number_of_cpp N>
auto scatter_nd(const X& x, const Indices& indices, N update,
                scattering what = scattering::replace) {
    static_assert(detail::check_indices<Indices>() && detail::check_update<X, N>());
    return detail::of_rank<X>(detail::noted(
        scatter_nd(any_tensor(x.get()), any_tensor(indices.get()),
                   detail::typed_number<detail::element_of_argument<X>>(update), what)));
}

/// Where the elements along an axis (the last where none is named) lie in order; equal ones keep
/// theirs.
template <array_argument X, int I = -1>
auto argsort(const X& x, axes_t<I> = {}, bool descending = false) {
    constexpr int rank = detail::extents_of<X>::rank;
    return tensor<std::int64_t, dims<rank>>(detail::noted(argsort(any_tensor(x.get()),
                                                                  detail::axis_in<I, rank>(),
                                                                  descending)));
}
/// The elements in order along an axis (the last where none is named).
template <array_argument X, int I = -1>
auto sort(const X& x, axes_t<I> = {}, bool descending = false) {
    return detail::of_rank<X>(detail::noted(sort(any_tensor(x.get()),
                                                 detail::axis_in<I, detail::extents_of<X>::rank>(),
                                                 descending)));
}

/// Along the last axis.
template <array_argument X, std::same_as<bool> B>
auto argsort(const X& x, B descending) {
    return argsort(x, axes<-1>, descending);
}
/// Along the last axis.
template <array_argument X, std::same_as<bool> B>
auto sort(const X& x, B descending) {
    return sort(x, axes<-1>, descending);
}
/// The axes of a typed tensor stand in the type: axis<1>.
template <array_argument X, std::integral N>
    requires(!std::same_as<N, bool>)
auto argsort(const X&, N, bool = false) {
    return name_axes_in_the_type_as_axis_1<N>{};
}
/// The axes of a typed tensor stand in the type: axis<1>.
template <array_argument X, std::integral N>
    requires(!std::same_as<N, bool>)
auto sort(const X&, N, bool = false) {
    return name_axes_in_the_type_as_axis_1<N>{};
}

template <class Values, class Indices>
struct typed_top_elements {
    Values values;
    Indices indices;
};
/// The k greatest (or least) elements along an axis, in order, and where they lie. Devices sort
/// the whole axis.
template <array_argument X, int I = -1>
auto top_k(const X& x, std::int64_t k, axes_t<I> = {}, bool largest = true) {
    constexpr int rank = detail::extents_of<X>::rank;
    const top_elements top = top_k(any_tensor(x.get()), k, detail::axis_in<I, rank>(), largest);
    using indices = tensor<std::int64_t, dims<rank>, strided>;
    return typed_top_elements<detail::of_rank<X>, indices>{
        detail::of_rank<X>(detail::noted(top.values)), indices(detail::noted(top.indices))};
}
/// Along the last axis.
template <array_argument X, std::same_as<bool> B>
auto top_k(const X& x, std::int64_t k, B largest) {
    return top_k(x, k, axes<-1>, largest);
}

#ifndef PUMICE_COMPILED

namespace detail {

PUMICE_BODY node_ptr scatter_typed(const node_ptr& x, const node_ptr& indices,
                                   const node_ptr& updates, int axis, scattering what) {
    static const operation lists[] = {
        scatter_op{scattering::replace, true}, scatter_op{scattering::sum, true},
        scatter_op{scattering::prod, true}, scatter_op{scattering::max, true},
        scatter_op{scattering::min, true}};
    node_ptr n;
    if (x->extent.rank() == 1 && indices->extent == updates->extent && x->type == updates->type &&
        (indices->type == dtype::i32 || indices->type == dtype::i64) &&
        (what == scattering::replace || x->type != dtype::boolean)) {
        const node_ptr inputs[] = {x, indices, updates};
        n = at_once(lists[static_cast<int>(what)], {}, x->type, x->extent, inputs);
        if (n) return n;
    }
    n = noted(scatter_elements(any_tensor(x), any_tensor(indices), any_tensor(updates), axis, what))
            .get();
    return n;
}

}  // namespace detail

#endif

}}  // namespace pumice::PUMICE_ABI
