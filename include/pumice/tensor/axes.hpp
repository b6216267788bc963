// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Ops over axes, with the axes in the type: reductions, softmax, products and joins of typed
// tensors.
#pragma once

#include <pumice/tensor/tensor.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Axes named in the type: `sum(x, pm::axis<1>)`, `sum(x, pm::axes<0, -1>)`.
template <int... Is>
struct axes_t {
    static constexpr std::array<std::int64_t, sizeof...(Is)> list{Is...};
};
template <int... Is>
inline constexpr axes_t<Is...> axes{};
template <int I>
inline constexpr axes_t<I> axis{};

/// Keeps reduced axes with length 1: `sum(x, pm::axis<1>, pm::keepdims)`.
struct keepdims_t {};
inline constexpr keepdims_t keepdims{};

/// The element type that a sum or product is computed in: `sum(x, pm::axis<1>, pm::as<float>)`.
template <element T>
struct as_t {};
template <element T>
inline constexpr as_t<T> as{};

/// Named in compile errors; never defined.
template <int Axis, int Rank> struct axis_is_outside_the_rank;
template <class A, class B> struct matmul_shapes_do_not_match;
template <class Element> struct op_needs_floating_point_use_astype;
template <class Element> struct op_needs_numbers_use_astype;
template <class Element> struct sum_needs_numbers_use_count_nonzero_or_astype;
template <class Op, class Element> struct op_does_not_reduce;
template <class Number> struct name_axes_in_the_type_as_axis_1;
template <class First> struct name_the_axis_first_as_axis_0;
template <class First, class Second> struct reduces_one_tensor_use_maximum_or_minimum;

