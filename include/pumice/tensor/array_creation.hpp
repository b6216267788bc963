// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The array API's creation beyond the front's: like another tensor, of what a host has, triangles
// and grids.
#pragma once

#include <pumice/graph/array_api.hpp>
#include <pumice/tensor/axes.hpp>
#include <pumice/tensor/creation.hpp>
#include <pumice/tensor/manipulation.hpp>

namespace pumice { inline namespace PUMICE_ABI {

// Of run-time types
// ---------------------------------------------------------------------------------------------

/// Ones up to the k-th diagonal of the last two axes, or from it on, times x.
PUMICE_FUNCTION any_tensor tril(const any_tensor& x, std::int64_t k = 0);
PUMICE_FUNCTION any_tensor triu(const any_tensor& x, std::int64_t k = 0);

/// Coordinates of a grid from a vector for each axis: "xy" (the first two exchanged) or "ij".
PUMICE_FUNCTION std::vector<any_tensor> meshgrid(span<const any_tensor> axes,
                                                 std::string_view indexing = "xy");

/// As x in type and shape unless others are named.
template <class N>
    requires(std::is_arithmetic_v<N> || element<N>)
any_tensor full_like(const any_tensor& x, N value, std::optional<dtype> type = {}) {
    return full(type ? *type : x.dtype(), x.shape(), value, context(x.get()->owner));
}
inline any_tensor zeros_like(const any_tensor& x, std::optional<dtype> type = {}) {
    return full_like(x, 0, type);
}
inline any_tensor ones_like(const any_tensor& x, std::optional<dtype> type = {}) {
    return full_like(x, 1, type);
}
/// Whatever values; zeros today.
inline any_tensor empty_like(const any_tensor& x, std::optional<dtype> type = {}) {
    return full_like(x, 0, type);
}
inline any_tensor asarray(const any_tensor& x, std::optional<dtype> type = {}) {
    return type ? astype(x, *type) : x;
}

// Of typed tensors
// ---------------------------------------------------------------------------------------------

/// Whatever values; zeros today. Of a shape or of a list of extents.
template <element T = float>
created<T> empty(const shape& extent, const context& home = default_context()) {
    return zeros<T>(extent, home);
}
template <element T = float, std::size_t Rank>
auto empty(detail::extent_list<Rank> extent, const context& home = default_context()) {
    return zeros<T>(extent, home);
}

template <class T = void, array_argument X, class V>
auto full_like(const X& x, V value) {
    using e = std::conditional_t<std::is_void_v<T>, detail::element_of_argument<X>, T>;
    static_cast<void>(detail::tree_for<V, e>());  // names a number of another kind
    return tensor<e,
                  detail::extents_of<X>>(detail::filled(detail::typed_number<e>(value), x.shape(),
                                                        context(any_tensor(x.get()).get()->owner)));
}
template <class T = void, array_argument X>
auto zeros_like(const X& x) {
    return full_like<T>(x, 0);
}
template <class T = void, array_argument X>
auto ones_like(const X& x) {
    return full_like<T>(x, 1);
}
template <class T = void, array_argument X>
auto empty_like(const X& x) {
    return full_like<T>(x, 0);
}

/// A tensor is itself, a number a tensor of no axes, a contiguous range or list a vector.
template <array_argument X>
auto asarray(const X& x) {
    return tensor<detail::element_of_argument<X>, detail::extents_of<X>>(x);
}
template <element T>
auto asarray(T value) {
    return scalar_tensor<T>(value);
}
template <class Range>
    requires requires(const Range& r) { std::data(r), std::size(r); }
auto asarray(const Range& values, const context& home = default_context()) {
    return adapt(values, home);
}
template <element T>
vector<T> asarray(std::initializer_list<T> values) {
    return vector<T>(values);
}

/// Without the end point where `endpoint` is false.
template <element T = float>
    requires(is_floating(dtype_of<T>))
vector<T> linspace(double start, double stop, std::int64_t count, bool endpoint,
                   const context& home = default_context()) {
    const double last =
        endpoint || count < 1
            ? stop
            : start + (stop - start) * static_cast<double>(count - 1) / static_cast<double>(count);
    return linspace<T>(start, last, count, home);
}

template <array_argument X>
auto tril(const X& x, std::int64_t k = 0) {
    return tensor<detail::element_of_argument<X>, detail::extents_of<X>>(tril(any_tensor(x.get()),
                                                                              k));
}
template <array_argument X>
auto triu(const X& x, std::int64_t k = 0) {
    return tensor<detail::element_of_argument<X>, detail::extents_of<X>>(triu(any_tensor(x.get()),
                                                                              k));
}

/// A tuple of coordinates, which have as many axes as there are vectors.
template <array_argument... X>
auto meshgrid(const X&... x) {
    const any_tensor list[] = {any_tensor(x.get())...};
    const std::vector<any_tensor> made = meshgrid(span<const any_tensor>(list));
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple{detail::of_rank<X, int(sizeof...(X)), strided>(made[I])...};
    }(std::index_sequence_for<X...>{});
}

#ifndef PUMICE_COMPILED

namespace detail {

/// Where column - row <= k, as a mask of the last two axes.
PUMICE_FUNCTION any_tensor lower_triangle(const any_tensor& x, std::int64_t k, const char* place) {
    if (x.rank() < 2)
        fail(errc::rank_mismatch, place, {"shape ", to_string(x.shape()), " has no last two axes"});
    generator<> g{context(x.get()->owner)};
    const auto row = g.iota(dtype::i64, 0), column = g.iota(dtype::i64, 1);
    const auto last = g.template call<op::add>(row, g.number(scalar(dtype::i64, k)));
    return g.finish(g.template call<op::less_equal>(column, last),
                    shape{x.shape()[x.rank() - 2], x.shape().back()});
}
PUMICE_FUNCTION any_tensor masked(const any_tensor& x, const any_tensor& kept) {
    return noted(x.dtype() == dtype::boolean ? apply<op::logical_and>(kept, x)
                                             : apply<op::where>(kept, x, 0));
}

}  // namespace detail

PUMICE_BODY any_tensor tril(const any_tensor& x, std::int64_t k) {
    return detail::masked(x, detail::lower_triangle(x, k, "tril"));
}
PUMICE_BODY any_tensor triu(const any_tensor& x, std::int64_t k) {
    return detail::masked(x, apply<op::logical_not>(detail::lower_triangle(x, k - 1, "triu")));
}

PUMICE_BODY std::vector<any_tensor> meshgrid(span<const any_tensor> axes,
                                             std::string_view indexing) {
    const bool exchanged = indexing == "xy" && axes.size() > 1;
    if (indexing != "xy" && indexing != "ij")
        fail(errc::invalid_argument, "meshgrid", {"indexing \"", indexing, "\", not xy or ij"});
    const auto place = [&](std::size_t i) { return exchanged && i < 2 ? 1 - i : i; };
    shape to = shape::filled(static_cast<int>(axes.size()), 0);
    for (std::size_t i = 0; i < axes.size(); ++i) {
        if (axes[i].rank() > 1)
            fail(errc::rank_mismatch, "meshgrid",
                 {"needs vectors, not ", to_string(axes[i].shape())});
        to[static_cast<int>(place(i))] = axes[i].size();
    }
    std::vector<any_tensor> made;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        shape own = shape::filled(to.rank(), 1);
        own[static_cast<int>(place(i))] = axes[i].size();
        made.push_back(broadcast_to(reshape(axes[i], own), to));
    }
    return made;
}

#endif

}}  // namespace pumice::PUMICE_ABI
