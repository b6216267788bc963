// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What an op's way to steps of a plan is written with.
#pragma once

#include <pumice/exec/plan/plan_builder.hpp>
#include <pumice/exec/problem_kind.hpp>
#include <pumice/graph/passes/flatten.hpp>
#include <pumice/graph/passes/place_parts.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

/// A fused group on its way to steps: its anchor is the node whose op has a kernel, with what is
/// fused before and behind it. An op's `lower` describes a problem with these functions and adds
/// it; it returns false where a program passes the bounds of one kernel, and the group is cut.
class lowering {
public:
    lowering(const kernel_group& g, const part_map& parts) : group_(g), parts_(parts) {
        for (graph_node* n : g.inlined) members_.insert(n);
        for (graph_node* n : g.outputs) members_.insert(n);
    }

    /// False where a program passes the bounds of one kernel (see flattener::fits).
    bool run(plan_builder& out) {
        if (!group_.anchor) {
            buffer_list buffers{&out.scalars};
            const auto held = fresh<elementwise_problem>();
            elementwise_problem& p = *held;
            p.domain = group_.outputs[0]->extent();
            if (!epilogue(buffers, affine::identity(p.domain.rank()), p.body)) return false;
            return add(out, held, buffers);
        }
        return group_.anchor->op().lower(*this, out);
    }

    /// Of the anchor. Pre: there is one.
    graph_node* input(std::size_t i) const { return anchor().inputs[i]; }
    const shape& extent() const { return anchor().extent(); }
    dtype type() const { return anchor().type(); }
    graph_node& anchor() const { return *group_.anchor; }
    const array_list<graph_node*>& outputs() const { return group_.outputs; }
    bool is_placed(graph_node* part) const { return parts_.contains(part); }

    /// The program that writes the group's outputs, over coordinates that `at_anchor` maps to the
    /// extent of the anchor, or of the outputs where there is none. It is given what the kernel
    /// makes of the anchor.
    bool epilogue(buffer_list& buffers, const affine& at_anchor, fused& f) const {
        flattener flat = make(buffers, group_.anchor ? &at_anchor : nullptr);
        const shape& to = group_.outputs[0]->extent();
        const affine at =
            group_.anchor && extent() != to ? at_anchor.but_for_unit_axes(extent(), to) : at_anchor;
        for (graph_node* n : group_.outputs) {
            if (n == group_.anchor) flat.output_given(n->type());
            else flat.output(n, at);
        }
        if (!flat.fits()) return false;
        f = flat.finish();
        for (graph_node* n : group_.outputs) {
            const placed_part* const part = parts_.find(n);
            const placed_part in = part ? *part : placed_part{n, 0, false};
            operand o{buffers.number_of(in.whole), n->type(), in.offset, {}};
            at.locate(n->layout(), o);
            f.outputs.push_back(o);
        }
        return true;
    }
    /// The program that reads `n`, an input, over coordinates that `at` maps to its extent.
    bool prologue(buffer_list& buffers, graph_node* n, const affine& at, fused& f) const {
        flattener flat = make(buffers);
        flat.output(n, at);
        if (!flat.fits()) return false;
        f = flat.finish();
        return true;
    }
    /// A node that is stored, or a view of one: its program reads a single operand.
    fused stored(buffer_list& buffers, graph_node* n) const {
        flattener flat(buffers);
        flat.output(n, affine::identity(n->extent().rank()));
        return flat.finish();
    }
    operand memory(buffer_list& buffers, graph_node* n) const {
        return stored(buffers, n).leaves[0];
    }
    /// The anchor's own memory, over its extent; of a group that has no epilogue.
    operand result(buffer_list& buffers) const {
        const placed_part* const part = parts_.find(&anchor());
        return {buffers.number_of(part ? part->whole : &anchor()), type(), 0, anchor().layout()};
    }

    /// Adds a step. `buffers` has what its operands name.
    bool add(plan_builder& out, problem p, buffer_list& buffers) const {
        plan_step s{std::move(p)};
        for (graph_node* n : buffers.nodes) s.buffers.push_back(out.value_of(n));
        for (graph_node* n : group_.outputs) {
            const placed_part* const part = parts_.find(n);
            s.outputs.push_back(out.value_of(part ? part->whole : n));
        }
        if (!out.order.empty()) s.origin = origin(out.order);
        out.made.steps.push_back(std::move(s));
        return true;
    }
    /// make_shared would compile a control block of its own for every kind of problem.
    template <class Problem>
    static std::shared_ptr<Problem> fresh() {
        return std::shared_ptr<Problem>(new Problem);
    }

    /// Adds a step that copies the first input to the anchor, unless it is computed there.
    bool copy_whole(plan_builder& out) const {
        if (parts_.contains(&behind_reshapes(*input(0)))) return true;
        const affine same = affine::identity(extent().rank());
        return write_into(input(0), extent(), same, same, out);
    }
    /// Adds one that writes `from`, at the indices `at`, to those of the anchor that `to` gives.
    bool write_into(graph_node* from, const shape& domain, const affine& at, const affine& to,
                    plan_builder& out) const {
        buffer_list buffers{&out.scalars};
        const auto held = fresh<elementwise_problem>();
        elementwise_problem& p = *held;
        p.domain = domain;
        if (!prologue(buffers, from, at, p.body)) return false;
        operand o = result(buffers);
        o.steps = {};
        to.locate(anchor().layout(), o);
        p.body.outputs.push_back(o);
        return add(out, held, buffers);
    }

private:
    /// Labels of the members, and of the views that they read through, in the graph's order.
    array_list<node_label> origin(const array_list<std::uint32_t>& order) const {
        array_list<const graph_node*> nodes;
        key_set<const graph_node*> known;
        const auto take = [&](const graph_node* n) {
            if (known.insert(n) && n->label()) nodes.push_back(n);
        };
        for (const graph_node* n : group_.members()) {
            take(n);
            for (const graph_node* input : n->inputs)
                for (; !input->is_given() && is_view(*input); input = input->inputs[0]) take(input);
        }
        const auto earlier = [&](const graph_node* a, const graph_node* b) {
            return order[a->number] < order[b->number];
        };
        std::make_heap(nodes.begin(), nodes.end(), earlier);
        std::sort_heap(nodes.begin(), nodes.end(), earlier);
        array_list<node_label> list;
        key_set<std::uint64_t> makers;
        for (const graph_node* n : nodes) {
            node_label l = n->label();
            if (makers.insert(hash_of(l.maker()))) list.push_back(std::move(l));
        }
        return list;
    }
    flattener make(buffer_list& buffers, const affine* given_at = nullptr) const {
        return flattener(buffers, &members_, given_at ? group_.anchor : nullptr,
                         given_at ? *given_at : affine{});
    }

    const kernel_group& group_;
    const part_map& parts_;
    key_set<const graph_node*> members_;
};

}}  // namespace pumice::PUMICE_ABI
