// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Expressions: the type says what is fused, the value owns the operands and refers to nothing.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/expr/emit.hpp>
#include <pumice/expr/host_loop.hpp>
#include <pumice/expr/ops.hpp>
#include <pumice/expr/tree.hpp>
#include <pumice/graph/detail/apply_each.hpp>
#include <pumice/tensor/context.hpp>
#include <pumice/tensor/once_cell.hpp>

#include <array>
#include <concepts>

namespace pumice { inline namespace PUMICE_ABI {

template <element Element, extents_type Extents, layout Layout = row_major>
class tensor;
template <class Tree, extents_type Extents>
class expression;
template <element T>
class created;

/// Named in compile errors; never defined.
template <class Op, class... Elements> struct op_does_not_take;
template <class... Elements> struct element_types_do_not_mix_use_astype;
template <class Number, class Element> struct number_does_not_fit_the_element_type;
template <class Element> struct condition_must_be_bool;
template <class Array> struct tensor_is_no_number_use_item_or_all;
template <class... Operands> struct no_operand_is_a_tensor;
template <class... Masks> struct join_masks_by_one_ampersand;
template <class... Masks> struct join_masks_by_one_bar;

namespace detail {

template <class N>
concept number_of_cpp = std::is_arithmetic_v<N>;
template <class Element, class Array>
Element not_a_number() {
    static_cast<void>(tensor_is_no_number_use_item_or_all<Array>{});
    return {};
}

/// What an argument contributes: its tree, its extents, its operands.
template <class X>
struct argument {
    static constexpr bool is_array = false,
                          is_number = std::is_arithmetic_v<X> || converts_by_float<X>;
};
template <element T>
struct argument<created<T>> {
    static constexpr bool is_array = false, is_number = false;
    using tree = leaf_tree<dtype_of<T>>;
};
template <element T, extents_type E, layout L>
struct argument<tensor<T, E, L>> {
    static constexpr bool is_array = true, is_number = false;
    using tree = leaf_tree<dtype_of<T>>;
    using extents = E;
};
/// A temporary is taken apart; an expression with a name is one operand, computed at most once.
template <class Tree, extents_type E>
struct argument<expression<Tree, E>> {
    static constexpr bool is_array = true, is_number = false;
    using tree = Tree;
    using extents = E;
};
template <class Tree, extents_type E>
struct argument<expression<Tree, E>&> {
    static constexpr bool is_array = true, is_number = false;
    using tree = leaf_tree<Tree::type>;
    using extents = E;
};

/// Strips references and const, but keeps the one that says "an expression with a name".
template <class X>
struct argument_of : argument<std::remove_cvref_t<X>> {};
template <class Tree, class E>
struct argument_of<expression<Tree, E>&> : argument<expression<Tree, E>&> {};
template <class Tree, class E>
struct argument_of<const expression<Tree, E>&> : argument<expression<Tree, E>&> {};

}  // namespace detail

/// A typed tensor or an expression.
template <class X>
concept array_argument = detail::argument_of<X>::is_array;
template <class X>
concept number_argument = detail::argument_of<X>::is_number;
namespace detail {
template <class X>
inline constexpr bool has_rank_at_run_time = false;
template <>
inline constexpr bool has_rank_at_run_time<any_tensor> = true;
template <class T>
inline constexpr bool has_rank_at_run_time<created<T>> = true;
}  // namespace detail

template <class X>
concept any_array = detail::has_rank_at_run_time<std::remove_cvref_t<X>>;

namespace detail {

/// What `x(index...)` and `x[index]` give (tensor/index.hpp).
template <class X, class... I>
auto indexed(const X& x, const I&... index);

template <class X>
using element_of_argument = typename element_for<argument_of<X>::tree::type>::type;

/// The common element type of the array operands; names them where the array API has none.
template <class First, class... Rest>
constexpr auto common_element() {
    if constexpr (sizeof...(Rest) == 0) {
        return First{};
    } else {
        return []<class Second, class... Others>(std::type_identity<Second>,
                                                 std::type_identity<Others>...) {
            if constexpr (!promote(dtype_of<First>, dtype_of<Second>))
                return element_types_do_not_mix_use_astype<First, Second>{};
            else
                return common_element<
                    typename element_for<*promote(dtype_of<First>, dtype_of<Second>)>::type,
                    Others...>();
        }(std::type_identity<Rest>{}...);
    }
}

template <class... X> struct pack {};
template <class A, class B> struct joined;
template <class... A, class... B> struct joined<pack<A...>, pack<B...>> {
    using type = pack<A..., B...>;
};
/// The tree of one argument, brought to the element type `Common`.
template <class X, class Common>
constexpr auto tree_for() {
    using a = argument_of<X>;
    if constexpr (a::is_number) {
        if constexpr (!std::integral<std::remove_cvref_t<X>> && !is_floating(dtype_of<Common>))
            return number_does_not_fit_the_element_type<std::remove_cvref_t<X>, Common>{};
        else return scalar_tree<dtype_of<Common>>{};
    } else if constexpr (a::tree::type == dtype_of<Common>) {
        return typename a::tree{};
    } else if constexpr (dtype_of<Common> == dtype::boolean) {
        return condition_must_be_bool<typename element_for<a::tree::type>::type>{};
    } else {
        return cast_tree<dtype_of<Common>, typename a::tree>{};
    }
}

/// A type's operation as its nodes hold it, but for scalars.
PUMICE_FUNCTION elementwise_op stored(program_view p, native_loop* native);
/// The canonical program over the distinct ones of `leaves`.
PUMICE_FUNCTION program kernel_of(program_view p, span<const node_ptr> leaves);
/// The node of an expression's operation over `leaves`, which it may take; `type`: of its elements.
/// With fusion off each instruction becomes a node of its own.
PUMICE_FUNCTION node_ptr make_elementwise(const operation& lasting, dtype type, const shape& extent,
                                          span<node_ptr> leaves, span<const scalar> scalars);

/// Moves the operands of an argument into flat arrays.
struct operand_writer {
    node_ptr* leaf;
    scalar* number;

