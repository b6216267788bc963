// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Equal subtrees once: of products, reductions and the like that compute the same, one is left.
#pragma once

#include <pumice/graph/op_graph.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Numbers the values of a graph, equal ones alike (value numbering; Alpern, Wegman and Zadeck,
/// POPL 1988), and replaces all but the first of those that take a kernel of their own. Elementwise
/// nodes stay: where equal ones share a kernel, its program computes them once, and elsewhere to
/// compute again moves less than to store.
inline void merge_equal(op_graph& graph) {
    array_list<const graph_node*> first(graph.size(), nullptr);  // of equal ones, by number
    const auto first_of = [&](const graph_node* n) {
        return first[n->number] ? first[n->number] : n;
    };
    key_index memory;
    array_list<const graph_node*> shown;  // by the number of their memory
    for (std::size_t i = 0; i < graph.size(); ++i) {
        const graph_node& n = graph[i];
        if (!n.is_given() || !n.what->data) continue;
        const std::size_t number = memory.insert(detail::bits_of_key(n.what->data.get()));
        if (number == shown.size()) shown.push_back(&n);
        else if (same_memory(n, *shown[number])) first[i] = shown[number];
    }
    const auto write = [&](const graph_node& n, graph_key& key) {
        key.clear();
        key.add(static_cast<std::uint64_t>(n.type()));
        key.add_list(n.extent());
        key.add_list(n.layout());
        key.add_op(n.op());
        if (const auto* e = n.op().get_if<elementwise_op>())
            for (const scalar& s : e->scalars) key.add_all(s.type, s.bits);
        for (const graph_node* input : n.inputs) key.add(first_of(input)->number);
    };
    key_index hashes;
    array_list<graph_node*> seen;  // by the number of their hash
    graph_key key, other;
    for (graph_node* const n : graph.order()) {
        const auto* e = n->op().get_if<elementwise_op>();
        // Each call of a user's kernel may count; scalars may differ when the plan runs again.
        if (n->op().results() || (e && !e->scalars.empty() && !graph.scalars_are_fixed())) continue;
        write(*n, key);
        const std::size_t number = hashes.insert(key.hash());
        if (number == seen.size()) {
            seen.push_back(n);
            continue;
        }
        write(*seen[number], other);
        if (key.words() != other.words()) continue;
        first[n->number] = seen[number];
        if (!e && !is_view(*n)) graph.replace(*n, *seen[number]);
    }
}

}}  // namespace pumice::PUMICE_ABI
