// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A tree as one loop that the C++ compiler vectorises: what the host device runs for an
// expression's type. Its values are those of the program on the host (expr/host.hpp), bit for bit.
#pragma once

#include <pumice/base/wide.hpp>
#include <pumice/core/half_blocks.hpp>
#include <pumice/core/scalar.hpp>
#include <pumice/expr/tree.hpp>

#include <array>

namespace pumice { inline namespace PUMICE_ABI {

/// The largest tree that gets a loop of its own: each costs the compiler time.
inline constexpr int max_loop_nodes = 16;

namespace detail {

template <dtype Type> using stored_as = typename element_for<Type>::type;
template <dtype Type> using held_as = host_arithmetic<info(Type).arithmetic>;

/// The storage form of an arithmetic value, rounded or wrapped; and back.
template <dtype Type>
[[gnu::always_inline]] inline stored_as<Type> store_value(held_as<Type> v) {
    if constexpr (requires { v.value; }) return static_cast<stored_as<Type>>(v.value);
    else return static_cast<stored_as<Type>>(v);
}
template <dtype Type>
[[gnu::always_inline]] inline held_as<Type> load_value(stored_as<Type> v) {
    return static_cast<held_as<Type>>(v);
}

/// What an op gives, as it is held between two ops: wrapped if it is a small integer.
template <dtype Type, class T>
[[gnu::always_inline]] inline held_as<Type> settled(T v) {
    const auto r = static_cast<held_as<Type>>(v);
    if constexpr (is_floating(Type) || info(Type).bits >= 32) return r;
    else return load_value<Type>(store_value<Type>(r));
}

/// What a loop reads of a leaf: elements, bools as bytes (compilers make no vectors of them), or
/// the floats that a block of halves was brought to.
template <dtype Type>
using read_as =
    std::conditional_t<Type == dtype::f16, float,
                       std::conditional_t<Type == dtype::boolean, std::uint8_t, stored_as<Type>>>;

/// Where a tree finds its operands.
struct loop_operands {
    const void* leaves[max_leaves];
    const scalar* scalars;
};

/// The value of a tree at element i; its operands are those from numbers Leaf and Scalar on.
template <int Leaf, int Scalar, dtype Type>
[[gnu::always_inline]] inline held_as<Type> value_of(leaf_tree<Type>, const loop_operands& o,
                                                     std::int64_t i) {
    const auto v = static_cast<const read_as<Type>*>(o.leaves[Leaf])[i];
    if constexpr (Type == dtype::f16) return v;
    else return load_value<Type>(static_cast<stored_as<Type>>(v));
}
template <int Leaf, int Scalar, dtype Type>
[[gnu::always_inline]] inline held_as<Type> value_of(scalar_tree<Type>, const loop_operands& o,
                                                     std::int64_t) {
    held_as<Type> v;
    std::memcpy(static_cast<void*>(&v), &o.scalars[Scalar].bits, sizeof v);
    return v;
}
template <int Leaf, int Scalar, dtype Type, class Arg>
[[gnu::always_inline]] inline held_as<Type> value_of(cast_tree<Type, Arg>, const loop_operands& o,
                                                     std::int64_t i);

template <int Leaf, int Scalar, class Op, class X>
[[gnu::always_inline]] inline auto value_of(apply_tree<Op, X> tree, const loop_operands& o,
                                            std::int64_t i) {
    const auto x = value_of<Leaf, Scalar>(X{}, o, i);
    return settled<tree.type>(Op::host(x, x, x));
}
template <int Leaf, int Scalar, class Op, class X, class Y>
[[gnu::always_inline]] inline auto value_of(apply_tree<Op, X, Y> tree, const loop_operands& o,
                                            std::int64_t i) {
    const auto x = value_of<Leaf, Scalar>(X{}, o, i);
    const auto y = value_of<Leaf + X::leaves, Scalar + X::scalars>(Y{}, o, i);
    return settled<tree.type>(Op::host(x, y, y));
}
template <int Leaf, int Scalar, class Op, class X, class Y, class Z>
[[gnu::always_inline]] inline auto value_of(apply_tree<Op, X, Y, Z> tree, const loop_operands& o,
                                            std::int64_t i) {
    constexpr int leaf = Leaf + X::leaves, number = Scalar + X::scalars;
    const auto x = value_of<Leaf, Scalar>(X{}, o, i);
    const auto y = value_of<leaf, number>(Y{}, o, i);
    const auto z = value_of<leaf + Y::leaves, number + Y::scalars>(Z{}, o, i);
    return settled<tree.type>(Op::host(x, y, z));
}
template <int Leaf, int Scalar, dtype Type, class Arg>
[[gnu::always_inline]] inline held_as<Type> value_of(cast_tree<Type, Arg>, const loop_operands& o,
                                                     std::int64_t i) {
    const auto v = value_of<Leaf, Scalar>(Arg{}, o, i);
    if constexpr (requires { v.value; }) return load_value<Type>(convert<stored_as<Type>>(v.value));
    else return load_value<Type>(convert<stored_as<Type>>(v));
}

/// n values of a tree from the i-th on, as `r` holds them. Nothing else looks at what `r` points
/// to.
template <class Tree, class R>
[[gnu::always_inline]] inline void write_values(R* __restrict r, const loop_operands& o,
                                                std::int64_t i, std::int64_t n) {
#pragma GCC unroll 4  // -O2 leaves one vector a turn, and counting costs a third of it
    for (std::int64_t k = 0; k < n; ++k) {
        const auto v = value_of<0, 0>(Tree{}, o, i + k);
        if constexpr (std::is_same_v<R, stored_as<Tree::type>>) r[k] = store_value<Tree::type>(v);
        else r[k] = v;
    }
}

template <class Tree>
constexpr auto find_leaf_types() {
    std::array<dtype, Tree::leaves + 1> types{};
    for (const instruction& i : program_of<Tree>.view().code)
        if (i.what == instruction::code::leaf) types[i.index] = i.type;
    types[Tree::leaves] = Tree::type;
    return types;
}
/// The type of each leaf of a tree, and that of its result behind them.
template <class Tree>
inline constexpr auto leaf_types = find_leaf_types<Tree>();
template <class Tree>
constexpr bool has_halves() noexcept {
    for (const dtype t : leaf_types<Tree>)
        if (t == dtype::f16) return true;
    return false;
}

/// The loop of a tree: a length that is known is what -O2 vectorises.
template <class Tree>
struct tree_values {
    static constexpr std::int64_t step = 128, few = 8;

