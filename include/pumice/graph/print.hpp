// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A lazy graph as text: Graphviz DOT with the fused kernels as clusters.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/key_map.hpp>
#include <pumice/graph/any_tensor.hpp>
#include <pumice/graph/passes/fuse.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// A node's op in one word or a few: "matmul", "sum", "multiply, add".
inline std::string describe(const node& n) {
    struct names {
        std::string operator()(const source_op&) const { return "data"; }
        std::string operator()(const other_op& o) const { return o.family.describe(o.op); }
        std::string operator()(const elementwise_op& op) const {
            std::string text;
            if (!op.body) return "elementwise";
            for (const instruction& i : op.body->code)
                if (i.op || i.what == instruction::code::cast)
                    append_text(text, {(text.empty() ? "" : ", "), i.op ? i.op->name : "astype"});
            return text.empty() ? "fill" : text;
        }
        std::string operator()(const view_op&) const { return "view"; }
        std::string operator()(const reshape_op&) const { return "reshape"; }
        std::string operator()(const copy_op&) const { return "copy"; }
        std::string operator()(const reduce_op& op) const {
            if (op.by) return cat({"reduce by ", op.by->name});
            return std::string(to_string(op.what));
        }
        std::string operator()(const normalize_op& op) const {
            return std::string(to_string(op.what));
        }
        std::string operator()(const scan_op& op) const {
            return cat({"cumulative_", to_string(op.what)});
        }
        std::string operator()(const matmul_op&) const { return "matmul"; }
        std::string operator()(const conv_op&) const { return "conv"; }
        std::string operator()(const pool_op& op) const {
            return op.what == pooling::max ? "max_pool" : "average_pool";
        }
        std::string operator()(const concat_op&) const { return "concat"; }
        std::string operator()(const assign_op&) const { return "assign"; }
        std::string operator()(const take_op& op) const {
            constexpr const char* kinds[] = {"take", "take_along_axis", "gather_nd"};
            return kinds[static_cast<int>(op.what)];
        }
        std::string operator()(const sort_op& op) const {
            return op.first < 0 ? "argsort" : "top_k";
        }
        std::string operator()(const scatter_op& op) const {
            return cat({"scatter ", to_string(op.what)});
        }
        std::string operator()(const kernel_op& op) const {
            return op.call ? op.call->what->name : "kernel";
        }
    };
    return n.realised() ? "data" : n.op.visit(names{});
}
/// "node 3 (matmul)", for errors.
inline std::string describe(const graph_node& n) {
    constexpr std::size_t most = 60;
    std::string what = describe(*n.what);
    if (what.size() > most) what.replace(most, std::string::npos, "...");
    return cat({"node ", n.number, " (", what, ")"});
}

namespace detail {
/// A node's op, and its name below where it has one, as DOT quotes text.
inline std::string dot_text(const graph_node& n) {
    std::string text = describe(*n.what);
    const node_label label = n.label();
    if (label) text += "\\n";
    for (const char c : label.name().empty() ? label.origin() : label.name()) {
        if (c == '"' || c == '\\') text += '\\';
        text += c;
    }
    return text;
}
}  // namespace detail

/// Graphviz text of what evaluating `roots` would run: a cluster is one kernel, edges carry type
/// and shape. Nothing runs. Not to be called while another thread evaluates the same tensors.
inline std::string to_dot(span<const any_tensor> roots) {
    array_list<node_ptr> list;
    for (const any_tensor& t : roots) list.push_back(t.get());
    graph_walk walk;
    walk.go(list, false);
    op_graph graph(walk, list);
    const array_list<kernel_group> groups = fuser(graph, true).run();
    key_index number;
    const auto id = [&](const graph_node* n) { return cat({"n", number.insert(n->number)}); };
    std::string text = "digraph pumice {\n  node [shape=box];\n";
    key_set<const graph_node*> grouped;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        append_text(text, {"  subgraph cluster_", g, " {\n    label=\"kernel ", g, "\";\n"});
        for (const graph_node* n : groups[g].members()) {
            if (!grouped.insert(n)) continue;
            append_text(text, {"    ", id(n), " [label=\"", detail::dot_text(*n), "\"];\n"});
        }
        text += "  }\n";
    }
    key_set<const graph_node*> drawn;
    for (const graph_node* n : graph.order()) {
        if (!grouped.contains(n))
            append_text(text,
                        {"  ", id(n), " [label=\"", detail::dot_text(*n), "\", style=dashed];\n"});
        for (const graph_node* input : n->inputs) {
            if (input->is_given() && drawn.insert(input))
                append_text(text, {"  ", id(input), " [label=\"", detail::dot_text(*input),
                                   "\", shape=ellipse];\n"});
            append_text(text,
                        {"  ", id(input), " -> ", id(n), " [label=\"", to_string(input->type()),
                         " ", to_string(input->extent()), "\"];\n"});
        }
    }
    return cat({text, "}\n"});
}
inline std::string to_dot(const any_tensor& root) { return to_dot(span(&root, 1)); }

}}  // namespace pumice::PUMICE_ABI
