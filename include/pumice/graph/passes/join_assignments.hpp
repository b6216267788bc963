// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Assignments to parts of a value, one after the other, as one: it is copied once, or written where
// it lies.
#pragma once

#include <pumice/graph/op_graph.hpp>

#include <algorithm>
#include <optional>

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

/// What an assignment assigns to, in order.
class assigned_parts {
public:
    explicit assigned_parts(const assign_op& op) : count(1 + op.parts.size()), op_(op) {}
    const view_op& part(std::size_t i) const { return i == 0 ? op_.part : op_.parts[i - 1]; }
    const shape& extent(std::size_t i) const { return i == 0 ? op_.extent : op_.extents[i - 1]; }
    /// What a view, of the extent `shown`, shows of part i, as a view of values of the extent
    /// `given` that were assigned to it. None where that is not all of the part in its order.
    std::optional<view_op> of_values(std::size_t i, const view_op& v, const shape& shown,
                                     const shape& given) const {
        const view_op& own = part(i);
        const shape& all = extent(i);
        if (own.start != v.start) return std::nullopt;
        view_op r{index_list::filled(given.rank(), 0), {}, {}};
        int axis = 0;  // of the part, behind those of one index
        const auto skip = [&] {
            while (axis < all.rank() && all[axis] == 1) ++axis;
        };
        for (int d = 0; d < shown.rank(); ++d) {
            r.step.push_back(1);
            r.source.push_back(-1);
            if (shown[d] == 1) continue;
            skip();
            if (axis == all.rank() || all[axis] != shown[d] || own.source[axis] != v.source[d] ||
                own.step[axis] != v.step[d])
                return std::nullopt;
            const int from = axis - all.rank() + given.rank();  // values broadcast
            if (from >= 0 && given[from] != 1) r.source[d] = from;
            ++axis;
        }
        skip();
        return axis == all.rank() ? std::optional(std::move(r)) : std::nullopt;
    }
    /// The last part that may have elements which the view shows; `count`: none.
    std::size_t last_met(const view_op& v, const shape& shown) const {
        for (std::size_t i = count; i-- > 0;)
            if (!are_apart(v, shown, part(i), extent(i))) return i;
        return count;
    }

    const std::size_t count;

private:
    const assign_op& op_;
};

}  // namespace detail

/// An assignment over one that nothing else reads takes its parts over. What is read of that for
/// the new values alone, and is none of what it assigns, is read of the value before: x[1] += y
/// behind x[0] += y. What is read of exactly a part is what was assigned to it: x[1] = 2 * x[0]
/// behind x[0] = y.
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
        const detail::assigned_parts parts(first);
        const auto serves = [&](graph_node* reader) {
            if (reader == n) return true;
            const auto* const v = reader->op().get_if<view_op>();
            if (!v) return false;
            const std::size_t last = parts.last_met(*v, reader->extent());
            if (last < parts.count)
                return parts
                    .of_values(last, *v, reader->extent(), before.inputs[1 + last]->extent())
                    .has_value();
            if (!base->is_given() && is_view(*base)) return false;
            graph_node* to = only_reader(*reader);
            while (to && to != n && (to->op().is<elementwise_op>() || is_view(*to)))
                to = only_reader(*to);
            return to == n;
        };
        const array_list<graph_node*>& read_by = readers[before.number];
        if (std::count(read_by.begin(), read_by.end(), n) != 1 ||
            !std::all_of(read_by.begin(), read_by.end(), serves))
            continue;
        for (graph_node* const reader : read_by) {
            if (reader == n) continue;
            const view_op& v = *reader->op().get_if<view_op>();
            const std::size_t last = parts.last_met(v, reader->extent());
            if (last == parts.count) {
                graph.change(*reader, v, {base});
                continue;
            }
            graph_node& values = *before.inputs[1 + last];
            graph.change(*reader, *parts.of_values(last, v, reader->extent(), values.extent()),
                         {&values});
        }
        // A part that is assigned to again need not be assigned to before.
        assign_op joined{own.part, own.extent};
        array_list<graph_node*> inputs{base};
        const auto append = [&](const view_op& part, const shape& extent, graph_node* values) {
            if (inputs.size() == 1) {
                joined.part = part;
                joined.extent = extent;
            } else {
                joined.parts.push_back(part);
                joined.extents.push_back(extent);
            }
            inputs.push_back(values);
        };
        for (std::size_t i = 0; i < parts.count; ++i)
            if (!parts.of_values(i, own.part, own.extent, own.extent))
                append(parts.part(i), parts.extent(i), before.inputs[1 + i]);
        append(own.part, own.extent, n->inputs[1]);
        graph.change(*n, std::move(joined), std::move(inputs));
    }
    graph.sort("join_assignments");
}

}}  // namespace pumice::PUMICE_ABI
