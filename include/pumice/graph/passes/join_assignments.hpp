// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Assignments to parts of a value, one after the other, as one: it is copied once, or written where
// it lies.
#pragma once

#include <pumice/graph/op_graph.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// The indices along an axis that a view shows some of: from the least to the greatest.
struct shown_range {
    std::int64_t least, greatest;
    shown_range(const view_op& v, const shape& extent, int axis)
        : least(v.start[axis]), greatest(v.start[axis]) {
        for (int d = 0; d < extent.rank(); ++d) {
            if (v.source[d] != axis) continue;
            const std::int64_t span = v.step[d] * (extent[d] - 1);
            (span < 0 ? least : greatest) += span;
        }
    }
};
/// Whether two views of one value show no element both, as their ranges tell.
inline bool are_apart(const view_op& a, const shape& of_a, const view_op& b, const shape& of_b) {
    for (int axis = 0; axis < a.start.rank(); ++axis) {
        const shown_range x(a, of_a, axis), y(b, of_b, axis);
        if (x.greatest < y.least || y.greatest < x.least) return true;
    }
    return false;
}

}  // namespace detail

/// An assignment over one that nothing else reads takes its parts over. What is read of that for
/// the new values alone, and is none of what it assigns, is read of the value before: x[1] += y
/// behind x[0] += y.
inline void join_assignments(op_graph& graph) {
    constexpr std::size_t most = 256;  // parts of one
    const auto is_assignment = [](const graph_node& n) {
        return !n.is_given() && n.op().is<assign_op>();
    };
    if (std::none_of(graph.order().begin(), graph.order().end(), [&](const graph_node* n) {
            return is_assignment(*n) && is_assignment(*n->inputs[0]);
        }))
        return;
    const array_list<array_list<graph_node*>> readers = graph.readers();
    const auto only_reader = [&](const graph_node& n) {
        return n.kept || readers[n.number].size() != 1 ? nullptr : readers[n.number][0];
    };
    for (graph_node* const n : graph.order()) {
        if (!is_assignment(*n)) continue;
        graph_node& before = *n->inputs[0];
        if (before.kept || !is_assignment(before)) continue;
        const assign_op &own = *n->op().get_if<assign_op>(),
                        &first = *before.op().get_if<assign_op>();
        if (!own.parts.empty() || first.parts.size() + 2 > most) continue;
        graph_node* const base = before.inputs[0];
        const auto serves = [&](graph_node* reader) {
            if (reader == n) return true;
            const auto* const v = reader->op().get_if<view_op>();
            if (!v || (!base->is_given() && is_view(*base))) return false;
            graph_node* to = only_reader(*reader);
            while (to && to != n && (to->op().is<elementwise_op>() || is_view(*to)))
                to = only_reader(*to);
            if (to != n) return false;
            bool apart = detail::are_apart(*v, reader->extent(), first.part, first.extent);
            for (std::size_t i = 0; apart && i < first.parts.size(); ++i)
                apart = detail::are_apart(*v, reader->extent(), first.parts[i], first.extents[i]);
            return apart;
        };
        const array_list<graph_node*>& read_by = readers[before.number];
        if (std::count(read_by.begin(), read_by.end(), n) != 1 ||
            !std::all_of(read_by.begin(), read_by.end(), serves))
            continue;
        for (graph_node* const reader : read_by)
            if (reader != n) graph.change(*reader, *reader->op().get_if<view_op>(), {base});
        assign_op joined = first;
        joined.parts.push_back(own.part);
        joined.extents.push_back(own.extent);
        array_list<graph_node*> inputs = before.inputs;
        inputs.push_back(n->inputs[1]);
        graph.change(*n, std::move(joined), std::move(inputs));
    }
    graph.sort("join_assignments");
}

}}  // namespace pumice::PUMICE_ABI