namespace detail {

template <int Axis, int Rank>
constexpr int axis_in() {
    if constexpr (Axis < -Rank || Axis >= Rank)
        static_cast<void>(axis_is_outside_the_rank<Axis, Rank>{});
    return Axis < 0 ? Axis + Rank : Axis;
}

template <int Rank, int... Is>
constexpr bool named_once() {
    constexpr int list[] = {-1, axis_in<Is, Rank>()...};
    for (std::size_t i = 1; i <= sizeof...(Is); ++i)
        for (std::size_t k = 1; k < i; ++k)
            if (list[i] == list[k]) return false;
    return true;
}

template <class E, bool Keep, int... Is, std::size_t... D>
auto reduced(axes_t<Is...>, std::index_sequence<D...>) {
    static_assert(named_once<E::rank, Is...>(), "an axis is named twice");
    constexpr auto gone = []([[maybe_unused]] int d) {
        return sizeof...(Is) == 0 || ((axis_in<Is, E::rank>() == d) || ...);
    };
    if constexpr (Keep) {
        return extents<(gone(int(D)) ? 1 : E::values[D])...>{};
    } else {
        constexpr auto kept = [&] {
            std::array<std::int64_t, E::rank + 1> list{};
            std::size_t n = 0;
            ((gone(int(D)) ? void() : void(list[n++] = E::values[D])), ...);
            list[E::rank] = static_cast<std::int64_t>(n);
            return list;
        }();
        return [&]<std::size_t... K>(std::index_sequence<K...>) {
            return extents<kept[K]...>{};
        }(std::make_index_sequence<static_cast<std::size_t>(kept[E::rank])>{});
    }
}
template <class X, bool Keep, class Axes>
using reduced_t = decltype(reduced<extents_of<X>, Keep>(
    Axes{}, std::make_index_sequence<static_cast<std::size_t>(extents_of<X>::rank)>{}));

/// The reduction `lasting`, over these axes; computed at once where the engine does so.
PUMICE_FUNCTION node_ptr reduce_typed(const operation& lasting, dtype type, const node_ptr& x,
                                      span<const std::int64_t> axes);
/// The same of a softmax.
PUMICE_FUNCTION node_ptr softmax_typed(const operation& lasting, const node_ptr& x);

template <reduction What, class X, class Op = void>
constexpr bool check_reduced() {
    using e = element_of_argument<X>;
    if constexpr (What == reduction::by_op) {
        if constexpr (!reduces(op_info_of<Op>, dtype_of<e>))
            static_cast<void>(op_does_not_reduce<Op, e>{});
        return true;
    }
    if constexpr ((What == reduction::mean || What == reduction::logsumexp ||
                   What == reduction::var) &&
                  !is_floating(dtype_of<e>))
        static_cast<void>(op_needs_floating_point_use_astype<e>{});
    if constexpr (What == reduction::sum && dtype_of<e> == dtype::boolean)
        static_cast<void>(sum_needs_numbers_use_count_nonzero_or_astype<e>{});
    if constexpr (What != reduction::sum && What != reduction::any && What != reduction::all &&
                  What != reduction::by_op && dtype_of<e> == dtype::boolean)
        static_cast<void>(op_needs_numbers_use_astype<e>{});
    return true;
}

/// By `Op` where that is what reduces.
template <reduction What, class Op = void>
struct reducer {
    /// Over all axes.
    template <array_argument X>
    auto operator()(X&& x) const {
        return run<X, false>(x, axes<>);
    }
    template <array_argument X, int... Is>
    auto operator()(X&& x, axes_t<Is...> a) const {
        return run<X, false>(x, a);
    }
    template <array_argument X, int... Is>
    auto operator()(X&& x, axes_t<Is...> a, keepdims_t) const {
        return run<X, true>(x, a);
    }
    template <array_argument X>
    auto operator()(X&& x, keepdims_t) const {
        return run<X, true>(x, axes<>);
    }
    /// In another element type, as the last of any of these.
    template <array_argument X, element T>
    auto operator()(X&& x, as_t<T>) const {
        return (*this)(astype<T>(std::forward<X>(x)), axes<>, as<T>);
    }
    template <array_argument X, int... Is, element T>
    auto operator()(X&& x, axes_t<Is...> a, as_t<T>) const {
        return run<tensor<T, extents_of<X>>, false, T>(astype<T>(std::forward<X>(x)), a);
    }
    template <array_argument X, int... Is, element T>
    auto operator()(X&& x, axes_t<Is...> a, keepdims_t, as_t<T>) const {
        return run<tensor<T, extents_of<X>>, true, T>(astype<T>(std::forward<X>(x)), a);
    }
    /// The axes of a typed tensor stand in the type: axis<1>.
    template <array_argument X, std::integral N>
    auto operator()(X&&, N) const {
        return name_axes_in_the_type_as_axis_1<N>{};
    }
    template <array_argument X, class Y>
        requires(array_argument<Y> || std::floating_point<std::remove_cvref_t<Y>>)
    auto operator()(X&&, Y&&) const {
        return reduces_one_tensor_use_maximum_or_minimum<std::remove_cvref_t<X>,
                                                         std::remove_cvref_t<Y>>{};
    }
    /// Of run-time type; all axes where none is named; a sum or product is computed in type `in`.
    any_tensor operator()(const any_tensor& x, span<const std::int64_t> list = {},
                          bool keep = false, std::optional<dtype> in = {}) const {
        return noted(reduce_by(What, by(),
                               pumice::astype(x, in ? *in : reduced_in(What, x.dtype())), list,
                               keep));
    }
    template <any_array X, int... Is, std::same_as<keepdims_t>... Keep>
    any_tensor operator()(const X& x, axes_t<Is...> a, Keep...) const {
        return (*this)(any_tensor(x), span(a.list), sizeof...(Keep) > 0);
    }
    any_tensor operator()(const any_tensor& x, std::initializer_list<std::int64_t> list,
                          bool keep = false, std::optional<dtype> in = {}) const {
        return (*this)(x, span(list.begin(), list.size()), keep, in);
    }
    template <std::integral N>
    any_tensor operator()(const any_tensor& x, N axis, bool keep = false,
                          std::optional<dtype> in = {}) const {
        const std::int64_t list[] = {static_cast<std::int64_t>(axis)};
        return (*this)(x, list, keep, in);
    }

private:
    static constexpr const op_info* by() {
        if constexpr (std::is_void_v<Op>) return nullptr;
        else return &op_info_of<Op>;
    }
    template <class X, bool Keep, class In = void, class Axes>
    static auto run(const auto& x, Axes) {
        static_assert(check_reduced<What, X, Op>());
        constexpr bool arg = What == reduction::argmax || What == reduction::argmin;
        constexpr dtype own = dtype_of<element_of_argument<X>>,
                        in = std::is_void_v<In> ? reduced_in(What, own) : own;
        using element = std::conditional_t<arg, std::int64_t, typename element_for<in>::type>;
        static const auto& lasting =
            *new operation(make_reduction(What, extents_of<X>::rank, Axes::list, Keep, by()));
        return tensor<element, reduced_t<X, Keep, Axes>>(in_place{}, [&] {
            if constexpr (in == own)
                return reduce_typed(lasting, dtype_of<element>, x.get(), Axes::list);
            else
                return reduce_typed(lasting, dtype_of<element>,
                                    pumice::astype(any_tensor(x.get()), in).get(), Axes::list);
        });
    }
};

}  // namespace detail

