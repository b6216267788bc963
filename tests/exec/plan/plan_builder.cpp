// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Values of a plan in the making: one for each node, with what is known of where it lies.
#include <pumice/exec/plan/plan_builder.hpp>

#include <tests/graph/support.hpp>
#include <tests/support/walked_graph.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

TEST_CASE(
    "plan_builder: a node is one value; roles are lists in order; an alias has its own place") {
    const auto home = std::make_shared<pumice_test::fake_engine>();
    const pm::any_tensor x = pumice_test::data(home, {2, 3}), y = pm::apply<pm::op::exp>(x);
    pumice_test::walked_graph g(y);
    pm::plan_builder b;
    CHECK(b.find(g.at(x)) == -1);
    const int vx = b.value_of(g.at(x)), vy = b.value_of(g.at(y));
    CHECK(vx != vy);
    CHECK(b.value_of(g.at(x)) == vx);
    CHECK(b.find(g.at(y)) == vy);
    CHECK(b.nodes[static_cast<std::size_t>(vy)] == g.at(y));
    CHECK(b.made.at(vx).extent == pm::shape{2, 3});
    b.set_role(vx, pm::value_role::input, b.made.inputs);
    b.set_role(vy, pm::value_role::output, b.made.outputs);
    CHECK(b.made.outputs == pm::array_list<int>{vy});
    CHECK(b.made.at(vy).role == pm::value_role::output);
    b.set_alias(vy, vx, 4, {1, 2});
    CHECK(b.made.root(vy) == vx);
    CHECK(b.made.at(vy).offset == 4);
    CHECK(b.made.at(vy).layout == pm::strides{1, 2});
}
