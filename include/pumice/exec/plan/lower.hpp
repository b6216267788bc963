// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// From fused groups of nodes to the steps of a plan.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/key_map.hpp>
#include <pumice/exec/plan/plan_builder.hpp>
#include <pumice/exec/problem_kind.hpp>
#include <pumice/graph/passes/flatten.hpp>
#include <pumice/graph/passes/place_parts.hpp>
#include <pumice/kernels/problem.hpp>

#include <algorithm>
#include <utility>

namespace pumice { inline namespace PUMICE_ABI {

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
            if (!body(buffers, affine::identity(p.domain.rank()), p.body)) return false;
            return add(out, held, buffers);
        }
        return group_.anchor->op().lower(*this, out);
    }

private:
    template <class Op>
    friend bool lower_op(const lowering& group, const Op& op, plan_builder& out);

    flattener make(buffer_list& buffers, const affine* given_at = nullptr) const {
        return flattener(buffers, &members_, given_at ? group_.anchor : nullptr,
                         given_at ? *given_at : affine{});
    }

    /// The program that writes the group's outputs, over coordinates that `at` maps to their
    /// extent.
    bool body(buffer_list& buffers, const affine& at, fused& f) const {
        flattener flat = make(buffers, group_.anchor ? &at : nullptr);
        for (graph_node* n : group_.outputs) {
            if (n == group_.anchor) flat.output_given(n->type());
            else flat.output(n, at);
        }
        if (!flat.fits()) return false;
        f = flat.finish();
        for (graph_node* n : group_.outputs) {
            const placed_part* const part = parts_.find(n);
            const placed_part to = part ? *part : placed_part{n, 0};
            operand o{buffers.number_of(to.whole), n->type(), to.offset, {}};
            at.locate(n->layout(), o);
            f.outputs.push_back(o);
        }
        return true;
    }
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
    void memory(buffer_list& buffers, graph_node* n, operand& o) const {
        o = stored(buffers, n).leaves[0];
    }

    bool add(plan_builder& out, problem p, buffer_list& buffers) const {
        plan_step s{std::move(p)};
        for (graph_node* n : buffers.nodes) s.buffers.push_back(out.value_of(n));
        for (graph_node* n : group_.outputs) {
            const placed_part* const part = parts_.find(n);
            s.outputs.push_back(out.value_of(part ? part->whole : n));
        }
        out.made.steps.push_back(std::move(s));
        return true;
    }
    /// make_shared would compile a control block of its own for every kind of problem.
    template <class Problem>
    static std::shared_ptr<Problem> fresh() {
        return std::shared_ptr<Problem>(new Problem);
    }
    graph_node* input(std::size_t i) const { return group_.anchor->inputs[i]; }
    const shape& extent() const { return group_.anchor->extent(); }

    bool lower(const reduce_op& op, plan_builder& out) const {
        buffer_list buffers{&out.scalars};
        const auto held = fresh<reduce_problem>();
        reduce_problem& p = *held;
        p.what = op.what;
        p.by = op.by;
        p.result = group_.anchor->type();
        index_list order, inner;
        affine at;  // coordinates of the kept axes -> index of the result
        const shape& from = input(0)->extent();
        for (int i = 0; i < from.rank(); ++i) {
            const bool reduced = std::binary_search(op.axes.begin(), op.axes.end(), i);
            if (reduced) {
                inner.push_back(i);
                at.axes += op.keepdims;
            } else {
                at.step[at.axes++][order.rank()] = 1;
                p.outer.push_back(from[i]);
                order.push_back(i);
            }
        }
        at.coordinates = order.rank();
        for (std::int64_t i : inner) {
            order.push_back(i);
            p.inner.push_back(from[static_cast<int>(i)]);
        }
        return prologue(buffers, input(0), affine::picking(order), p.prologue) &&
               body(buffers, at, p.epilogue) && add(out, held, buffers);
    }

    bool lower(const normalize_op& op, plan_builder& out) const {
        buffer_list buffers{&out.scalars};
        const auto held = fresh<normalize_problem>();
        normalize_problem& p = *held;
        p.what = op.what;
        p.epsilon = op.epsilon;
        index_list order;
        for (int i = 0; i < extent().rank(); ++i) {
            if (std::binary_search(op.axes.begin(), op.axes.end(), i)) continue;
            order.push_back(i);
            p.outer.push_back(extent()[i]);
        }
        for (const int i : op.axes) {
            order.push_back(i);
            p.inner.push_back(extent()[i]);
        }
        const affine at = affine::picking(order);
        return prologue(buffers, input(0), at, p.prologue) && body(buffers, at, p.epilogue) &&
               add(out, held, buffers);
    }

    bool lower(const scan_op& op, plan_builder& out) const {
        buffer_list buffers{&out.scalars};
        const auto held = fresh<scan_problem>();
        scan_problem& p = *held;
        p.what = op.what;
        p.length = input(0)->extent()[op.axis];
        p.count = extent()[op.axis];
        p.lead = op.leads ? 1 : 0;
        index_list order;
        for (int i = 0; i < extent().rank(); ++i) {
            if (i == op.axis) continue;
            order.push_back(i);
            p.outer.push_back(extent()[i]);
        }
        order.push_back(op.axis);
        const auto along = [&](std::int64_t length) {
            affine at = affine::picking(order);
            if (op.reverse) {
                at.start[op.axis] = length - 1;
                at.step[op.axis][order.rank() - 1] = -1;
            }
            return at;
        };
        return prologue(buffers, input(0), along(p.length), p.prologue) &&
               body(buffers, along(p.count), p.epilogue) && add(out, held, buffers);
    }

    bool lower(const matmul_op&, plan_builder& out) const {
        buffer_list buffers{&out.scalars};
        const auto held = fresh<matmul_problem>();
        matmul_problem& p = *held;
        const int batch = extent().rank() - 2;
        for (int i = 0; i < batch; ++i) p.batch.push_back(extent()[i]);
        p.m = extent()[batch];
        p.n = extent()[batch + 1];
        p.k = input(0)->extent().back();
        p.accumulator = group_.anchor->type() == dtype::f64 ? dtype::f64 : dtype::f32;
        shape a = p.batch, b = p.batch;
        a.push_back(p.m), a.push_back(p.k), b.push_back(p.k), b.push_back(p.n);
        const affine at = affine::identity(batch + 2);
        return prologue(buffers, input(0), at.broadcast_to(a, input(0)->extent()), p.a) &&
               prologue(buffers, input(1), at.broadcast_to(b, input(1)->extent()), p.b) &&
               body(buffers, at, p.epilogue) && add(out, held, buffers);
    }

    bool lower(const conv_op& op, plan_builder& out) const {
        buffer_list buffers{&out.scalars};
        const auto held = fresh<conv_problem>();
        conv_problem& p = *held;
        const shape &x = input(0)->extent(), &w = input(1)->extent();
        p.shape_of = op;
        p.batch = x[0];
        p.in_channels = x[1];
        p.out_channels = w[0];
        for (int i = 0; i < 2; ++i) {
            p.in_size[i] = x[2 + i];
            p.window[i] = w[2 + i];
            p.out_size[i] = extent()[2 + i];
        }
        p.accumulator = group_.anchor->type() == dtype::f64 ? dtype::f64 : dtype::f32;
        const affine at = affine::identity(4);
        return prologue(buffers, input(0), at, p.input) &&
               prologue(buffers, input(1), at, p.weight) && body(buffers, at, p.epilogue) &&
               add(out, held, buffers);
    }

    bool lower(const pool_op& op, plan_builder& out) const {
        buffer_list buffers{&out.scalars};
        const auto held = fresh<pool_problem>();
        pool_problem& p = *held;
        const shape& x = input(0)->extent();
        p.shape_of = op;
        p.batch = x[0];
        p.channels = x[1];
        for (int i = 0; i < 2; ++i) {
            p.in_size[i] = x[2 + i];
            p.out_size[i] = extent()[2 + i];
        }
        const affine at = affine::identity(4);
        return prologue(buffers, input(0), at, p.input) && body(buffers, at, p.epilogue) &&
               add(out, held, buffers);
    }

    bool lower(const copy_op&, plan_builder& out) const { return copy_whole(out); }
    bool lower(const assign_op& op, plan_builder& out) const {
        const affine part = affine::identity(op.extent.rank());
        return copy_whole(out) &&
               write_into(input(1), op.extent, part.broadcast_to(op.extent, input(1)->extent()),
                          part.through(op.part), out);
    }
    bool lower(const concat_op& op, plan_builder& out) const {
        affine to = affine::identity(extent().rank());
        for (graph_node* part : group_.anchor->inputs) {
            if (!parts_.contains(part) &&
                !write_into(part, part->extent(), affine::identity(to.axes), to, out))
                return false;
            to.start[op.axis] += part->extent()[op.axis];
        }
        return true;
    }
    bool copy_whole(plan_builder& out) const {
        const affine same = affine::identity(extent().rank());
        return write_into(input(0), extent(), same, same, out);
    }
    /// Writes `from`, at the indices `at`, to those of the anchor that `to` gives.
    bool write_into(graph_node* from, const shape& domain, const affine& at, const affine& to,
                    plan_builder& out) const {
        buffer_list buffers{&out.scalars};
        const auto held = fresh<elementwise_problem>();
        elementwise_problem& p = *held;
        p.domain = domain;
        if (!prologue(buffers, from, at, p.body)) return false;
        operand o{buffers.number_of(group_.anchor), from->type(), 0, {}};
        to.locate(group_.anchor->layout(), o);
        p.body.outputs.push_back(o);
        return add(out, held, buffers);
    }

    bool lower(const take_op& op, plan_builder& out) const {
        buffer_list buffers{&out.scalars};
        const auto held = fresh<take_problem>();
        take_problem& p = *held;
        memory(buffers, input(0), p.values);
        memory(buffers, input(1), p.indices);
        p.domain = extent();
        p.output = {buffers.number_of(group_.anchor), group_.anchor->type(), 0,
                    group_.anchor->layout()};
        const strides values = std::exchange(p.values.steps, {}),
                      indices = std::exchange(p.indices.steps, {});
        const shape &from = input(0)->extent(), &by = input(1)->extent();
        // Axes of the result: those before `axis`, those of the indices, those after what they
        // pick.
        const bool tuples = op.what == taking::tuples;
        const int picked = tuples ? static_cast<int>(by.back()) : 1,
                  index_rank = op.what == taking::slices ? by.rank()
                               : tuples                  ? by.rank() - 1
                                                         : 0,
                  shared = tuples ? op.axis : 0;  // axes that both have, in front
        for (int k = 0; k < picked; ++k) {
            p.length.push_back(from[op.axis + k]);
            p.step.push_back(values[op.axis + k]);
        }
        if (tuples) p.next = indices[by.rank() - 1];
        if (op.what == taking::elements) {
            p.values.steps = values;
            p.values.steps[op.axis] = 0;
            p.indices.steps = indices;
            return add(out, held, buffers);
        }
        for (int d = 0; d < op.axis; ++d) {
            p.values.steps.push_back(values[d]);
            p.indices.steps.push_back(d < shared ? indices[d] : 0);
        }
        for (int d = shared; d < index_rank; ++d) {
            p.values.steps.push_back(0);
            p.indices.steps.push_back(indices[d]);
        }
        for (int d = op.axis + picked; d < from.rank(); ++d) {
            p.values.steps.push_back(values[d]);
            p.indices.steps.push_back(0);
        }
        return add(out, held, buffers);
    }

    bool lower(const sort_op& op, plan_builder& out) const {
        buffer_list buffers{&out.scalars};
        const auto held = fresh<sort_problem>();
        sort_problem& p = *held;
        p.descending = op.descending;
        p.outer = extent();
        p.outer.erase(op.axis);
        p.length = extent()[op.axis];
        memory(buffers, input(0), p.values);
        p.output = {buffers.number_of(group_.anchor), group_.anchor->type(), 0,
                    group_.anchor->layout()};
        for (operand* o : {&p.values, &p.output}) {
            const std::int64_t along = o->steps[op.axis];
            o->steps.erase(op.axis);
            o->steps.push_back(along);
        }
        return add(out, held, buffers);
    }

    bool lower(const scatter_op& op, plan_builder& out) const {
        if (!copy_whole(out)) return false;
        buffer_list buffers{&out.scalars};
        const auto held = fresh<scatter_problem>();
        scatter_problem& p = *held;
        p.what = op.what;
        p.rows = extent()[0];
        p.width = extent()[1];
        p.count = input(1)->extent()[0];
        memory(buffers, input(1), p.keys);
        memory(buffers, input(2), p.order);
        memory(buffers, input(3), p.updates);
        p.output = {buffers.number_of(group_.anchor), group_.anchor->type(), 0,
                    group_.anchor->layout()};
        p.data = p.output;  // so that data which may be written over is not copied
        return add(out, held, buffers);
    }

    bool lower(const kernel_op& op, plan_builder& out) const {
        buffer_list buffers{&out.scalars};
        const auto held = fresh<custom_kernel_problem>();
        custom_kernel_problem& p = *held;
        p.call = op.call;
        const kernel_options& how = op.call->what->how;
        p.inputs.resize(how.inputs.size());
        for (std::size_t i = 0; i < how.inputs.size(); ++i) {
            if (!how.inputs[i].fused) p.inputs[i] = stored(buffers, input(i));
            else if (!prologue(buffers, input(i), affine::identity(input(i)->extent().rank()),
                               p.inputs[i]))
                return false;
        }
        if (how.outputs[0].fused)
            return body(buffers, affine::identity(extent().rank()), p.epilogue) &&
                   add(out, held, buffers);
        for (const kernel_value& v : op.call->outputs) p.outputs.push_back({-1, v.dtype, 0, {}});
        for (graph_node* n : group_.outputs) {
            operand& o = p.outputs[static_cast<std::size_t>(n->op().get_if<kernel_op>()->output)];
            o.buffer = buffers.number_of(n);
            o.steps = n->layout();
        }
        return add(out, held, buffers);
    }

    template <class Op>
    bool lower(const Op&, plan_builder&) const {
        PUMICE_ASSERT(false && "views and sources are no anchors");
        return true;
    }

    const kernel_group& group_;
    const part_map& parts_;
    key_set<const graph_node*> members_;
};