template <class Op>
template <class X, class... A>
auto op_function<Op>::reduce(X&& x, A&&... axes) const {
    return detail::reducer<reduction::by_op, Op>()(std::forward<X>(x), std::forward<A>(axes)...);
}

// Reductions over the axes named, or over all; axes stand in the type, `axis<1>`, or for tensors of
// run-time type in the call, which throws errc::axis_out_of_range.

/// The sum, of numbers: floating point in its type, integers in 64 bits, or in the type that
/// `as<T>` names. Of no elements it is 0.
inline constexpr detail::reducer<reduction::sum> sum;
/// The product, in the types that `sum` has. Of no elements it is 1.
inline constexpr detail::reducer<reduction::prod> prod;
/// The greatest element, of numbers, in their type; NaN where there is one. Throws
/// errc::invalid_argument for an axis of no elements.
inline constexpr detail::reducer<reduction::max> max;
/// The least element, otherwise as `max`.
inline constexpr detail::reducer<reduction::min> min;
/// The arithmetic mean; needs floating point. Of no elements it is NaN.
inline constexpr detail::reducer<reduction::mean> mean;
/// Whether an element, or each, is true or, of numbers, not 0: bool.
inline constexpr detail::reducer<reduction::any> any;
inline constexpr detail::reducer<reduction::all> all;
/// Index of the first extreme element along one axis (or of the flattened tensor), i64.
inline constexpr detail::reducer<reduction::argmax> argmax;
inline constexpr detail::reducer<reduction::argmin> argmin;
/// log(sum(exp(x))) without overflow; needs floating point.
inline constexpr detail::reducer<reduction::logsumexp> logsumexp;

namespace detail {
template <normalization What, class X, int I>
auto typed_softmax(const X& x) {
    using a = argument_of<X>;
    using e = element_of_argument<X>;
    if constexpr (!is_floating(dtype_of<e>)) return op_needs_floating_point_use_astype<e>{};
    else {
        constexpr int axis = axis_in<I, a::extents::rank>();
        static const auto& lasting = *new operation(normalize_op{What, {axis}});
        return tensor<e, typename a::extents>(in_place{},
                                              [&] { return softmax_typed(lasting, x.get()); });
    }
}
}  // namespace detail

/// exp(x) / sum(exp(x)) along an axis (the last where none is named), in one pass where it fits.
template <array_argument X, int I = -1>
auto softmax(const X& x, axes_t<I> = {}) {
    return detail::typed_softmax<normalization::softmax, X, I>(x);
}
/// log(softmax(x)), computed without overflow.
template <array_argument X, int I = -1>
auto log_softmax(const X& x, axes_t<I> = {}) {
    return detail::typed_softmax<normalization::log_softmax, X, I>(x);
}
inline any_tensor log_softmax(const any_tensor& x, std::int64_t along = -1) {
    return softmax(x, along, true);
}

namespace detail {
template <class A, class B>
constexpr auto matmul_extents() {
    using a = extents_of<A>;
    using b = extents_of<B>;
    constexpr int ra = a::rank, rb = b::rank;
    constexpr std::int64_t ka = ra == 0 ? -2 : a::values[std::size_t(ra == 0 ? 0 : ra - 1)];
    constexpr std::int64_t kb = rb == 0   ? -2
                                : rb == 1 ? b::values[0]
                                          : b::values[std::size_t(rb < 2 ? 0 : rb - 2)];
    if constexpr (ra == 0 || rb == 0 ||
                  (ka != kb && ka != dynamic_extent && kb != dynamic_extent)) {
        return matmul_shapes_do_not_match<a, b>{};
    } else {
        constexpr int ba = ra > 2 ? ra - 2 : 0, bb = rb > 2 ? rb - 2 : 0, batch = ba > bb ? ba : bb;
        constexpr int rank = batch + (ra > 1) + (rb > 1);
        constexpr auto list = [] {
            std::array<std::int64_t, max_rank + 1> v{};
            for (int i = 0; i < batch; ++i) {
                const int ia = i - (batch - ba), ib = i - (batch - bb);
                v[std::size_t(i)] = broadcast_extent(ia < 0 ? 1 : a::values[std::size_t(ia)],
                                                     ib < 0 ? 1 : b::values[std::size_t(ib)]);
            }
            std::size_t n = std::size_t(batch);
            if (ra > 1) v[n++] = a::values[std::size_t(ra - 2)];
            if (rb > 1) v[n++] = b::values[std::size_t(rb - 1)];
            return v;
        }();
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return extents<list[I]...>{};
        }(std::make_index_sequence<std::size_t(rank)>{});
    }
}
}  // namespace detail

