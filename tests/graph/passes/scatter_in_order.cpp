// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Scatters read keys as they come, where the sorted ones are theirs alone.
#include <pumice/graph/gather.hpp>
#include <pumice/graph/passes/scatter_in_order.hpp>

#include "../../support/walked_graph.hpp"
#include "../support.hpp"

#include <doctest/doctest.h>

using namespace pumice;
using namespace pumice_test;

TEST_CASE("scatter in order: neither sorts nor takes") {
    const std::shared_ptr<engine> home = std::make_shared<fake_engine>();
    const any_tensor to = data(home, {8}), at = data(home, {5}, dtype::i64),
                     updates = data(home, {5});
    const any_tensor y = scatter_elements(to, at, updates, 0, scattering::sum);
    walked_graph of({y});
    op_graph& graph = of.graph;
    const auto count = [&](auto family) {
        int n = 0;
        for (const graph_node* each : graph.order()) n += each->op().is<decltype(family)>();
        return n;
    };
    CHECK(count(sort_op{}) == 1);
    CHECK(count(take_op{}) == 1);
    scatter_in_order(graph);
    CHECK(count(sort_op{}) == 0);
    CHECK(count(take_op{}) == 0);
    REQUIRE(count(scatter_op{}) == 1);
    for (const graph_node* n : graph.order())
        if (n->op().is<scatter_op>()) CHECK(n->inputs.size() == 3);
}