template <class Op>
bool lower_op(const lowering& group, const Op& op, plan_builder& out) {
    return group.lower(op, out);
}

/// Adds all groups as steps in order. A group whose program is too long for one kernel is cut: its
/// nodes are computed one by one.
inline void lower(plan_builder& out, const array_list<kernel_group>& groups, const op_graph& graph,
                  const part_map& parts = {}) {
    array_list<plan_step>& steps = out.made.steps;
    array_list<std::size_t> place;  // of each node in the graph's order, once it is asked for
    for (const kernel_group& g : groups) {
        const std::size_t before = steps.size();
        if (lowering(g, parts).run(out)) continue;
        while (steps.size() > before) steps.pop_back();
        if (place.empty()) {
            place.resize(graph.size(), 0);
            for (std::size_t i = 0; i < graph.order().size(); ++i)
                place[graph.order()[i]->number] = i;
        }
        array_list<graph_node*> members = g.members();
        // A heap's sort: std::sort costs the compiler three times as much.
        const auto earlier = [&](const graph_node* a, const graph_node* b) {
            return place[a->number] < place[b->number];
        };
        std::make_heap(members.begin(), members.end(), earlier);
        std::sort_heap(members.begin(), members.end(), earlier);
        members.erase(std::unique(members.begin(), members.end()), members.end());
        for (graph_node* n : members) {
            kernel_group alone;
            if (!n->op().is<elementwise_op>()) alone.anchor = n;
            alone.outputs.push_back(n);
            if (!lowering(alone, parts).run(out))
                fail(errc::unsupported, "fuse",
                     {"one op has more operands than a kernel takes (16)"});
        }
    }
}

}}  // namespace pumice::PUMICE_ABI