/// NumPy's matmul of any element type; of bool it is any(a & b). Expressions on either side are
/// fused into the loads, what is done to the result into its store. Throws errc::shape_mismatch
/// where the compiler cannot know.
template <array_argument A, array_argument B>
auto matmul(const A& a, const B& b) {
    using ea = detail::element_of_argument<A>;
    using eb = detail::element_of_argument<B>;
    using extents = decltype(detail::matmul_extents<A, B>());
    using common = decltype(detail::common_element<ea, eb>());
    if constexpr (!extents_type<extents>) return extents{};
    else
        return tensor<common, extents>(detail::noted(matmul(any_tensor(a.get()),
                                                            any_tensor(b.get()))));
}

/// Joins tensors of one element type along an axis.
template <int I = 0, array_argument First, array_argument... Rest>
auto concat(axes_t<I>, const First& first, const Rest&... rest) {
    static_assert((detail::check_joined<First, Rest>() && ...));
    const any_tensor list[] = {any_tensor(first.get()), any_tensor(rest.get())...};
    using e = detail::element_of_argument<First>;
    return tensor<e, dims<detail::extents_of<First>::rank>>(detail::noted(concat(
        span<const any_tensor>(list), detail::axis_in<I, detail::extents_of<First>::rank>())));
}

template <array_argument First, array_argument... Rest>
auto concat(const First&, const Rest&...) {
    return name_the_axis_first_as_axis_0<First>{};
}

namespace detail {
template <class List>
using listed = std::remove_cvref_t<decltype(*std::data(std::declval<const List&>()))>;
template <class List>
concept tensor_list = array_argument<listed<List>>;
template <class List>
std::vector<any_tensor> parts_of(const List& list) {
    std::vector<any_tensor> parts;
    for (const auto& each : list) parts.emplace_back(each.get());
    return parts;
}
}  // namespace detail

/// The tensors of a std::vector, array or span joined along an axis.
template <detail::tensor_list List>
auto concat(const List& list, std::int64_t axis = 0) {
    using x = detail::listed<List>;
    return tensor<detail::element_of_argument<x>, dims<detail::extents_of<x>::rank>>(
        detail::noted(concat(detail::parts_of(list), axis)));
}
template <detail::tensor_list List, int I>
auto concat(const List& list, axes_t<I>) {
    return concat(list, std::int64_t(I));
}

/// Elements at `indices` (i32 or i64) along an axis.
template <array_argument X, array_argument Indices, int I = 0>
auto take(const X& x, const Indices& indices, axes_t<I> = {}) {
    static_assert(detail::check_indices<Indices>());
    constexpr int rank = detail::extents_of<X>::rank + detail::extents_of<Indices>::rank - 1;
    return tensor<detail::element_of_argument<X>, dims<rank>>(
        detail::noted(take(any_tensor(x.get()), any_tensor(indices.get()),
                           detail::axis_in<I, detail::extents_of<X>::rank>())));
}

#ifndef PUMICE_COMPILED

namespace detail {

PUMICE_BODY node_ptr reduce_typed(const operation& lasting, dtype type, const node_ptr& x,
                                  span<const std::int64_t> axes) {
    const reduce_op& op = *lasting.get_if<reduce_op>();
    node_ptr n = at_once(lasting, {}, type, reduced_shape(op, x->extent), {&x, 1});
    if (!n) n = later([&] { return reduce_by(op.what, op.by, any_tensor(x), axes, op.keepdims); });
    return n;
}

PUMICE_BODY node_ptr softmax_typed(const operation& lasting, const node_ptr& x) {
    node_ptr n = at_once(lasting, {}, x->type, x->extent, {&x, 1});
    if (!n)
        n = later([&] {
            const normalize_op& op = *lasting.get_if<normalize_op>();
            const std::int64_t axis = op.axes[0];
            return normalize(op.what, any_tensor(x), {&axis, 1});
        });
    return n;
}

}  // namespace detail

#endif

}}  // namespace pumice::PUMICE_ABI
