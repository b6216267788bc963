// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Views, concatenations and gathers as operations of TOSA.
#pragma once

#include <pumice/graph/node.hpp>
#include <pumice/model/vgf/detail/write_elementwise.hpp>

#include <cstdlib>
#include <map>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf { namespace detail {

/// Nodes as they are written, and what they are written with.
class layout_writer {
protected:
    using value = mlir_value;

    /// TOSA's tensors without axes are written with one.
    static shape with_axis(const shape& s) { return s.empty() ? shape{1} : s; }

    const value& input(const node& n, std::size_t i) const { return values_.at(n.inputs[i].get()); }
    /// With axes of 1 in front, so that it broadcasts.
    value beside(const value& x, const shape& domain) {
        shape s;
        for (int i = x.shape.rank(); i < domain.rank(); ++i) s.push_back(1);
        for (const std::int64_t d : x.shape) s.push_back(d);
        return w_.reshaped(x, s);
    }

    // layout --------------------------------------------------------------------------------------
    value write(const node& n, const reshape_op&) {
        return w_.reshaped(input(n, 0), with_axis(n.extent));
    }
    value write(const node& n, const copy_op&) { return input(n, 0); }
    value write(const node& n, const concat_op& op) {
        value all = input(n, 0);
        for (std::size_t i = 1; i < n.inputs.size(); ++i) all = joined(all, input(n, i), op.axis);
        return all;
    }
    value joined(const value& a, const value& b, int axis) {
        shape s = a.shape;
        s[axis] += b.shape[axis];
        return w_.op("concat", {a, b}, a.type, s, cat({"axis = ", axis, " : i32"}));
    }
    /// What an index map reads: along each axis its runs, joined.
    value mapped(value x, const array_list<mapped_axis>& map) {
        for (int axis = 0; axis < static_cast<int>(map.size()); ++axis) {
            const mapped_axis& a = map[static_cast<std::size_t>(axis)];
            if (a.how == fold::none) continue;
            shape whole = x.shape;
            whole[axis] = a.extent;
            if (a.how == fold::around && a.add == 0 && a.extent % a.length == 0) {
                x = w_.tiled(x, whole);
                continue;
            }
            value made;
            std::int64_t done = 0;
            for (int runs = 0; done < a.extent; ++runs) {
                if (runs == 1024) tosa_writer::lacks({"padding that goes around so often"});
                const map_stretch s = stretch_at(a, done);
                const bool still = s.step == 0;
                value run = along(x, axis, s.begin, still ? 1 : s.step, still ? 1 : s.count);
                whole[axis] = s.count;
                run = w_.tiled(run, whole);
                made = runs == 0 ? run : joined(made, run, axis);
                done += s.count;
            }
            x = made;
        }
        return x;
    }
    /// Whether it finds an element.
    value inside(const array_list<mapped_axis>& map) {
        value made;
        for (std::size_t axis = 0; axis < map.size(); ++axis) {
            const mapped_axis& a = map[axis];
            if (a.how != fold::inside) continue;
            shape s = shape::filled(static_cast<int>(map.size()), 1);
            s[static_cast<int>(axis)] = a.extent;
            std::vector<std::uint8_t> list;
            for (std::int64_t i = 0; i < a.extent; ++i) list.push_back(stretch_at(a, i).within);
            const value v = w_.constant(dtype::boolean, s, as_bytes(span(list)));
            made = made.name.empty() ? v : w_.two("logical_and", made, v, dtype::boolean);
        }
        return made;
    }
    /// Along each axis of the input a slice, every k-th of it, or backwards; then its axes in their
    /// order, and repeated ones.
    value write(const node& n, const view_op& v) {
        value x = input(n, 0);
        shape middle;  // the output's axes that show the input, in the order of the input's
        std::vector<std::int64_t> shown;
        for (int a = 0; a < n.inputs[0]->extent.rank(); ++a) {
            std::vector<int> axes;
            for (int d = 0; d < n.extent.rank(); ++d)
                if (v.source[d] == a && v.step[d] != 0 && n.extent[d] > 1) axes.push_back(d);
            std::sort(axes.begin(), axes.end(), [&](int i, int k) {
                const std::int64_t p = std::abs(v.step[i]), q = std::abs(v.step[k]);
                return p != q ? p > q : i < k;
            });
            std::int64_t count = 1;
            const std::int64_t step = axes.empty() ? 1 : v.step[axes.back()];
            for (auto d = axes.rbegin(); d != axes.rend(); ++d) {
                if (v.step[*d] != step * count)
                    tosa_writer::lacks({"views in which windows overlap or are apart"});
                count *= n.extent[*d];
            }
            x = along(x, a, v.start[a], step, count);
            for (const int d : axes) shown.push_back(d), middle.push_back(n.extent[d]);
        }
        if (middle.empty()) middle.push_back(1), shown.push_back(-1);
        x = w_.reshaped(x, middle);
        std::vector<std::int64_t> order, sorted = shown;
        std::sort(sorted.begin(), sorted.end());
        for (const std::int64_t d : sorted)
            order.push_back(std::find(shown.begin(), shown.end(), d) - shown.begin());
        x = w_.transposed(x, order);
        shape ones;
        for (int d = 0; d < n.extent.rank(); ++d)
            ones.push_back(std::count(shown.begin(), shown.end(), d) > 0 ? n.extent[d] : 1);
        return w_.tiled(w_.reshaped(x, with_axis(ones)), with_axis(n.extent));
    }
    value along(value x, int axis, std::int64_t start, std::int64_t step, std::int64_t count) {
        shape begin = shape(std::vector<std::int64_t>(x.shape.size(), 0)), size = x.shape;
        if (step < 0) {
            x = w_.op("reverse", {x}, x.type, x.shape, cat({"axis = ", axis, " : i32"}));
            start = x.shape[axis] - 1 - start;
            step = -step;
        }
        begin[axis] = start;
        size[axis] = (count - 1) * step + 1;
        x = w_.sliced(x, begin, size);
        if (step == 1 || count == 1) return x;
        // Whole groups of `step`, of which the first elements stay.
        const std::int64_t missing = step - 1;
        std::vector<std::int64_t> widths(x.shape.size() * 2, 0);
        widths[static_cast<std::size_t>(axis) * 2 + 1] = missing;
        x = padded(x, widths, 0);
        shape groups, kept, whole = x.shape;
        for (int i = 0; i < x.shape.rank(); ++i) {
            if (i != axis) groups.push_back(x.shape[i]), kept.push_back(x.shape[i]);
            else {
                groups.push_back(count), kept.push_back(count);
                groups.push_back(step), kept.push_back(1);
            }
        }
        whole[axis] = count;
        const shape zero(std::vector<std::int64_t>(groups.size(), 0));
        return w_.reshaped(w_.sliced(w_.reshaped(x, groups), zero, kept), whole);
    }
    value padded(const value& x, const std::vector<std::int64_t>& widths, double fill) {
        shape s = x.shape;
        bool none = true;
        for (int i = 0; i < s.rank(); ++i) {
            const auto at = static_cast<std::size_t>(i) * 2;
            s[i] += widths[at] + widths[at + 1];
            none = none && widths[at] == 0 && widths[at + 1] == 0;
        }
        return none ? x
                    : w_.op("pad", {x, w_.sizes(widths), w_.number(x.type, 1, fill)}, x.type, s);
    }
    /// Slices along an axis by indices: one row of a table each.
    value write(const node& n, const take_op& op) {
        if (op.what != taking::slices)
            tosa_writer::lacks({"gathers but of whole slices along an axis"});
        const value &from = input(n, 0), &indices = input(n, 1);
        if (indices.type != dtype::i32) mlir_text::type_name(dtype::i64);
        std::vector<std::int64_t> order{op.axis};
        shape rest;
        for (int i = 0; i < from.shape.rank(); ++i)
            if (i != op.axis) order.push_back(i), rest.push_back(from.shape[i]);
        const std::int64_t length = from.shape[op.axis], width = element_count(rest),
                           count = element_count(indices.shape);
        const value rows = w_.reshaped(w_.transposed(from, order), {1, length, width});
        value at = w_.reshaped(indices, {1, count});
        const value from_end = w_.plus(at, static_cast<double>(length));
        at = w_.select(w_.greater(w_.number(at, 0), at), from_end, at);
        at = w_.clipped(at, 0, static_cast<double>(length - 1));
        const value taken = w_.op("gather", {rows, at}, n.type, {1, count, width});
        shape wide;  // indices' axes in front
        for (const std::int64_t d : n.inputs[1]->extent) wide.push_back(d);
        const int k = wide.rank();
        for (const std::int64_t d : rest) wide.push_back(d);
        std::vector<std::int64_t> back;
        for (int i = 0; i < op.axis; ++i) back.push_back(k + i);
        for (int i = 0; i < k; ++i) back.push_back(i);
        for (int i = op.axis; i < rest.rank(); ++i) back.push_back(k + i);
        if (wide.empty()) return w_.reshaped(taken, {1});
        return w_.transposed(w_.reshaped(taken, wide), back);
    }

    tosa_writer w_;
    std::map<const node*, value> values_;
};

}}}}  // namespace pumice::PUMICE_ABI::vgf::detail
