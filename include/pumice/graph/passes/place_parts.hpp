// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Parts of concatenations that need no copy: their kernels write them where they belong.
#pragma once

#include <pumice/base/key_map.hpp>
#include <pumice/graph/passes/fuse.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// A node that is computed where it is wanted: in the memory of a concatenation.
struct placed_part {
    graph_node* whole;
    std::int64_t offset;  // in elements
};
using part_map = key_map<graph_node*, placed_part>;

/// The parts of concatenations that kernels can write where they belong: those that one kernel
/// computes for nobody else, and that lie in one piece there.
inline part_map find_parts(const array_list<kernel_group>& groups, const op_graph& graph) {
    // Of each node: a kernel stores it through its epilogue, and nobody else holds it; how often it
    // is read, a view while somebody reads the view.
    array_list<char> computed(graph.size(), 0);
    array_list<int> reads(graph.size(), 0);
    for (const kernel_group& g : groups)
        if (g.anchor && fuser::has_epilogue(*g.anchor))
            for (const graph_node* n : g.outputs) computed[n->number] = !n->kept;
    const array_list<graph_node*>& order = graph.order();
    for (auto n = order.rbegin(); n != order.rend(); ++n)
        if (!is_view(**n) || reads[(*n)->number] > 0)
            for (const graph_node* input : (*n)->inputs) ++reads[input->number];
    part_map parts;
    for (graph_node* whole : order) {
        const auto* concat = whole->op().get_if<concat_op>();
        if (!concat) continue;
        std::int64_t rows = 1, offset = 0;
        for (int d = 0; d < concat->axis; ++d) rows *= whole->extent()[d];
        for (graph_node* n : whole->inputs) {
            if (rows == 1 && computed[n->number] && n->what->count() > 0 && n->what->row_major() &&
                whole->what->row_major() && reads[n->number] == 1)
                parts[n] = {whole, offset};
            offset += n->what->count();
        }
    }
    return parts;
}

}}  // namespace pumice::PUMICE_ABI
