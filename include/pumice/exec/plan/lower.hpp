// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// From fused groups of nodes to the steps of a plan.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/key_map.hpp>
#include <pumice/exec/plan/lowering.hpp>

#include <algorithm>
#include <utility>

namespace pumice { inline namespace PUMICE_ABI {

// Of each op the problem that it asks, over the memory that it names. (Templates, so that a file
// without an op instantiates nothing of what solves its problem.)

template <std::same_as<reduce_op> Op>
bool lower(const Op& op, const lowering& group, plan_builder& out) {
    buffer_list buffers{&out.scalars};
    const auto held = lowering::fresh<reduce_problem>();
    reduce_problem& p = *held;
    p.what = op.what;
    p.by = op.by;
    p.result = group.type();
    index_list order, inner;
    affine at;  // coordinates of the kept axes -> index of the result
    const shape& from = group.input(0)->extent();
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
    return group.prologue(buffers, group.input(0), affine::picking(order), p.prologue) &&
           group.epilogue(buffers, at, p.epilogue) && group.add(out, held, buffers);
}

template <std::same_as<normalize_op> Op>
bool lower(const Op& op, const lowering& group, plan_builder& out) {
    buffer_list buffers{&out.scalars};
    const auto held = lowering::fresh<normalize_problem>();
    normalize_problem& p = *held;
    p.what = op.what;
    p.epsilon = op.epsilon;
    index_list order;
    for (int i = 0; i < group.extent().rank(); ++i) {
        if (std::binary_search(op.axes.begin(), op.axes.end(), i)) continue;
        order.push_back(i);
        p.outer.push_back(group.extent()[i]);
    }
    for (const int i : op.axes) {
        order.push_back(i);
        p.inner.push_back(group.extent()[i]);
    }
    const affine at = affine::picking(order);
    return group.prologue(buffers, group.input(0), at, p.prologue) &&
           group.epilogue(buffers, at, p.epilogue) && group.add(out, held, buffers);
}

template <std::same_as<scan_op> Op>
bool lower(const Op& op, const lowering& group, plan_builder& out) {
    buffer_list buffers{&out.scalars};
    const auto held = lowering::fresh<scan_problem>();
    scan_problem& p = *held;
    p.what = op.what;
    p.length = group.input(0)->extent()[op.axis];
    p.count = group.extent()[op.axis];
    p.lead = op.leads ? 1 : 0;
    index_list order;
    for (int i = 0; i < group.extent().rank(); ++i) {
        if (i == op.axis) continue;
        order.push_back(i);
        p.outer.push_back(group.extent()[i]);
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
    return group.prologue(buffers, group.input(0), along(p.length), p.prologue) &&
           group.epilogue(buffers, along(p.count), p.epilogue) && group.add(out, held, buffers);
}

template <std::same_as<matmul_op> Op>
bool lower(const Op&, const lowering& group, plan_builder& out) {
    buffer_list buffers{&out.scalars};
    const auto held = lowering::fresh<matmul_problem>();
    matmul_problem& p = *held;
    const int batch = group.extent().rank() - 2;
    for (int i = 0; i < batch; ++i) p.batch.push_back(group.extent()[i]);
    p.m = group.extent()[batch];
    p.n = group.extent()[batch + 1];
    p.k = group.input(0)->extent().back();
    p.accumulator = group.type() == dtype::f64 ? dtype::f64 : dtype::f32;
    shape a = p.batch, b = p.batch;
    a.push_back(p.m), a.push_back(p.k), b.push_back(p.k), b.push_back(p.n);
    const affine at = affine::identity(batch + 2);
    return group.prologue(buffers, group.input(0), at.broadcast_to(a, group.input(0)->extent()),
                          p.a) &&
           group.prologue(buffers, group.input(1), at.broadcast_to(b, group.input(1)->extent()),
                          p.b) &&
           group.epilogue(buffers, at, p.epilogue) && group.add(out, held, buffers);
}

template <std::same_as<conv_op> Op>
bool lower(const Op& op, const lowering& group, plan_builder& out) {
    buffer_list buffers{&out.scalars};
    const auto held = lowering::fresh<conv_problem>();
    conv_problem& p = *held;
    const shape &x = group.input(0)->extent(), &w = group.input(1)->extent();
    p.shape_of = op;
    p.batch = x[0];
    p.in_channels = x[1];
    p.out_channels = w[0];
    for (int i = 0; i < 2; ++i) {
        p.in_size[i] = x[2 + i];
        p.window[i] = w[2 + i];
        p.out_size[i] = group.extent()[2 + i];
    }
    p.accumulator = group.type() == dtype::f64 ? dtype::f64 : dtype::f32;
    const affine at = affine::identity(4);
    return group.prologue(buffers, group.input(0), at, p.input) &&
           group.prologue(buffers, group.input(1), at, p.weight) &&
           group.epilogue(buffers, at, p.epilogue) && group.add(out, held, buffers);
}

template <std::same_as<pool_op> Op>
bool lower(const Op& op, const lowering& group, plan_builder& out) {
    buffer_list buffers{&out.scalars};
    const auto held = lowering::fresh<pool_problem>();
    pool_problem& p = *held;
    const shape& x = group.input(0)->extent();
    p.shape_of = op;
    p.batch = x[0];
    p.channels = x[1];
    for (int i = 0; i < 2; ++i) {
        p.in_size[i] = x[2 + i];
        p.out_size[i] = group.extent()[2 + i];
    }
    const affine at = affine::identity(4);
    return group.prologue(buffers, group.input(0), at, p.input) &&
           group.epilogue(buffers, at, p.epilogue) && group.add(out, held, buffers);
}

template <std::same_as<copy_op> Op>
bool lower(const Op&, const lowering& group, plan_builder& out) {
    return group.copy_whole(out);
}
template <std::same_as<assign_op> Op>
bool lower(const Op& op, const lowering& group, plan_builder& out) {
    const auto write = [&](std::size_t input, const view_op& part, const shape& extent) {
        const affine at = affine::identity(extent.rank());
        return group.write_into(group.input(input), extent,
                                at.broadcast_to(extent, group.input(input)->extent()),
                                at.through(part), out);
    };
    bool done = group.copy_whole(out) && write(1, op.part, op.extent);
    for (std::size_t i = 0; done && i < op.parts.size(); ++i)
        done = write(2 + i, op.parts[i], op.extents[i]);
    return done;
}
template <std::same_as<concat_op> Op>
bool lower(const Op& op, const lowering& group, plan_builder& out) {
    affine to = affine::identity(group.extent().rank());
    for (graph_node* part : group.anchor().inputs) {
        if (!group.is_placed(part) &&
            !group.write_into(part, part->extent(), affine::identity(to.axes), to, out))
            return false;
        to.start[op.axis] += part->extent()[op.axis];
    }
    return true;
}
template <std::same_as<take_op> Op>
bool lower(const Op& op, const lowering& group, plan_builder& out) {
    buffer_list buffers{&out.scalars};
    const auto held = lowering::fresh<take_problem>();
    take_problem& p = *held;
    p.values = group.memory(buffers, group.input(0));
    p.indices = group.memory(buffers, group.input(1));
    p.domain = group.extent();
    p.output = group.result(buffers);
    detail::set_operands(p, op, group.input(0)->extent(), group.input(1)->extent());
    return group.add(out, held, buffers);
}

template <std::same_as<sort_op> Op>
bool lower(const Op& op, const lowering& group, plan_builder& out) {
    buffer_list buffers{&out.scalars};
    const auto held = lowering::fresh<sort_problem>();
    sort_problem& p = *held;
    p.descending = op.descending;
    p.outer = group.extent();
    p.outer.erase(op.axis);
    p.length = group.input(0)->extent()[op.axis];
    p.first = group.extent()[op.axis];
    p.values = group.memory(buffers, group.input(0));
    p.output = group.result(buffers);
    for (operand* o : {&p.values, &p.output}) {
        const std::int64_t along = o->steps[op.axis];
        o->steps.erase(op.axis);
        o->steps.push_back(along);
    }
    return group.add(out, held, buffers);
}

template <std::same_as<scatter_op> Op>
bool lower(const Op& op, const lowering& group, plan_builder& out) {
    if (!group.copy_whole(out)) return false;
    buffer_list buffers{&out.scalars};
    const auto held = lowering::fresh<scatter_problem>();
    scatter_problem& p = *held;
    p.what = op.what;
    p.rows = group.extent()[0];
    p.width = group.extent()[1];
    p.count = group.input(1)->extent()[0];
    p.from_end = op.from_end;
    p.keys = group.memory(buffers, group.input(1));
    const bool sorted = group.anchor().inputs.size() == 4;
    p.order = sorted ? group.memory(buffers, group.input(2)) : operand{-1, dtype::i64, 0, {1}};
    p.updates = group.memory(buffers, group.input(sorted ? 3 : 2));
    p.output = group.result(buffers);
    p.data = p.output;  // so that data which may be written over is not copied
    return group.add(out, held, buffers);
}

template <std::same_as<kernel_op> Op>
bool lower(const Op& op, const lowering& group, plan_builder& out) {
    buffer_list buffers{&out.scalars};
    const auto held = lowering::fresh<custom_kernel_problem>();
    custom_kernel_problem& p = *held;
    p.call = op.call;
    const kernel_options& how = op.call->what->how;
    p.inputs.resize(how.inputs.size());
    for (std::size_t i = 0; i < how.inputs.size(); ++i) {
        if (!how.inputs[i].fused) p.inputs[i] = group.stored(buffers, group.input(i));
        else if (!group.prologue(buffers, group.input(i),
                                 affine::identity(group.input(i)->extent().rank()), p.inputs[i]))
            return false;
    }
    if (how.outputs[0].fused)
        return group.epilogue(buffers, affine::identity(group.extent().rank()), p.epilogue) &&
               group.add(out, held, buffers);
    for (const kernel_value& v : op.call->outputs) p.outputs.push_back({-1, v.dtype, 0, {}});
    for (graph_node* n : group.outputs()) {
        operand& o = p.outputs[static_cast<std::size_t>(n->op().get_if<kernel_op>()->output)];
        o.buffer = buffers.number_of(n);
        o.steps = n->layout();
    }
    return group.add(out, held, buffers);
}

template <class Op>
bool lower_op(const lowering& group, const Op& op, plan_builder& out) {
    if constexpr (requires { lower(op, group, out); }) return lower(op, group, out);
    else {
        static_assert(detail::operations::has<Op>,
                      "a family of ops has a function `bool lower(op, const lowering&, "
                      "plan_builder&)`");
        PUMICE_ASSERT(false && "sources, views and elementwise ops are no anchors");
        return true;
    }
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
