// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Scatters without sorted keys, where updates are joined one after the other.
#pragma once

#include <pumice/expr/ops.hpp>
#include <pumice/graph/op_graph.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// Whether a node is `op` of its inputs, in order, and of a number `n` behind them.
inline bool is_op_of(const op_graph& graph, const graph_node& node, const op_info& op,
                     std::int64_t n) {
    const auto* const e = node.is_given() ? nullptr : node.op().get_if<elementwise_op>();
    if (!e || e->body->code.size() != 3) return false;
    const instruction* const code = e->body->code.data();
    return code[0].what == instruction::code::leaf && code[1].what == instruction::code::scalar &&
           code[2].op == &op && code[2].args[0] == 0 &&
           graph.value_of(e->scalars[0]).as<std::int64_t>() == n;
}
/// The indices of which the keys count those below 0 from the end of `rows`; else null.
inline graph_node* counted_from_end(const op_graph& graph, const graph_node& keys,
                                    std::int64_t rows) {
    const auto* const e = keys.is_given() ? nullptr : keys.op().get_if<elementwise_op>();
    if (!e || e->body->code.back().op != &op_info_of<op::where> || keys.inputs.size() != 3)
        return nullptr;
    const graph_node &below = *keys.inputs[0], &moved = *keys.inputs[1];
    graph_node* const index = keys.inputs[2];
    return is_op_of(graph, below, op_info_of<op::less>, 0) &&
                   is_op_of(graph, moved, op_info_of<op::add>, rows) && below.inputs[0] == index &&
                   moved.inputs[0] == index
               ? index
               : nullptr;
}

}  // namespace detail

/// Scatters read the keys that were sorted for them instead, and the updates as they come: three
/// inputs in place of four (scatter_op). For the host, which joins updates in turn.
inline void scatter_in_order(op_graph& graph) {
    for (graph_node* const n : graph.order()) {
        const auto* const op = n->op().get_if<scatter_op>();
        if (!op || n->inputs.size() != 4) continue;
        const graph_node &sorted = *n->inputs[1], &order = *n->inputs[2];
        if (sorted.is_given() || order.is_given()) continue;
        const auto* const sorts = order.op().get_if<sort_op>();
        if (!sorts || sorts->descending || sorts->first >= 0 || order.extent().rank() != 1 ||
            !sorted.op().is<take_op>() || sorted.inputs[1] != n->inputs[2] ||
            !same_memory(*sorted.inputs[0], *order.inputs[0]))
            continue;
        graph_node* keys = order.inputs[0];
        graph_node* const index = detail::counted_from_end(graph, *keys, n->extent()[0]);
        if (index) keys = index;
        graph.change(*n,
                     n->op().changed<scatter_op>([&](scatter_op& next) { next.from_end = index; }),
                     {n->inputs[0], keys, n->inputs[3]});
    }
    graph.sort("scatter_in_order");
}

}}  // namespace pumice::PUMICE_ABI
