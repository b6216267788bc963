// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Expression trees: empty types. Operands are positional (first leaf in reading order is the first
// operand), so joining two trees renumbers nothing.
#pragma once

#include <pumice/expr/host_block.hpp>
#include <pumice/expr/program.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// A tensor operand.
template <dtype Type>
struct leaf_tree {
    static constexpr dtype type = Type;
    static constexpr int leaves = 1, scalars = 0, nodes = 0;
};

/// A number: an argument of the kernel, never text.
template <dtype Type>
struct scalar_tree {
    static constexpr dtype type = Type;
    static constexpr int leaves = 0, scalars = 1, nodes = 0;
};

/// An op over trees.
template <class Op, class... Args>
struct apply_tree {
    static constexpr dtype operand_types[] = {Args::type...};
    static constexpr auto deduced = result_type(op_info_of<Op>, operand_types);
    static constexpr bool valid = deduced.has_value();
    static constexpr dtype type = deduced.value_or(dtype::f32);
    static constexpr int leaves = (Args::leaves + ...), scalars = (Args::scalars + ...);
    static constexpr int nodes = (Args::nodes + ...) + 1;
};

/// A conversion to another element type.
template <dtype Type, class Arg>
struct cast_tree {
    static constexpr dtype type = Type;
    static constexpr int leaves = Arg::leaves, scalars = Arg::scalars, nodes = Arg::nodes + 1;
};

namespace detail {

struct operand_counter {
    std::uint16_t leaves = 0, scalars = 0;
};

template <class P, dtype Type>
constexpr std::uint16_t append(P& p, leaf_tree<Type>, operand_counter& n) {
    return p.push({instruction::code::leaf, Type, n.leaves++, {}, nullptr});
}
template <class P, dtype Type>
constexpr std::uint16_t append(P& p, scalar_tree<Type>, operand_counter& n) {
    return p.push({instruction::code::scalar, Type, n.scalars++, {}, nullptr});
}
template <class P, dtype Type, class Arg>
constexpr std::uint16_t append(P& p, cast_tree<Type, Arg>, operand_counter& n);
template <class P, class Op, class... Args>
constexpr std::uint16_t append(P& p, apply_tree<Op, Args...>, operand_counter& n) {
    instruction i{instruction::code::apply, apply_tree<Op, Args...>::type, 0, {}, &op_info_of<Op>};
    int k = 0;
    ((i.args[k++] = append(p, Args{}, n)), ...);
    return p.push(i);
}
template <class P, dtype Type, class Arg>
constexpr std::uint16_t append(P& p, cast_tree<Type, Arg>, operand_counter& n) {
    instruction i{instruction::code::cast, Type, 0, {}, nullptr};
    i.args[0] = append(p, Arg{}, n);
    return p.push(i);
}

template <class Tree>
constexpr auto make_program() {
    basic_program<Tree::leaves + Tree::scalars + Tree::nodes> p;
    operand_counter n;
    p.outputs.push_back(append(p, Tree{}, n));
    operand_order order;
    return canonical<decltype(p)>(p.view(), order);
}

}  // namespace detail

/// The canonical program of a tree: a constant. Positions of operands are kept, because every
/// leaf and scalar of a tree is distinct.
template <class Tree>
inline constexpr auto program_of = detail::make_program<Tree>();

/// The key of a tree's program, known to the compiler.
template <class Tree>
inline constexpr std::uint64_t key_of_tree = key_of(program_of<Tree>.view());

/// Largest expression that stays a type; past it an operator gives a lazy node.
inline constexpr int max_tree_nodes = 64, max_tree_leaves = max_leaves;

template <class Tree>
inline constexpr bool fits_in_type =
    Tree::nodes <= max_tree_nodes && Tree::leaves + Tree::scalars <= max_tree_leaves;

}}  // namespace pumice::PUMICE_ABI
