// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The policies of passes: a pass of the user's comes with a check.
#include <pumice/policy/passes.hpp>

#include <doctest/doctest.h>

using namespace pumice;

namespace {

/// Here, where nothing hides what is inlined, g++ 12 warned of a pass that adds a node.
void once_more(op_graph& graph) {
    for (graph_node* n : graph.order())
        if (const auto* r = n->op().get_if<reduce_op>())
            graph.replace(*n, graph.add(n->type(), n->extent(), reduce_op{*r}, {n->inputs[0]}));
}

}  // namespace

TEST_CASE("passes: a user's pass is listed with its name, and from then on graphs are checked") {
    policy_set set;
    without_pass{"merge_equal"}.apply(set);
    CHECK_FALSE(static_cast<bool>(set.passes->sort_and_check));
    graph_pass{"mine", once_more}.apply(set);
    REQUIRE(set.passes->added.size() == 1);
    CHECK(set.passes->added[0].name == "mine");
    CHECK((set.passes->sort_and_check == &sort_and_check));
}
