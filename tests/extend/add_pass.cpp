// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How to add a pass: a function over the graph, handed to a context with a name.
#include <pumice/front.hpp>
#include <pumice/policy/passes.hpp>

#include <doctest/doctest.h>
#include <algorithm>

namespace pm = pumice;

// code: join_sums
namespace mine {
/// A sum of a sum is one sum over the axes of both: nothing is stored between.
void join_sums(pm::op_graph& graph) {
    for (pm::graph_node* n : graph.order()) {
        const auto* outer = n->op().get_if<pm::reduce_op>();
        const pm::graph_node* from = outer ? n->inputs[0] : nullptr;
        const auto* inner =
            from && !from->is_given() ? from->op().get_if<pm::reduce_op>() : nullptr;
        if (!inner || from->kept || inner->what != pm::reduction::sum || inner->keepdims ||
            outer->what != pm::reduction::sum || outer->keepdims)
            continue;
        pm::reduce_op both{pm::reduction::sum, {}};
        int axis = 0;  // of what the inner sum leaves
        for (int a = 0; a < from->inputs[0]->extent().rank(); ++a)
            if (std::ranges::find(inner->axes, a) != inner->axes.end() ||
                std::ranges::find(outer->axes, axis++) != outer->axes.end())
                both.axes.push_back(a);
        graph.change(*n, std::move(both), {from->inputs[0]});
    }
}
}  // namespace mine
// end

TEST_CASE("extend: a pass of one's own makes one kernel of two") {
    const pm::context usual, home(pm::graph_pass{"join_sums", mine::join_sums});
    for (const pm::context* c : {&usual, &home}) {
        const pm::tensor<float, pm::dims<3>> x = pm::ones<float>({2, 3, 4}, *c);
        const std::uint64_t before = c->stats().dispatches;
        const pm::vector<float> y = pm::sum(pm::sum(x, pm::axis<1>), pm::axis<1>);
        CHECK(y.to_vector() == std::vector<float>(2, 12));
        CHECK(c->stats().dispatches - before == (c == &home ? 1 : 2));
        const pm::matrix<float> inner = pm::sum(x, pm::axis<1>);
        pm::eval(inner);  // a sum that is there is data
        CHECK(pm::vector<float>(pm::sum(inner, pm::axis<1>)).to_vector() == y.to_vector());
    }
}
