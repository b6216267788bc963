// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Tensors indexed as in NumPy: view(x, 0, slice{1, 3}, newaxis), x(i, j), x[mask], x[indices].
#pragma once

#include <pumice/graph/index.hpp>
#include <pumice/tensor/axes.hpp>
#include <pumice/tensor/select.hpp>

#include <cstdint>
#include <limits>

namespace pumice { inline namespace PUMICE_ABI {

/// A whole number, a slice, newaxis, ellipsis, or pm::all for the whole axis.
template <class I>
concept basic_index = (std::integral<I> && !std::same_as<I, bool>) || std::same_as<I, slice> ||
                      std::same_as<I, newaxis_t> || std::same_as<I, ellipsis_t> ||
                      std::same_as<I, detail::reducer<reduction::all>>;

/// Named in compile errors; never defined.
template <int Indices, int Rank> struct more_indices_than_axes;
template <class... Index> struct cannot_index_with;

namespace detail {

template <class I>
index_place place_of(const I& i) {
    // An unsigned number that is more than any place is not one from the end.
    constexpr std::uintmax_t most = std::numeric_limits<std::int64_t>::max();
    if constexpr (std::unsigned_integral<I>)
        return index_place(static_cast<std::int64_t>(i < most ? i : most));
    else if constexpr (std::integral<I>) return index_place(static_cast<std::int64_t>(i));
    else if constexpr (std::same_as<I, reducer<reduction::all>>) return {};
    else return index_place(i);
}

template <int Rank, class... I>
constexpr int indexed_rank() {
    constexpr int numbers = (0 + ... + int(std::integral<I>)),
                  made = (0 + ... + int(std::same_as<I, newaxis_t>)),
                  others = (0 + ... + int(std::same_as<I, ellipsis_t>));
    constexpr int named = int(sizeof...(I)) - made - others;
    if constexpr (named > Rank) static_cast<void>(more_indices_than_axes<named, Rank>{});
    return Rank - numbers + made;
}

}  // namespace detail

/// x[index, ...]: a view. A number takes its axis away, bounds of slices are NumPy's. Throws
/// errc::index_out_of_range.
template <array_argument X, basic_index... I>
auto view(const X& x, const I&... index) {
    constexpr int rank = detail::indexed_rank<detail::extents_of<X>::rank, I...>();
    const index_place places[] = {index_place(), detail::place_of(index)...};
    return tensor<detail::element_of_argument<X>, dims<rank>,
                  strided>(index_view(any_tensor(x.get()), {places + 1, sizeof...(I)}));
}
template <basic_index... I>
any_tensor view(const any_tensor& x, const I&... index) {
    const index_place places[] = {index_place(), detail::place_of(index)...};
    return index_view(x, {places + 1, sizeof...(I)});
}

/// The slice at one index along an axis, which it lacks: a view.
template <array_argument X, std::integral N, int I = 0>
auto take(const X& x, N index, axes_t<I> = {}) {
    constexpr int rank = detail::extents_of<X>::rank;
    return tensor<detail::element_of_argument<X>, dims<rank - 1>,
                  strided>(take(any_tensor(x.get()), detail::place_of(index).part.start.value(),
                                detail::axis_in<I, rank>()));
}
template <array_argument X, std::floating_point N, int I = 0>
auto take(const X&, N, axes_t<I> = {}) {
    return indices_must_be_i32_or_i64<N>{};
}

namespace detail {

template <class I>
concept tensor_index = array_argument<I> || std::derived_from<I, any_tensor>;

/// A bool mask: what it selects; tensors of indices: what lies there.
template <class... I>
any_tensor selected(const any_tensor& x, const I&... index) {
    if constexpr (sizeof...(I) == 1) {
        const any_tensor by[] = {any_tensor(index.get())...};
        return noted(by[0].dtype() == dtype::boolean ? masked_select(x, by[0]) : take(x, by[0], 0));
    } else {
        const any_operand by[] = {settle(index)...};
        return noted(select(x, by));
    }
}

template <class X, class... I>
auto indexed(const X& x, const I&... index) {
    if constexpr ((basic_index<I> && ...)) {
        return view(x, index...);
    } else if constexpr (!((tensor_index<I> || std::integral<I>) && ...)) {
        return cannot_index_with<I...>{};
    } else if constexpr (!array_argument<X> || !((array_argument<I> || std::integral<I>) && ...)) {
        return selected(x, index...);
    } else if constexpr (sizeof...(I) == 1) {
        constexpr int own = extents_of<X>::rank, by = (extents_of<I>::rank + ...);
        constexpr bool mask = (is_bool<I>() && ...);
        if constexpr (!mask) static_assert((check_indices<I>() && ...));
        if constexpr (mask && by > own) static_cast<void>(more_indices_than_axes<by, own>{});
        return tensor<element_of_argument<X>,
                      dims<mask ? own - by + 1 : own - 1 + by>>(selected(x, index...));
    } else {
        constexpr int own = extents_of<X>::rank;
        if constexpr (int(sizeof...(I)) > own)
            static_cast<void>(more_indices_than_axes<int(sizeof...(I)), own>{});
        constexpr int rank = [] {
            int most = 0;
            const auto look = [&]<class J>(std::type_identity<J>) {
                if constexpr (array_argument<J>)
                    most = extents_of<J>::rank > most ? extents_of<J>::rank : most;
            };
            (look(std::type_identity<I>{}), ...);
            return most;
        }();
        return tensor<element_of_argument<X>, dims<rank>>(selected(x, index...));
    }
}

}  // namespace detail

template <class... I>
any_tensor any_tensor::operator()(const I&... index) const {
    return detail::indexed(*this, index...);
}
template <class I>
any_tensor any_tensor::operator[](const I& index) const {
    return detail::indexed(*this, index);
}

}}  // namespace pumice::PUMICE_ABI
