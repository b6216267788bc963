// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Copies of lazy nodes and of what they are made of, whose leaves are something else: how a graph
// is run with other inputs, or elsewhere. The nodes that were there stay as they are.
#pragma once

#include <pumice/base/callback.hpp>
#include <pumice/base/key_map.hpp>
#include <pumice/graph/control.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

/// Copies of nodes, each once.
class graph_copy {
public:
    /// What stands for a node: null where that is copied.
    using leaf = callback<node_ptr(const node_ptr&)>;
    struct pair {
        node_ptr from, copy;
    };

    /// In the context of the nodes, or in another.
    explicit graph_copy(std::shared_ptr<engine> home = nullptr) : home_(std::move(home)) {}

    void stands_for(const node_ptr& from, node_ptr with) {
        seen_.push_back(from);
        copies_[from.get()] = std::move(with);
    }
    /// The copy of a node, or what stands for it. Each node has one.
    node_ptr of(const node_ptr& root, const leaf& stands);
    /// The same, where what is realised stands for itself.
    node_ptr of(const node_ptr& root) {
        return of(root, [](const node_ptr& n) { return n->realised() ? n : nullptr; });
    }
    /// The copies that were made, inputs before users.
    array_list<pair> made;

private:
    operation op_of(const node& n, std::shared_ptr<kernel_results>& group);

    std::shared_ptr<engine> home_;
    key_map<const node*, node_ptr> copies_;
    key_map<const kernel_results*, std::shared_ptr<kernel_results>> groups_;
    array_list<node_ptr> seen_;  // whose addresses are keys
};

/// A graph of its own: a copy of what some nodes are made of, as far as it was made in a scope. The
/// rest is captured: those values become inputs. The nodes that were there stay as they are.
class closed_graph {
public:
    /// Pre: the inputs and keys are realised, without memory, and of the scope. `repeats`: what a
    /// kernel of its own computes of neither is captured too, and so computed once for many runs.
    closed_graph(std::uint64_t scope, array_list<node_ptr> inputs, array_list<node_ptr> keys,
                 const char* place, bool repeats);
    /// Adds an output. Throws errc::invalid_argument for what was made of the inputs of another
    /// function that is traced.
    void add(const node_ptr& n);

    traced_graph graph;
    array_list<node_ptr> captured;  // behind the last inputs of the graph, in order

private:
    node_ptr captured_as(const node_ptr& n);
    bool is_fixed(const node& n);

    std::uint64_t scope_;
    const char* place_;
    bool repeats_;
    graph_copy copy_;
    key_map<const node*, bool> fixed_;  // of what is made of no input and no key
    key_set<const node*> listed_;
};

#ifndef PUMICE_COMPILED

PUMICE_INLINE node_ptr graph_copy::of(const node_ptr& root, const leaf& stands) {
    struct frame {
        node_ptr n;
        std::size_t next;
    };
    array_list<frame> stack;
    const auto enter = [&](const node_ptr& n) {
        if (copies_.find(n.get())) return;
        if (node_ptr other = stands(n)) stands_for(n, std::move(other));
        else stack.push_back({n, 0});
    };
    enter(root);
    while (!stack.empty()) {
        frame& top = stack.back();
        if (top.next < top.n->inputs.size()) {
            const node_ptr input = top.n->inputs[top.next++];
            enter(input);
            continue;
        }
        const node_ptr n = std::move(top.n);
        stack.pop_back();
        if (copies_.find(n.get())) continue;
        array_list<node_ptr> inputs;
        for (const node_ptr& input : n->inputs) inputs.push_back(*copies_.find(input.get()));
        std::shared_ptr<kernel_results> group;
        operation op = op_of(*n, group);
        node_ptr copy = link_node(n->type, n->extent, std::move(op), std::move(inputs));
        copy->owner = home_ ? home_ : n->owner;
        copy->lay_out(n->layout());
        copy->label.set(n->label.get());
        if (group) group->push_back(copy);
        made.push_back({n, copy});
        stands_for(n, std::move(copy));
    }
    return *copies_.find(root.get());
}

