// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Branches and loops in the graph: one op whose work is graphs of its own, and how such a graph is
// cut out of what a function made while it was traced.
#pragma once

#include <pumice/base/key_map.hpp>
#include <pumice/graph/build.hpp>
#include <pumice/graph/custom_kernel.hpp>

namespace pumice { inline namespace PUMICE_ABI {

enum class deciding : std::uint8_t {
    branch,  // which of its graphs is run
    loop     // how often its graph is run
};
constexpr std::string_view to_string(deciding d) noexcept {
    return d == deciding::branch ? "branch" : "loop";
}

/// What one call of `cond`, `while_loop`, `fori_loop` or `scan` shares with all of its results.
struct control_call {
    /// A graph, and for each of its inputs which of the call's it is.
    struct part {
        traced_graph graph;
        array_list<int> reads;
    };
    std::string name;  // of the function that the user called
    deciding what = deciding::branch;
    /// Of a branch: what runs where the call's input 0, a bool, is false, and where it is true. All
    /// have the call's results. Of a loop: the body. Its first inputs are the carried values, which
    /// are the call's first inputs and its results, and its outputs what they are in the next step.
    array_list<part> parts;
    int carried = 0;          // of a loop: values
    std::int64_t count = -1;  // of a loop: steps at most; -1: no bound
    /// Of a loop: whether it ends where a bool is false. That is before the first step the call's
    /// input behind the carried values, afterwards output 0 of the body, before the others.
    bool tested = false;
    std::int64_t wanted = -1;  // of a loop: steps that it has to take; -1: any number
    array_list<kernel_value> results;
};

/// One of the results of a call.
struct control_op {
    static constexpr std::string_view name = "control";
    static constexpr fusion_traits fusion{};
    std::shared_ptr<const control_call> call;
    int output = 0;
    std::shared_ptr<const kernel_results> results;
};

// In exec/plan/control.hpp.
template <>
PUMICE_OF_ENGINE bool lower_op<control_op>(const lowering& group, const control_op& op,
                                           plan_builder& out);
template <>
PUMICE_OF_ENGINE const op_functions& functions_of<control_op>();

/// The lazy results of a call over its inputs.
PUMICE_FUNCTION std::vector<any_tensor> make_control(std::shared_ptr<const control_call> call,
                                                     std::span<const any_tensor> inputs,
                                                     const std::shared_ptr<engine>& home);

/// A graph of its own: a copy of what some nodes are made of, as far as it was made in a scope. The
/// rest is captured: those values become inputs. The nodes that were there stay as they are.
class closed_graph {
public:
    /// Pre: the inputs and keys are realised, without memory, and of the scope.
    closed_graph(std::uint64_t scope, array_list<node_ptr> inputs, array_list<node_ptr> keys,
                 const char* place);
    /// Adds an output. Throws errc::invalid_argument for what was made of the inputs of another
    /// function that is traced.
    void add(const node_ptr& n);

    traced_graph graph;
    array_list<node_ptr> captured;  // behind the last inputs of the graph, in order

private:
    const node_ptr* known(const node* n) { return copies_.find(n); }
    bool is_captured(const node_ptr& n);
    void copy(const node_ptr& n);
    operation op_of(const node& n, std::shared_ptr<kernel_results>& group);

    std::uint64_t scope_;
    const char* place_;
    key_map<const node*, node_ptr> copies_;
    key_map<const kernel_results*, std::shared_ptr<kernel_results>> groups_;
    key_set<const node*> listed_;
    array_list<node_ptr> seen_;  // whose addresses are keys
};

#ifndef PUMICE_COMPILED

PUMICE_BODY std::vector<any_tensor> make_control(std::shared_ptr<const control_call> call,
                                                 std::span<const any_tensor> inputs,
                                                 const std::shared_ptr<engine>& home) {
    array_list<node_ptr> read;
    for (const any_tensor& t : inputs) read.push_back(copy(t).get());
    const auto results = std::make_shared<kernel_results>();
    std::vector<any_tensor> list;
    for (std::size_t i = 0; i < call->results.size(); ++i) {
        const kernel_value& v = call->results[i];
        node_ptr n =
            make_node(v.dtype, v.shape, control_op{call, static_cast<int>(i), results}, read);
        n->owner = home;
        results->push_back(n);
        list.emplace_back(std::move(n));
    }
    return list;
}

PUMICE_INLINE closed_graph::closed_graph(std::uint64_t scope, array_list<node_ptr> inputs,
                                         array_list<node_ptr> keys, const char* place)
    : scope_(scope), place_(place) {
    for (const auto* list : {&inputs, &keys})
        for (const node_ptr& n : *list) copies_[n.get()] = n;
    graph.inputs = std::move(inputs);
    graph.keys = std::move(keys);
}

PUMICE_INLINE void closed_graph::add(const node_ptr& n) {
    copy(n);
    node_ptr made = *known(n.get());
    // Each output is computed into memory of its own.
    if (made->realised() || is_view(*made) || !listed_.insert(made.get())) {
        node_ptr own =
            make_node(made->type, made->extent, copy_op{row_major_strides(made->extent)}, {made});
        made = std::move(own);
        listed_.insert(made.get());
    }
    graph.outputs.push_back(std::move(made));
}

/// Adds the copy of what is not computed in the graph.
PUMICE_INLINE bool closed_graph::is_captured(const node_ptr& n) {
    if (n->scope >= scope_ && !n->realised()) return false;
    if (n->scope >= scope_ && !n->data)
        fail(errc::invalid_argument, place_,
             {"the function uses an argument of another one, which is traced no more; hand the "
              "value over as a carried value or an operand"});
    seen_.push_back(n);
    captured.push_back(n);
    graph.inputs.push_back(make_data(n->type, n->extent, nullptr, n->owner));
    graph.inputs.back()->label.set(n->label.get());
    copies_[n.get()] = graph.inputs.back();
    return true;
}

PUMICE_INLINE void closed_graph::copy(const node_ptr& root) {
    struct frame {
        node_ptr n;
        std::size_t next;
    };
    array_list<frame> stack;
    const auto enter = [&](const node_ptr& n) {
        if (!known(n.get()) && !is_captured(n)) stack.push_back({n, 0});
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
        if (known(n.get())) continue;
        array_list<node_ptr> inputs;
        for (const node_ptr& input : n->inputs) inputs.push_back(*known(input.get()));
        std::shared_ptr<kernel_results> group;
        operation op = op_of(*n, group);
        node_ptr made = make_node(n->type, n->extent, std::move(op), std::move(inputs));
        made->owner = n->owner;
        made->lay_out(n->layout());
        made->label.set(n->label.get());
        if (group) group->push_back(made);
        seen_.push_back(n);
        copies_[n.get()] = std::move(made);
    }
}

/// The node's op, for a copy of it. `group` are the results beside it, where it is one of several.
PUMICE_INLINE operation closed_graph::op_of(const node& n, std::shared_ptr<kernel_results>& group) {
    if (const kernel_results* const beside = n.op.results()) {
        std::shared_ptr<kernel_results>& own = groups_[beside];
        if (!own) own = std::make_shared<kernel_results>();
        group = own;
        if (const auto* k = n.op.get_if<kernel_op>()) return kernel_op{k->call, k->output, own};
        if (const auto* c = n.op.get_if<control_op>()) return control_op{c->call, c->output, own};
    }
    return n.op.share();
}

#endif

}}  // namespace pumice::PUMICE_ABI
