// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How a pass puts an op of one's own in the place of several: x * sigmoid(x + x) is swish2(x).
#include <pumice/front.hpp>
#include <pumice/policy/passes.hpp>

#include <doctest/doctest.h>
#include <cmath>
#include <string>

namespace pm = pumice;

// code: swish2
namespace mine {
PUMICE_OP(swish2, 1, pumice::rules::floating, "", x* pm_sigmoid(x + x));

/// Whether a node is to be computed, and by this op of all its inputs and nothing else.
bool is(const pm::graph_node& n, const pm::op_info& op) {
    const auto* e = n.is_given() ? nullptr : n.op().get_if<pm::elementwise_op>();
    return e && e->body->code.size() == n.inputs.size() + 1 && e->body->code.back().op == &op;
}
/// The same op of leaves, one for each operand.
pm::elementwise_op call(const pm::op_info& op, pm::dtype type) {
    pm::program p;
    pm::instruction apply{pm::instruction::code::apply, type};
    apply.op = &op;
    for (std::uint16_t k = 0; k < op.arity; ++k)
        apply.args[k] = p.push({pm::instruction::code::leaf, type, k});
    p.outputs.push_back(p.push(apply));
    return {std::make_shared<const pm::program>(std::move(p)), {}, {}};
}

void to_swish2(pm::op_graph& graph) {
    for (pm::graph_node* n : graph.order()) {
        if (!is(*n, pm::op_info_of<pm::op::multiply>)) continue;
        pm::graph_node &x = *n->inputs[0], &gate = *n->inputs[1];
        if (!is(gate, pm::op_info_of<pm::op::sigmoid>)) continue;
        const pm::graph_node& twice = *gate.inputs[0];
        if (!is(twice, pm::op_info_of<pm::op::add>)) continue;
        if (twice.inputs[0] != &x || twice.inputs[1] != &x) continue;
        graph.change(*n, call(pm::op_info_of<mine::op::swish2>, n->type()), {&x});
    }
}
}  // namespace mine
// end

TEST_CASE("extend: a pass puts an op of one's own in the place of three nodes") {
    const pm::context usual, home(pm::graph_pass{"to_swish2", mine::to_swish2});
    for (const pm::context* c : {&usual, &home}) {
        pm::any_tensor x = pm::linspace<float>(-2, 2, 5000, *c);
        pm::eval(x);
        const pm::any_tensor y = x * pm::sigmoid(x + x);
        const std::string text = pm::explain(y);
        CHECK((text.find("swish2") != std::string::npos) == (c == &home));
        const std::vector<float> got = pm::to_vector<float>(y), from = pm::to_vector<float>(x);
        int wrong = 0;
        for (std::size_t i = 0; i < got.size(); ++i)
            wrong += std::abs(got[i] - from[i] / (1 + std::exp(-2 * from[i]))) > 1e-5f;
        CHECK(wrong == 0);
    }
}
