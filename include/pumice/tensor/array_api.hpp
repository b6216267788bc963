// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The rest of the array API for typed tensors, and what depends on values: nonzero, unique and
// repeat by counts wait for how many elements there are, and a compiled function refuses them.
#pragma once

#include <pumice/graph/array_api.hpp>
#include <pumice/tensor/array_creation.hpp>
#include <pumice/tensor/assign.hpp>
#include <pumice/tensor/gather.hpp>
#include <pumice/tensor/norms.hpp>
#include <pumice/tensor/scan.hpp>

#include <algorithm>
#include <utility>

namespace pumice { inline namespace PUMICE_ABI {

// The next number after x towards y, of f32 and f64 (half types are computed in f32: the function
// `nextafter` refuses them).
PUMICE_OP(next_after, 2, rules::floating, "", pm_nextafter(x, y));

// Of run-time types
// ---------------------------------------------------------------------------------------------

/// The next number after x towards y. Throws errc::dtype_mismatch unless they are f32 or f64.
PUMICE_FUNCTION any_tensor nextafter(const any_tensor& x, const any_tensor& y);

/// For each axis where the elements lie that are not 0, in row-major order: i64. Waits.
PUMICE_FUNCTION std::vector<any_tensor> nonzero(const any_tensor& x);

/// Element i along an axis (of the flattened tensor where none is named) counts[i] times. Waits.
PUMICE_FUNCTION any_tensor repeat(const any_tensor& x, const any_tensor& counts,
                                  std::optional<std::int64_t> axis = {});

/// The distinct elements in ascending order; the first place of each in the flattened tensor; which
/// of them each element is, in x's shape; how often each occurs. NaN differs from NaN. Waits.
struct unique_result {
    any_tensor values, indices, inverse_indices, counts;
};
PUMICE_FUNCTION unique_result unique_all(const any_tensor& x);
PUMICE_FUNCTION any_tensor unique_values(const any_tensor& x);

// Of typed tensors
// ---------------------------------------------------------------------------------------------

template <array_argument A, array_argument B>
auto nextafter(const A& x, const B& y) {
    using e = decltype(detail::common_element<detail::element_of_argument<A>,
                                              detail::element_of_argument<B>>());
    using extents = typename detail::extents_of_all<detail::pack<A, B>>::type;
    return tensor<e, extents>(nextafter(any_tensor(x.get()), any_tensor(y.get())));
}
namespace detail {
template <class List, class... X, std::size_t... I>
auto typed_tuple(const List& list, std::index_sequence<I...>, std::type_identity<X>...) {
    constexpr int ranks[] = {extents_of<X>::rank...},
                  rank = *std::max_element(ranks, ranks + sizeof...(X));
    return std::tuple{of_rank<X, rank, strided>(list[I])...};
}
}  // namespace detail

/// A tuple of views under the common shape.
template <array_argument... X>
auto broadcast_arrays(const X&... x) {
    const any_tensor list[] = {any_tensor(x.get())...};
    return detail::typed_tuple(broadcast_arrays(span<const any_tensor>(list)),
                               std::index_sequence_for<X...>{}, std::type_identity<X>{}...);
}
template <array_argument X>
auto moveaxis(const X& x, std::int64_t source, std::int64_t destination) {
    const std::int64_t from[] = {source}, to[] = {destination};
    return detail::of_rank<X, detail::extents_of<X>::rank, strided>(moveaxis(any_tensor(x.get()),
                                                                             from, to));
}
template <array_argument X, int... From, int... To>
auto moveaxis(const X& x, axes_t<From...> source, axes_t<To...> destination) {
    return detail::of_rank<X, detail::extents_of<X>::rank, strided>(moveaxis(any_tensor(x.get()),
                                                                             source.list,
                                                                             destination.list));
}
template <array_argument X>
auto matrix_transpose(const X& x) {
    static_assert(detail::extents_of<X>::rank >= 2, "matrix_transpose needs two axes");
    return detail::of_rank<X, detail::extents_of<X>::rank,
                           strided>(matrix_transpose(any_tensor(x.get())));
}
template <array_argument X, int... Is>
    requires(sizeof...(Is) > 1)
auto squeeze(const X& x, axes_t<Is...> axes) {
    return detail::of_rank<X, detail::extents_of<X>::rank - int(sizeof...(Is)),
                           strided>(squeeze(any_tensor(x.get()), axes.list));
}
template <array_argument X, int... Is>
auto roll(const X& x, const std::int64_t (&shifts)[sizeof...(Is)], axes_t<Is...> axes) {
    return detail::of_rank<X>(detail::noted(roll(any_tensor(x.get()), shifts, axes.list)));
}
/// Joins the elements of tensors, flattened: the array API's axis=None.
template <array_argument First, array_argument... Rest>
auto concat(std::nullopt_t, const First& first, const Rest&... rest) {
    const any_tensor list[] = {reshape(any_tensor(first.get()), {-1}),
                               reshape(any_tensor(rest.get()), {-1})...};
    return detail::of_rank<First, 1>(detail::noted(concat(span<const any_tensor>(list), 0)));
}

/// Over axes that the type names, or over the last `axes` of a and the first of b.
template <array_argument A, array_argument B, int... Of, int... With>
auto tensordot(const A& a, const B& b, axes_t<Of...> of, axes_t<With...> with) {
    using e = typename detail::common_of<detail::pack<A, B>>::type;
    constexpr int rank = detail::extents_of<A>::rank + detail::extents_of<B>::rank;
    return tensor<e, dims<rank - 2 * int(sizeof...(Of))>>(
        detail::noted(tensordot(any_tensor(a.get()), any_tensor(b.get()), of.list, with.list)));
}
template <array_argument A, array_argument B>
auto tensordot(const A& a, const B& b, std::int64_t axes = 2) {
    using e = typename detail::common_of<detail::pack<A, B>>::type;
    return created<e>(detail::noted(tensordot(any_tensor(a.get()), any_tensor(b.get()), axes)));
}
template <array_argument A, array_argument B>
auto vecdot(const A& a, const B& b, std::int64_t axis = -1) {
    using e = typename detail::common_of<detail::pack<A, B>>::type;
    constexpr int of = detail::extents_of<A>::rank, with = detail::extents_of<B>::rank;
    return tensor<e, dims<(of > with ? of : with) - 1>>(detail::noted(vecdot(any_tensor(a.get()),
                                                                             any_tensor(b.get()),
                                                                             axis)));
}
/// Differences of neighbours along an axis, `n` times; `prepend` and `append`, where they are not
/// empty, are joined on first.
template <array_argument X>
auto diff(const X& x, std::int64_t axis = -1, std::int64_t n = 1, const any_tensor& prepend = {},
          const any_tensor& append = {}) {
    return detail::of_rank<X>(detail::noted(diff(any_tensor(x.get()), axis, n, prepend, append)));
}

template <array_argument X>
auto diagonal(const X& x, std::int64_t k = 0) {
    return detail::of_rank<X, detail::extents_of<X>::rank - 1,
                           strided>(diagonal(any_tensor(x.get()), k));
}
template <array_argument X>
auto trace(const X& x, std::int64_t k = 0) {
    return sum(diagonal(x, k), axis<-1>);
}

template <array_argument X, int... Is>
auto count_nonzero(const X& x, axes_t<Is...> over = {}) {
    return sum(astype<std::int64_t>(astype<bool>(x)), over);
}
template <array_argument X, int... Is>
auto count_nonzero(const X& x, axes_t<Is...> over, keepdims_t) {
    return sum(astype<std::int64_t>(astype<bool>(x)), over, keepdims);
}
/// The axes of a typed tensor stand in the type: axis<1>.
template <array_argument X, std::integral N>
auto count_nonzero(const X&, N) {
    return name_axes_in_the_type_as_axis_1<N>{};
}
template <array_argument X, array_argument V>
auto searchsorted(const X& sorted, const V& values, side from = side::left) {
    return tensor<std::int64_t, dims<detail::extents_of<V>::rank>>(
        detail::noted(searchsorted(any_tensor(sorted.get()), any_tensor(values.get()), from)));
}
/// A vector for each axis.
template <array_argument X>
auto nonzero(const X& x) {
    const std::vector<any_tensor> list = nonzero(any_tensor(x.get()));
    std::array<vector<std::int64_t>, static_cast<std::size_t>(detail::extents_of<X>::rank)> made;
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = vector<std::int64_t>(list[i]);
    return made;
}
template <array_argument X, array_argument C>
auto repeat(const X& x, const C& counts) {
    return detail::of_rank<X, 1>(repeat(any_tensor(x.get()), any_tensor(counts.get())));
}
template <array_argument X, array_argument C, int I>
auto repeat(const X& x, const C& counts, axes_t<I>) {
    return detail::of_rank<X>(repeat(any_tensor(x.get()), any_tensor(counts.get()),
                                     std::int64_t{I}));
}

template <class Values, class Inverse>
struct typed_unique_result {
    Values values;
    vector<std::int64_t> indices;
    Inverse inverse_indices;
    vector<std::int64_t> counts;
};
template <array_argument X>
auto unique_all(const X& x) {
    using values = vector<detail::element_of_argument<X>>;
    using inverse = tensor<std::int64_t, dims<detail::extents_of<X>::rank>>;
    const unique_result u = unique_all(any_tensor(x.get()));
    return typed_unique_result<values, inverse>{values(u.values), vector<std::int64_t>(u.indices),
                                                inverse(u.inverse_indices),
                                                vector<std::int64_t>(u.counts)};
}
/// As pairs: the values, and how often they occur or which of them each element is.
template <class X>
auto unique_counts(const X& x) {
    auto u = unique_all(x);
    return std::pair{u.values, u.counts};
}
template <class X>
auto unique_inverse(const X& x) {
    auto u = unique_all(x);
    return std::pair{u.values, u.inverse_indices};
}
template <array_argument X>
auto unique_values(const X& x) {
    return vector<detail::element_of_argument<X>>(unique_values(any_tensor(x.get())));
}

#ifndef PUMICE_COMPILED

PUMICE_BODY any_tensor nextafter(const any_tensor& x, const any_tensor& y) {
    const dtype types[] = {x.dtype(), y.dtype()};
    const auto common = promote(types[0], types[1]);
    if (!common || (*common != dtype::f32 && *common != dtype::f64))
        detail::throw_types("nextafter", types, "needs f32 or f64; use astype");
    return detail::noted(apply<op::next_after>(x, y));
}

namespace detail {

/// The elements in ascending order, where they lay, and whether each differs from the one before.
struct sorted_runs {
    any_tensor values, order, starts;
};
PUMICE_FUNCTION sorted_runs runs_of(const any_tensor& x, const char* place) {
    need_known_count(place);
    const std::int64_t n = x.size();
    const any_tensor flat = reshape(x, {n}), order = argsort(flat, 0),
                     values = take(flat, order, 0);
    const any_tensor parts[] = {
        full(dtype::boolean, {1}, 1, context(x.get()->owner)),
        apply<op::not_equal>(cut(values, 0, 1, n), cut(values, 0, 0, n - 1))};
    return {values, order, concat(parts, 0)};
}

}  // namespace detail

PUMICE_BODY std::vector<any_tensor> nonzero(const any_tensor& x) {
    if (x.rank() == 0) fail(errc::rank_mismatch, "nonzero", {"a tensor of no axes has no places"});
    const any_tensor flat = flat_nonzero(x, "nonzero");
    std::vector<any_tensor> made;
    std::int64_t behind = x.size();
    for (const std::int64_t length : x.shape()) {
        behind = length == 0 ? 0 : behind / length;
        any_tensor at = behind == 1 ? flat : apply<op::floor_divide>(flat, behind);
        if (!made.empty()) at = apply<op::remainder>(at, length);
        made.push_back(detail::noted(at));
    }
    return made;
}

PUMICE_BODY any_tensor repeat(const any_tensor& x, const any_tensor& counts,
                              std::optional<std::int64_t> axis) {
    detail::need_known_count("repeat");
    detail::need_indices(counts, "repeat");
    if (!axis) return repeat(reshape(x, {-1}), counts, 0);
    const int at = normalize_axis(*axis, x.rank(), "repeat");
    const std::int64_t n = x.shape()[at];
    if (counts.rank() > 1 || (counts.size() != n && counts.size() != 1))
        fail(errc::shape_mismatch, "repeat",
             {"counts of shape ", to_string(counts.shape()), " for axis ", at, " of ",
              to_string(x.shape())});
    const any_tensor each = broadcast_to(reshape(astype(counts, dtype::i64), {counts.size()}), {n}),
                     ends = cumulative(reduction::sum, each, 0);
    std::int64_t total = 0;
    if (n > 0) {
        const any_tensor wanted[] = {ends, reduce(reduction::sum, each),
                                     reduce(reduction::min, each), reduce(reduction::max, each)};
        eval(span<const any_tensor>(wanted));
        const auto number = [&](int i) {
            std::int64_t v = 0;
            read(wanted[i], {reinterpret_cast<std::byte*>(&v), sizeof v});
            return v;
        };
        if (const std::int64_t least = number(2); least < 0)
            fail(errc::invalid_argument, "repeat", {least, " times; at least 0 are wanted"});
        if (const std::int64_t most = number(3); most > (std::int64_t{1} << 62) / n)
            fail(errc::size_overflow, "repeat",
                 {"counts up to ", most, " of ", n, " elements may be more than 2^62"});
        total = number(1);
    }
    shape to = x.shape();
    to[at] = total;
    const context home(x.get()->owner);
    if (element_count(to) == 0) return from_bytes(x.dtype(), to, {}, home);
    return detail::noted(take(x, searchsorted(ends, detail::counting(total, home), side::right),
                              at));
}

PUMICE_BODY unique_result unique_all(const any_tensor& x) {
    const context home(x.get()->owner);
    if (x.size() == 0) {
        const any_tensor none = from_bytes(dtype::i64, {0}, {}, home);
        return {from_bytes(x.dtype(), {0}, {}, home), none,
                from_bytes(dtype::i64, x.shape(), {}, home), none};
    }
    const detail::sorted_runs r = detail::runs_of(x, "unique_all");
    const any_tensor places = flat_nonzero(r.starts, "unique_all");
    const any_tensor ends[] = {detail::cut(places, 0, 1, places.size()),
                               full(dtype::i64, {1}, static_cast<double>(x.size()), home)};
    const any_tensor number =
        apply<op::subtract>(cumulative(reduction::sum, astype(r.starts, dtype::i64), 0), 1);
    return {take(r.values, places, 0), take(r.order, places, 0),
            reshape(take(number, argsort(r.order, 0), 0), x.shape()),
            apply<op::subtract>(concat(ends, 0), places)};
}
PUMICE_BODY any_tensor unique_values(const any_tensor& x) {
    if (x.size() == 0) return from_bytes(x.dtype(), {0}, {}, context(x.get()->owner));
    const detail::sorted_runs r = detail::runs_of(x, "unique_values");
    return take(r.values, flat_nonzero(r.starts, "unique_values"), 0);
}

#endif

}}  // namespace pumice::PUMICE_ABI
