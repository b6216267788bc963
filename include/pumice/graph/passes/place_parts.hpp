// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What needs no copy: parts of concatenations, and what is then written to in part. Their kernels
// write them where they belong.
#pragma once

#include <pumice/base/key_map.hpp>
#include <pumice/graph/passes/fuse.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// A node that is computed where it is wanted: in the memory of a concatenation, or of what is
/// written over some of it.
struct placed_part {
    graph_node* whole;
    std::int64_t offset;  // in elements
    bool written_over;    // then it is nobody's value
};
using part_map = key_map<graph_node*, placed_part>;

/// What a node reads all elements of, in row-major order: `n`, or what it is a reshape of.
inline graph_node& behind_reshapes(graph_node& n) noexcept {
    graph_node* base = &n;
    while (!base->is_given() && base->op().is<reshape_op>()) base = base->inputs[0];
    return *base;
}

/// The parts of concatenations, and the values that assignments and scatters write to, which
/// kernels can write where they belong: those that one kernel computes for nobody else, and that
/// lie in one piece there.
inline part_map find_parts(const array_list<kernel_group>& groups, const op_graph& graph) {
    // Of each node: a kernel stores it through its epilogue, and nobody else holds it; how often it
    // is read, a view where somebody reads or holds the view.
    array_list<char> computed(graph.size(), 0), assigned(graph.size(), 0);
    array_list<int> reads(graph.size(), 0);
    const auto writes_parts = [](const graph_node& n) {
        return n.op().is<assign_op>() || n.op().is<scatter_op>();
    };
    for (const kernel_group& g : groups)
        if (g.anchor && fuser::has_epilogue(*g.anchor))
            for (const graph_node* n : g.outputs) computed[n->number] = !n->kept;
        else if (g.anchor && writes_parts(*g.anchor)) assigned[g.anchor->number] = !g.anchor->kept;
    const array_list<graph_node*>& order = graph.order();
    for (auto n = order.rbegin(); n != order.rend(); ++n)
        if (!is_view(**n) || (*n)->kept || reads[(*n)->number] > 0)
            for (const graph_node* input : (*n)->inputs) ++reads[input->number];
    part_map parts;
    array_list<char> scattered(graph.size(), 0);  // of a part: in the same memory
    // Backwards, so that it is known where the memory of a whole is.
    for (auto last = order.rbegin(); last != order.rend(); ++last) {
        graph_node& n = **last;
        if (!writes_parts(n) || !n.what->row_major()) continue;
        graph_node& base = behind_reshapes(*n.inputs[0]);
        const auto is_read_once = [&](const graph_node* from) {
            for (; from != &base; from = from->inputs[0])
                if (reads[from->number] != 1 || from->kept) return false;
            return reads[base.number] == 1;
        };
        // All that writes a value runs at one place: no product goes to the host for a scatter's
        // sake.
        const bool scatters = scattered[n.number] || n.op().is<scatter_op>(),
                   made = assigned[base.number] || (computed[base.number] && !scatters);
        if (base.is_given() || !made || base.what->count() == 0 || !base.what->row_major() ||
            !is_read_once(n.inputs[0]))
            continue;
        const placed_part* const own = parts.find(&n);
        parts[&base] = {own ? own->whole : &n, 0, true};
        scattered[base.number] = scatters;
    }
    for (graph_node* whole : order) {
        const auto* concat = whole->op().get_if<concat_op>();
        if (!concat) continue;
        std::int64_t rows = 1, offset = 0;
        for (int d = 0; d < concat->axis; ++d) rows *= whole->extent()[d];
        for (graph_node* n : whole->inputs) {
            if (rows == 1 && computed[n->number] && n->what->count() > 0 && n->what->row_major() &&
                whole->what->row_major() && reads[n->number] == 1)
                parts[n] = {whole, offset, false};
            offset += n->what->count();
        }
    }
    return parts;
}

}}  // namespace pumice::PUMICE_ABI
