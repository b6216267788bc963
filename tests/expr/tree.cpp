// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/expr/ops.hpp>
#include <pumice/expr/tree.hpp>

#include "support.hpp"

#include <pumice/expr/host.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using namespace pumice;

namespace {

using f32 = leaf_tree<dtype::f32>;
using number = scalar_tree<dtype::f32>;
using product = apply_tree<op::multiply, f32, f32>;
using chain = apply_tree<op::relu, apply_tree<op::add, product, number>>;

template <class Tree>
std::string text() {
    return pumice_test::to_string(program_of<Tree>.view());
}

template <int N> struct tower {
    using type = apply_tree<op::sin, typename tower<N - 1>::type>;
};
template <> struct tower<0> {
    using type = f32;
};

}  // namespace

TEST_CASE("a tree counts its operands and ops, and is empty") {
    static_assert(std::is_empty_v<chain>);
    static_assert(chain::leaves == 2 && chain::scalars == 1 && chain::nodes == 3 &&
                  chain::type == dtype::f32);
    static_assert(apply_tree<op::less, f32, f32>::type == dtype::boolean);
    static_assert(cast_tree<dtype::f16, chain>::nodes == 4 &&
                  cast_tree<dtype::f16, chain>::type == dtype::f16);
    static_assert(!apply_tree<op::add, f32, leaf_tree<dtype::f64>>::valid);
    static_assert(!apply_tree<op::exp, leaf_tree<dtype::i32>>::valid);
    CHECK(text<chain>() ==
          "v0=leaf0:f32; v1=leaf1:f32; v2=multiply:f32(v0,v1); v3=scalar0:f32; v4=add:f32(v2,v3); "
          "v5=relu:f32(v4); >v5");
}

TEST_CASE("operands are positional: equal leaves are told apart by the graph, not by the type") {
    using twice = apply_tree<op::add, product, product>;
    CHECK(text<twice>() ==
          "v0=leaf0:f32; v1=leaf1:f32; v2=multiply:f32(v0,v1); v3=leaf2:f32; v4=leaf3:f32; "
          "v5=multiply:f32(v3,v4); v6=add:f32(v2,v5); >v6");
}

TEST_CASE("program and key are constants that equal those made at run time") {
    constexpr std::uint64_t key = key_of_tree<chain>;
    pumice_test::builder b;
    const auto x = b.leaf(0), y = b.leaf(1), p = b.apply<op::multiply>(x, y), s = b.number(0);
    b.out({b.apply<op::relu>(b.apply<op::add>(p, s))});
    operand_order order;
    const auto made = canonical<basic_program<max_program>>(b.view(), order);
    CHECK(key == key_of(made.view()));
    CHECK(key != key_of_tree<product>);
}

TEST_CASE("the bound of a type") {
    static_assert(fits_in_type<tower<64>::type>);
    static_assert(!fits_in_type<tower<65>::type>);
    static_assert(program_of<tower<64>::type>.code.size() == 65);
    using four = apply_tree<op::add, apply_tree<op::add, f32, f32>, apply_tree<op::add, f32, f32>>;
    using sixteen =
        apply_tree<op::add, apply_tree<op::add, four, four>, apply_tree<op::add, four, four>>;
    static_assert(sixteen::leaves == 16 && fits_in_type<sixteen>);
    CHECK(!fits_in_type<apply_tree<op::add, sixteen, number>>);
}
