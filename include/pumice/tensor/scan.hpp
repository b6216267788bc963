// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Running sums and products of typed tensors.
#pragma once

#include <pumice/graph/scan.hpp>
#include <pumice/tensor/axes.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Puts what no elements give before the first result: `cumulative_sum(x, pm::axis<1>,
/// pm::include_initial)`.
struct include_initial_t {};
inline constexpr include_initial_t include_initial{};

/// Named in compile errors; never defined.
template <int Rank> struct cumulative_needs_an_axis_at_rank;

namespace detail {

template <class E, int Axis, std::size_t... D>
auto one_longer(std::index_sequence<D...>) {
    return extents<(int(D) == Axis && E::values[D] != dynamic_extent ? E::values[D] + 1
                                                                     : E::values[D])...>{};
}

template <class Element, bool Initial, class X, int I>
auto typed_cumulative(reduction what, const X& x, axes_t<I>) {
    using own = element_of_argument<X>;
    using e =
        std::conditional_t<std::is_void_v<Element>,
                           typename element_for<reduced_in(reduction::sum, dtype_of<own>)>::type,
                           Element>;
    using from = extents_of<X>;
    constexpr int axis = axis_in<I, from::rank>();
    if constexpr (dtype_of<e> == dtype::boolean) return op_needs_numbers_use_astype<e>{};
    else {
        using longer = decltype(one_longer<from, axis>(
            std::make_index_sequence<static_cast<std::size_t>(from::rank)>{}));
        const any_tensor values = astype(any_tensor(x.get()), dtype_of<e>);
        return tensor<e, std::conditional_t<Initial, longer, from>>(
            noted(cumulative(what, values, axis, {.include_initial = Initial})));
    }
}
template <class Element, class X>
auto typed_cumulative(reduction what, const X& x) {
    constexpr int rank = extents_of<X>::rank;
    if constexpr (rank != 1) return cumulative_needs_an_axis_at_rank<rank>{};
    else return typed_cumulative<Element, false>(what, x, axis<0>);
}

}  // namespace detail

/// Running sums along an axis, which a vector need not name; in element type `Element` where one is
/// given, `cumulative_sum<std::int32_t>(x)`, else integers widen to 64 bits.
template <class Element = void, array_argument X>
auto cumulative_sum(const X& x) {
    return detail::typed_cumulative<Element>(reduction::sum, x);
}
template <class Element = void, array_argument X, int I>
auto cumulative_sum(const X& x, axes_t<I> along) {
    return detail::typed_cumulative<Element, false>(reduction::sum, x, along);
}
template <class Element = void, array_argument X, int I>
auto cumulative_sum(const X& x, axes_t<I> along, include_initial_t) {
    return detail::typed_cumulative<Element, true>(reduction::sum, x, along);
}

/// Running products, likewise.
template <class Element = void, array_argument X>
auto cumulative_prod(const X& x) {
    return detail::typed_cumulative<Element>(reduction::prod, x);
}
template <class Element = void, array_argument X, int I>
auto cumulative_prod(const X& x, axes_t<I> along) {
    return detail::typed_cumulative<Element, false>(reduction::prod, x, along);
}
template <class Element = void, array_argument X, int I>
auto cumulative_prod(const X& x, axes_t<I> along, include_initial_t) {
    return detail::typed_cumulative<Element, true>(reduction::prod, x, along);
}

/// Of run-time type; in the type `in` where one is given.
PUMICE_FUNCTION any_tensor cumulative_sum(const any_tensor& x, std::int64_t along,
                                          const cumulative_options& options = {},
                                          std::optional<dtype> in = {});
PUMICE_FUNCTION any_tensor cumulative_prod(const any_tensor& x, std::int64_t along,
                                           const cumulative_options& options = {},
                                           std::optional<dtype> in = {});

#ifndef PUMICE_COMPILED

PUMICE_BODY any_tensor cumulative_sum(const any_tensor& x, std::int64_t along,
                                      const cumulative_options& options, std::optional<dtype> in) {
    const dtype type = in ? *in : detail::reduced_in(reduction::sum, x.dtype());
    return detail::noted(cumulative(reduction::sum, astype(x, type), along, options));
}
PUMICE_BODY any_tensor cumulative_prod(const any_tensor& x, std::int64_t along,
                                       const cumulative_options& options, std::optional<dtype> in) {
    const dtype type = in ? *in : detail::reduced_in(reduction::prod, x.dtype());
    return detail::noted(cumulative(reduction::prod, astype(x, type), along, options));
}

#endif

}}  // namespace pumice::PUMICE_ABI
