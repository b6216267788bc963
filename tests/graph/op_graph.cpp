// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A graph as passes see it: a copy, in order, whose links may change.
#include <pumice/graph/op_graph.hpp>

#include "../support/walked_graph.hpp"
#include "support.hpp"

#include <doctest/doctest.h>

using namespace pumice;
using namespace pumice_test;

namespace {

const std::shared_ptr<engine> home = std::make_shared<fake_engine>();

using nodes = array_list<graph_node*>;

}  // namespace

TEST_CASE("op_graph: nodes, inputs and what is kept, beside the user's") {
    const any_tensor x = data(home, {4, 4}), y = apply<op::exp>(x), z = matmul(y, x),
                     outside = apply<op::negative>(y);
    const walked_graph g(z);
    REQUIRE(g.graph.order() == nodes{g.at(y), g.at(z)});
    CHECK(g.graph.roots() == nodes{g.at(z)});
    CHECK(g.at(z)->inputs == nodes{g.at(y), g.at(x)});
    CHECK(g.at(x)->is_given());
    CHECK(g.at(z)->kept);
    CHECK(g.at(y)->kept);  // `outside` reads it
    CHECK_FALSE(walked_graph(outside).at(outside)->inputs[0]->is_given());
    CHECK(g.at(y)->origin == y.get().get());
    CHECK(g.graph.readers()[g.at(x)->number] == nodes{g.at(y), g.at(z)});
}

TEST_CASE("op_graph: readers of what is replaced read the other, and what nobody needs is gone") {
    const any_tensor x = data(home, {4}), y = apply<op::exp>(x), z = apply<op::exp>(x),
                     sum = apply<op::add>(y, z);
    walked_graph g(sum);
    g.graph.replace(*g.at(z), *g.at(y));
    g.graph.sort();
    CHECK(g.graph.order() == nodes{g.at(y), g.at(sum)});
    CHECK(g.at(sum)->inputs == nodes{g.at(y), g.at(y)});
    CHECK(sum.get()->inputs[1] == z.get());  // the user's nodes stay
}

TEST_CASE("op_graph: one that is kept goes on as a view, and as a copy where it was traced") {
    const any_tensor x = data(home, {4}), y = apply<op::exp>(x), z = apply<op::exp>(x);
    const std::vector<any_tensor> roots{y, z};
    walked_graph g(roots);
    g.graph.replace(*g.at(z), *g.at(y));
    g.graph.sort();
    CHECK(g.graph.order() == nodes{g.at(y), g.at(z)});
    CHECK(is_view(*g.at(z)));
    CHECK(g.at(z)->inputs == nodes{g.at(y)});
    CHECK(g.at(z)->origin == z.get().get());

    graph_walk walk;
    const node_ptr list[] = {y.get(), z.get()};
    walk.go(list);
    op_graph traced(walk, list, true);
    graph_node& last = traced[walk.number_of(z.get().get())];
    traced.replace(last, traced[walk.number_of(y.get().get())]);
    traced.sort();
    CHECK(last.op().is<copy_op>());
}

TEST_CASE("op_graph: what a pass adds stands before its readers") {
    const any_tensor x = data(home, {4, 6}), y = apply<op::exp>(x), z = apply<op::negative>(y);
    walked_graph g(z);
    graph_node& twice = g.graph.add(dtype::f32, {4, 6},
                                    operation(*y.get()->op.get_if<elementwise_op>()), {g.at(y)});
    g.graph.change(*g.at(z), operation(*z.get()->op.get_if<elementwise_op>()), {g.at(y)});
    g.graph.change(*g.at(z), {&twice});
    CHECK(g.at(z)->op().is<elementwise_op>());
    g.graph.sort();
    CHECK(g.graph.order() == nodes{g.at(y), &twice, g.at(z)});
    CHECK(twice.origin == nullptr);
    CHECK(twice.number < g.graph.size());
    CHECK(&g.graph[twice.number] == &twice);
}

TEST_CASE("op_graph: a reshape that comes to look at a view looks at a copy of it") {
    const any_tensor x = data(home, {4, 6}), y = apply<op::exp>(x),
                     z = apply<op::negative>(reshape(y, {24}));
    walked_graph g(z);
    view_op turned{{0, 0}, {1, 0}, {1, 1}};
    graph_node &other = g.graph.add(dtype::f32, {6, 4}, copy_op{{4, 1}}, {g.at(x)}),
               &view = g.graph.add(dtype::f32, {4, 6}, std::move(turned), {&other});
    g.graph.replace(*g.at(y), view);
    g.graph.sort();
    REQUIRE(g.graph.order().size() == 5);
    const graph_node& reshape = *g.graph.order()[3];
    REQUIRE(reshape.op().is<reshape_op>());
    CHECK(reshape.inputs[0]->op().is<copy_op>());
    CHECK(reshape.inputs[0]->inputs == nodes{&view});
}

TEST_CASE("op_graph: a long chain is sorted without recursion") {
    any_tensor t = data(home, {1});
    const any_tensor first = apply<op::exp>(t), other = apply<op::exp>(t);
    t = first;
    for (int i = 0; i < 100000; ++i) t = apply<op::add>(t, 1.0);
    const std::vector<any_tensor> roots{t, other};
    walked_graph g(roots);
    g.graph.replace(*g.at(first), *g.at(other));
    g.graph.sort();
    CHECK(g.graph.order().size() == 100001);
}

TEST_CASE(
    "op_graph: two that are replaced by each other leave one, and what reads itself is an error") {
    const any_tensor x = data(home, {4}), y = apply<op::exp>(x), z = apply<op::exp>(x),
                     sum = apply<op::add>(y, z);
    walked_graph g(sum);
    g.graph.replace(*g.at(y), *g.at(y));
    g.graph.replace(*g.at(y), *g.at(z));
    g.graph.replace(*g.at(z), *g.at(y));
    g.graph.sort();
    CHECK(g.at(sum)->inputs == nodes{g.at(z), g.at(z)});
    g.graph.replace(*g.at(z), *g.at(sum));
    CHECK(code_of([&] { g.graph.sort(); }) == errc::invalid_argument);
}
