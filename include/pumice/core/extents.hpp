// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Shapes in types: static, dynamic and mixed, after std::extents.
#pragma once

#include <pumice/core/shape.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <utility>

namespace pumice { inline namespace PUMICE_ABI {

/// The extent of an axis whose length is known at run time only.
inline constexpr std::int64_t dynamic_extent = -1;

/// Extents of an array: each a number or `dynamic_extent`.
template <std::int64_t... Ns>
struct extents {
    static_assert(sizeof...(Ns) <= max_rank, "a tensor has at most 8 axes");
    static_assert(((Ns >= dynamic_extent) && ...), "an extent is a size or dynamic_extent");
    static constexpr int rank = sizeof...(Ns);
    static constexpr std::array<std::int64_t, sizeof...(Ns)> values{Ns...};
    static constexpr bool is_static = ((Ns != dynamic_extent) && ...);

    /// True where a run-time shape is one that this type describes.
    static constexpr bool matches(const shape& s) noexcept {
        if (s.rank() != rank) return false;
        for (int i = 0; i < rank; ++i)
            if (values[static_cast<std::size_t>(i)] != dynamic_extent &&
                values[static_cast<std::size_t>(i)] != s[i])
                return false;
        return true;
    }
    static constexpr shape to_shape() {
        shape s;
        for (std::int64_t v : values) s.push_back(v);
        return s;
    }
};

namespace detail {
template <std::size_t... I>
extents<(static_cast<void>(I), dynamic_extent)...> dynamic_extents(std::index_sequence<I...>);

template <class T> inline constexpr bool is_extents = false;
template <std::int64_t... Ns> inline constexpr bool is_extents<extents<Ns...>> = true;
}  // namespace detail

template <class T>
concept extents_type = detail::is_extents<T>;

/// `Rank` axes of dynamic length.
template <int Rank>
using dims =
    decltype(detail::dynamic_extents(std::make_index_sequence<static_cast<std::size_t>(Rank)>{}));

/// Named in compile errors: these two shapes do not broadcast. Never defined.
template <class A, class B>
struct shapes_do_not_broadcast;

namespace detail {

/// The extent at axis `i` of `rank`, aligned to the right; 1 where E has no such axis.
template <class E>
constexpr std::int64_t aligned_extent(int i, int rank) {
    const int k = i - (rank - E::rank);
    return k < 0 ? 1 : E::values[static_cast<std::size_t>(k)];
}

constexpr bool may_broadcast(std::int64_t a, std::int64_t b) {
    return a == b || a == 1 || b == 1 || a == dynamic_extent || b == dynamic_extent;
}
constexpr std::int64_t broadcast_extent(std::int64_t a, std::int64_t b) {
    if (a == b) return a;
    if (a == 1) return b;
    if (b == 1) return a;
    return a == dynamic_extent ? b : a;  // the static one: the run-time check is made when built
}

template <class A, class B, int Rank = (A::rank > B::rank ? A::rank : B::rank),
          class Seq = std::make_index_sequence<static_cast<std::size_t>(Rank)>>
struct broadcast_extents;

template <class A, class B, int Rank, std::size_t... I>
struct broadcast_extents<A, B, Rank, std::index_sequence<I...>> {
    static constexpr bool valid =
        (may_broadcast(aligned_extent<A>(int(I), Rank), aligned_extent<B>(int(I), Rank)) && ...);
    using type = extents<broadcast_extent(aligned_extent<A>(int(I), Rank),
                                          aligned_extent<B>(int(I), Rank))...>;
};

/// Instantiates the incomplete type, whose name is the message, where the shapes cannot meet.
template <class A, class B>
constexpr auto broadcast_or_explain() {
    if constexpr (broadcast_extents<A, B>::valid) return typename broadcast_extents<A, B>::type{};
    else return shapes_do_not_broadcast<A, B>{};
}

template <class First, class... Rest>
struct broadcast_all {
    using type = First;
};
template <class A, class B, class... Rest>
struct broadcast_all<A, B, Rest...> {
    using type = typename broadcast_all<decltype(broadcast_or_explain<A, B>()), Rest...>::type;
};

}  // namespace detail

/// The extents that NumPy's broadcasting gives; names both shapes in the error where there are
/// none.
template <class... E>
using broadcast_t = typename detail::broadcast_all<E...>::type;

}}  // namespace pumice::PUMICE_ABI