    template <class X, class Common>
    void put(X&& x) {
        using a = argument_of<X>;
        if constexpr (a::is_number) *number++ = typed_number<Common>(x);
        else if constexpr (requires { x.take_operands(*this); }) {
            if constexpr (std::is_lvalue_reference_v<X>) take(x.get());
            else x.take_operands(*this);
        } else take(x.get());
    }
    // What is there is null: an assignment would look.
    void take(const node_ptr& n) { new (leaf++) node_ptr(n); }
    void take(node_ptr&& n) noexcept { new (leaf++) node_ptr(std::move(n)); }
};

}  // namespace detail

/// A fused elementwise expression. Nothing runs; converting it to a tensor makes one node.
template <class Tree, extents_type Extents>
class expression {
public:
    using tree = Tree;
    using extents_type = Extents;
    using element_type = typename detail::element_for<Tree::type>::type;

    /// For operators; users write `a * b`.
    template <class... X>
    explicit expression(const shape& extent, std::type_identity<detail::pack<X...>>,
                        auto&&... arguments)
        : extent_(extent) {
        detail::operand_writer w{leaves_.data(), scalars_.data()};
        (w.template put<decltype(arguments), X>(std::forward<decltype(arguments)>(arguments)), ...);
    }

    const pumice::shape& shape() const& noexcept { return extent_; }
    pumice::shape shape() && noexcept { return extent_; }
    static constexpr pumice::dtype dtype() noexcept { return Tree::type; }
    static constexpr int rank() noexcept { return Extents::rank; }

    /// The canonical program over the distinct operands: what the run-time fuser makes of the node.
    program kernel() const { return detail::kernel_of(program_of<Tree>.view(), leaves_); }

    /// The node: the same one for every copy of this expression.
    node_ptr get() const& {
        return cell_.get([&] {
            auto leaves = leaves_;
            return make(leaves);
        });
    }
    /// The same, without the means to share it where nobody else can ask.
    node_ptr get() && {
        if (cell_.shared()) return std::as_const(*this).get();
        return make(leaves_);
    }
    operator element_type() const {
        return detail::not_a_number<element_type, tensor<element_type, Extents>>();
    }
    /// What a tensor made of it has; they evaluate it, once for all copies.
    element_type item() const { return tensor<element_type, Extents>(*this).item(); }
    std::vector<element_type> to_vector() const {
        return pumice::to_vector<element_type>(any_tensor(get()));
    }
    /// The elements where they lie, as long as the expression lives.
    auto host() const& {
        tensor<element_type, Extents> whole(*this);
        return whole.host();
    }
    auto host() && = delete;
    template <class... I>
    auto operator()(const I&... index) const {
        return detail::indexed(tensor<element_type, Extents>(*this), index...);
    }
    template <class I>
    auto operator[](const I& index) const {
        return detail::indexed(tensor<element_type, Extents>(*this), index);
    }
    operator any_tensor() const& { return any_tensor(get()); }
    operator any_tensor() && { return any_tensor(std::move(*this).get()); }