    [[gnu::always_inline]] void operator()(const void* const* leaves, const scalar* scalars,
                                           void* out, std::int64_t n) const {
        loop_operands o;
        for (int k = 0; k < Tree::leaves; ++k) o.leaves[k] = leaves[k];
        o.scalars = scalars;
        auto* const r = static_cast<stored_as<Tree::type>*>(out);
        std::int64_t i = 0;
        for (; i + step <= n; i += step) some(o, i, step, r + i);
        for (; i + few <= n; i += few) some(o, i, few, r + i);
        some(o, i, n - i, r + i);
    }

private:
    /// n <= step elements from the i-th on, halves by way of floats.
    [[gnu::always_inline]] static void some(const loop_operands& o, std::int64_t i, std::int64_t n,
                                            stored_as<Tree::type>* out) {
        if constexpr (!has_halves<Tree>()) {
            write_values<Tree>(out, o, i, n);
        } else {
            loop_operands floats = o;
            float room[Tree::leaves + 1][step];
            for (int k = 0; k < Tree::leaves; ++k) {
                const dtype type = leaf_types<Tree>[static_cast<std::size_t>(k)];
                floats.leaves[k] =
                    static_cast<const std::byte*>(o.leaves[k]) + i * (info(type).bits / 8);
                if (type != dtype::f16) continue;
                to_floats(static_cast<const f16*>(floats.leaves[k]), room[k], n);
                floats.leaves[k] = room[k];
            }
            if constexpr (Tree::type == dtype::f16) {
                write_values<Tree>(room[Tree::leaves] + 0, floats, 0, n);
                to_halves(room[Tree::leaves], out, n);
            } else {
                write_values<Tree>(out, floats, 0, n);
            }
        }
    }
};

template <class Tree>
void run_tree(const void* const* leaves, const scalar* scalars, void* out, std::int64_t n) {
    run_wide(tree_values<Tree>{}, leaves, scalars, out, n);
}

/// Whether a program has values of less than a byte, which no pointer shows.
constexpr bool shares_bytes(program_view p) noexcept {
    for (const instruction& i : p.code)
        if (is_packed(i.type)) return true;
    return false;
}
template <class Tree>
constexpr native_loop* make_loop() {
    if constexpr (Tree::nodes <= max_loop_nodes && !shares_bytes(program_of<Tree>.view()))
        return &run_tree<Tree>;
    else return nullptr;
}

}  // namespace detail

/// The loop of a tree; null where the tree is too large for one, or has elements that share bytes.
template <class Tree>
inline constexpr native_loop* loop_of = detail::make_loop<Tree>();

}}  // namespace pumice::PUMICE_ABI