/// The node's op, for a copy of it. `group` are the results beside it, where it is one of several.
PUMICE_INLINE operation graph_copy::op_of(const node& n, std::shared_ptr<kernel_results>& group) {
    if (const kernel_results* const beside = n.op.results()) {
        std::shared_ptr<kernel_results>& own = groups_[beside];
        if (!own) own = std::make_shared<kernel_results>();
        group = own;
        const auto join = [&](auto& op) { op.results = own; };
        if (n.op.is<kernel_op>()) return n.op.changed<kernel_op>(join);
        if (n.op.is<control_op>()) return n.op.changed<control_op>(join);
    }
    return n.op.share();
}

PUMICE_INLINE closed_graph::closed_graph(std::uint64_t scope, array_list<node_ptr> inputs,
                                         array_list<node_ptr> keys, const char* place, bool repeats)
    : scope_(scope), place_(place), repeats_(repeats) {
    for (const auto* list : {&inputs, &keys})
        for (const node_ptr& n : *list) {
            copy_.stands_for(n, n);
            fixed_[n.get()] = false;
        }
    graph.inputs = std::move(inputs);
    graph.keys = std::move(keys);
}

PUMICE_INLINE void closed_graph::add(const node_ptr& n) {
    node_ptr made = copy_.of(n, [this](const node_ptr& of) { return captured_as(of); });
    // Each output is computed into memory of its own.
    if (made->realised() || is_view(*made) || !listed_.insert(made.get())) {
        node_ptr own =
            make_node(made->type, made->extent, copy_op{row_major_strides(made->extent)}, {made});
        made = std::move(own);
        listed_.insert(made.get());
    }
    graph.outputs.push_back(std::move(made));
}

/// The input that stands for what is not computed in the graph; null for what is.
PUMICE_INLINE node_ptr closed_graph::captured_as(const node_ptr& n) {
    const bool made_here = n->scope >= scope_;
    if (made_here && !n->realised()) {
        const bool has_kernel = !is_view(*n) && !n->op.is<elementwise_op>();
        if (!repeats_ || !has_kernel || !is_fixed(*n)) return nullptr;
    } else if (made_here && !n->data) {
        fail(errc::invalid_argument, place_,
             {"the function uses an argument of another one, which is traced no more; hand the "
              "value over as a carried value or an operand"});
    }
    captured.push_back(n);
    graph.inputs.push_back(make_data(n->type, n->extent, nullptr, n->owner));
    graph.inputs.back()->label.set(n->label.get());
    return graph.inputs.back();
}

namespace detail {
inline bool draws_numbers(const traced_graph& g);
/// Whether a loop or branch draws random numbers anew in each of its runs.
inline bool draws_numbers(const node& n) {
    const auto* const control = n.op.get_if<control_op>();
    return control && std::any_of(control->call->parts.begin(), control->call->parts.end(),
                                  [](const auto& part) { return draws_numbers(part.graph); });
}
inline bool draws_numbers(const traced_graph& g) {
    if (!g.keys.empty()) return true;
    key_set<const node*> seen;
    array_list<const node*> stack;
    for (const node_ptr& n : g.outputs) stack.push_back(n.get());
    while (!stack.empty()) {
        const node& n = *stack.back();
        stack.pop_back();
        if (!seen.insert(&n)) continue;
        if (draws_numbers(n)) return true;
        for (const node_ptr& input : n.inputs) stack.push_back(input.get());
    }
    return false;
}
}  // namespace detail

/// Whether a node is the same in each run of the graph.
PUMICE_INLINE bool closed_graph::is_fixed(const node& n) {
    array_list<const node*> stack;
    stack.push_back(&n);
    while (!stack.empty()) {
        const node& top = *stack.back();
        const bool lazy = top.scope >= scope_ && !top.realised();
        bool fixed = top.scope < scope_ || lazy || top.data;
        const std::size_t before = stack.size();
        if (lazy && !fixed_.find(&top))
            for (const node_ptr& input : top.inputs) {
                const bool* const known = fixed_.find(input.get());
                if (!known) stack.push_back(input.get());
                else fixed = fixed && *known;
            }
        if (stack.size() > before) continue;
        stack.pop_back();
        if (!fixed_.find(&top)) fixed_[&top] = fixed && !(lazy && detail::draws_numbers(top));
    }
    return *fixed_.find(&n);
}

#endif

}}  // namespace pumice::PUMICE_ABI