    void take_operands(detail::operand_writer& w) {
        for (node_ptr& n : leaves_) w.take(std::move(n));
        for (const scalar& s : scalars_) *w.number++ = s;
    }

private:
    node_ptr make(span<node_ptr> leaves) const {
        // Made once, and never let go: a tensor may outlive everything else of a program.
        static const auto& lasting =
            *new operation(detail::stored(program_of<Tree>.view(), loop_of<Tree>));
        return detail::make_elementwise(lasting, Tree::type, extent_, leaves, scalars_);
    }

    std::array<node_ptr, static_cast<std::size_t>(Tree::leaves)> leaves_;
    std::array<scalar, static_cast<std::size_t>(Tree::scalars)> scalars_;
    pumice::shape extent_;
    once_cell cell_;
};

namespace detail {

/// The arguments that are arrays; without the first, a condition, where it takes no part in
/// promotion.
template <bool Skip, class... A> struct arrays_of;
template <bool Skip> struct arrays_of<Skip> {
    using type = pack<>;
};
template <bool Skip, class First, class... Rest>
struct arrays_of<Skip, First, Rest...> {
    using rest = typename arrays_of<false, Rest...>::type;
    using type = typename joined<
        std::conditional_t<!argument_of<First>::is_number && !Skip, pack<First>, pack<>>,
        rest>::type;
};

template <class P> struct common_of;
template <> struct common_of<pack<>> {
    using type = float;
};
template <class... X> struct common_of<pack<X...>> {
    using type = decltype(common_element<element_of_argument<X>...>());
};

template <class P> struct extents_of_all;
template <class... X> struct extents_of_all<pack<X...>> {
    using type = broadcast_t<typename argument_of<X>::extents...>;
};

/// Whether the types of the arrays in a pack say that each has so many axes.
template <class P, int Rank>
inline constexpr bool all_have_rank = false;
template <int Rank, class... X>
inline constexpr bool all_have_rank<pack<X...>, Rank> =
    ((argument_of<X>::extents::rank == Rank) && ...);
/// Equality of the shapes of two of them; ranks are compared only where types do not say them.
template <class P, int Rank>
bool same_shape(const shape& a, const shape& b) noexcept {
    if constexpr (all_have_rank<P, Rank>) return std::equal(a.data(), a.data() + Rank, b.data());
    else return a == b;
}

/// The element type that each operand is brought to: bool for the condition of `where`.
template <class Op, class Common, std::size_t... I>
auto wanted_elements(std::index_sequence<I...>)
    -> pack<std::conditional_t<Op::rule.selects && I == 0, bool, Common>...>;

template <class X>
any_operand settle(const X& x) {
    if constexpr (number_argument<X>) return any_operand(scalar(plain_number(x)));
    else if constexpr (std::same_as<X, scalar>) return any_operand(x);
    else return any_operand(any_tensor(x.get()));
}
template <class Op, class... A>
any_tensor apply_at_run_time(const A&... a) {
    const any_operand list[] = {settle(a)...};
    any_tensor r = pumice::apply(op_info_of<Op>, list);
    r.get()->owner->note(r.get());
    return r;
}

/// The same of operands with known element types but ranks at run time.
template <class Op, class... A>
auto apply_created(const A&... a) {
    using common = typename common_of<typename arrays_of<Op::rule.selects, A...>::type>::type;
    using gives = std::conditional_t<Op::rule.gives == type_rule::result::boolean, bool, common>;
    if constexpr (!element<common>) return common{};
    else return created<gives>(apply_at_run_time<Op>(a...));
}

template <class Op, class... Wanted, class... A>
auto typed_expression(pack<Wanted...>, A&&... a) {
    using tree = apply_tree<Op, decltype(tree_for<A, Wanted>())...>;
    if constexpr (!tree::valid) {
        return op_does_not_take<Op, Wanted...>{};
    } else {
        using arrays = typename arrays_of<false, A...>::type;
        using extents = typename extents_of_all<arrays>::type;
        if constexpr (fits_in_type<tree>) {
            shape joined;
            const shape* extent = nullptr;  // mostly the first operand's
            const auto widen = [&](const auto& x) {
                if constexpr (!number_argument<decltype(x)>) {
                    if (!extent) extent = &x.shape();
                    else if (!same_shape<arrays, extents::rank>(*extent, x.shape()))
                        extent = &(joined = broadcast(*extent, x.shape(), Op::name));
                }
            };
            (widen(a), ...);
            return expression<tree, extents>(*extent, std::type_identity<pack<Wanted...>>{},
                                             std::forward<A>(a)...);
        } else {
            // Past the bound: the operands become nodes, and the run-time fuser joins them again.
            return tensor<typename element_for<tree::type>::type,
                          extents>(apply_at_run_time<Op>(a...));
        }
    }
}

}  // namespace detail

template <class Op>
template <class... A>
constexpr auto op_function<Op>::operator()(A&&... operands) const {
    static_assert(sizeof...(A) == Op::arity, "the op takes another number of operands");
    if constexpr ((std::same_as<std::remove_cvref_t<A>, any_tensor> || ...)) {
        return detail::apply_at_run_time<Op>(operands...);
    } else if constexpr ((any_array<A> || ...)) {
        return detail::apply_created<Op>(operands...);
    } else if constexpr (!(array_argument<A> || ...)) {
        return no_operand_is_a_tensor<std::remove_cvref_t<A>...>{};
    } else {
        using common = typename detail::common_of<
            typename detail::arrays_of<Op::rule.selects, A...>::type>::type;
        using wanted =
            decltype(detail::wanted_elements<Op, common>(std::index_sequence_for<A...>{}));
        return detail::typed_expression<Op>(wanted{}, std::forward<A>(operands)...);
    }
}

/// True where the compiler knows that X is one kernel.
template <class X>
inline constexpr bool fuses = false;
template <class Tree, class E>
inline constexpr bool fuses<expression<Tree, E>> = true;
template <class X>
inline constexpr bool fuses<const X> = fuses<X>;

#ifndef PUMICE_COMPILED

namespace detail {

PUMICE_BODY elementwise_op stored(program_view p, native_loop* native) {
    return {std::make_shared<program>(program{{p.code.begin(), p.code.end()},
                                              {p.outputs.begin(), p.outputs.end()}}),
            {},
            {},
            native};
}

PUMICE_BODY program kernel_of(program_view p, span<const node_ptr> leaves) {
    program distinct = *stored(p, nullptr).body;
    for (instruction& i : distinct.code) {
        if (i.what != instruction::code::leaf) continue;
        std::uint16_t first = 0;
        while (leaves[first] != leaves[i.index]) ++first;
        i.index = first;
    }
    operand_order order;
    return canonical<program>(distinct.view(), order);
}

PUMICE_BODY node_ptr make_elementwise(const operation& lasting, dtype type, const shape& extent,
                                      span<node_ptr> leaves, span<const scalar> scalars) {
    for (const node_ptr& leaf : leaves)
        if (!leaf)
            fail(errc::invalid_argument, "expression", {"the expression is empty (moved from)"});
    engine* const owner = leaves.front()->owner.get();
    const elementwise_op& op = *lasting.get_if<elementwise_op>();
    node_ptr n;  // one for every return: written where the caller keeps it
    if (owner->policies().fusion) {
        n = at_once(lasting, scalars, type, extent, leaves);
        if (n) return n;
        n = make_node(type, extent,
                      scalars.empty() ? operation::borrowed(lasting)
                                      : elementwise_op{op.body,
                                                       {scalars.begin(), scalars.end()},
                                                       {},
                                                       op.native},
                      {std::move_iterator(leaves.begin()), std::move_iterator(leaves.end())});
        owner->note(n);
        return n;
    }
    n = apply_each(op.body->view(), leaves, scalars, [owner](const node_ptr& made) {
            owner->note(made);
        }).get();
    return n;
}

}  // namespace detail

#endif

}}  // namespace pumice::PUMICE_ABI
