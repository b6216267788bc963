// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Views that cost nothing: reshape, permute_dims, slices with steps, broadcast_to, expand_dims,
// squeeze, flip. All but reshape are one affine map.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/span.hpp>
#include <pumice/graph/any_tensor.hpp>

#include <optional>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// Whether a view shows all elements in their row-major order: axes of one element come, go or
/// move, the others stay.
PUMICE_FUNCTION bool keeps_order(const view_op& v, const shape& from, const shape& to);
/// True where a node's memory is, or will be, row-major in its own extent; of a lazy view it is not
/// said.
PUMICE_FUNCTION bool will_be_row_major(const node& n);
/// The same, and true as well of a lazy view of such a node that has axes of one element more or
/// less.
PUMICE_FUNCTION bool will_show_row_major(const node& n);

/// `x` seen through `v` with the shape `extent`. A view of a lazy view is one view of what that one
/// looks at, so views never grow deep; one that shows all of it as it is, is that node itself.
PUMICE_FUNCTION any_tensor make_view(const any_tensor& x, const shape& extent, view_op v);

}  // namespace detail

/// The elements in row-major order under another shape; one extent may be -1. A view whenever the
/// operand lies in row-major order or axes are only split, a copy otherwise. Throws
/// errc::shape_mismatch.
PUMICE_FUNCTION any_tensor reshape(const any_tensor& x, shape to);

/// Axis i of the result is axis order[i] of x. Throws errc::invalid_argument unless it is a
/// permutation.
PUMICE_FUNCTION any_tensor permute_dims(const any_tensor& x, span<const std::int64_t> order);

/// One axis of a slice, NumPy's start:stop:step; absent bounds mean the end in the step's
/// direction.
struct slice {
    std::optional<std::int64_t> start = {}, stop = {};
    std::int64_t step = 1;
};

/// x[start:stop:step, ...] over the leading axes; the others are whole. Bounds clip as NumPy's do.
PUMICE_FUNCTION any_tensor slice_view(const any_tensor& x, span<const slice> slices);

namespace detail {

/// What slices of a tensor with the shape `extent` show; `extent` becomes that of the view.
PUMICE_FUNCTION view_op view_of(shape& extent, span<const slice> slices);

}  // namespace detail

/// x repeated to `to` by NumPy's rules. Throws errc::shape_mismatch.
PUMICE_FUNCTION any_tensor broadcast_to(const any_tensor& x, const shape& to);

/// The axes in the reverse order, those of a matrix exchanged (NumPy transpose).
PUMICE_FUNCTION any_tensor transpose(const any_tensor& x);
/// The axes in that order, as permute_dims has it.
inline any_tensor transpose(const any_tensor& x, span<const std::int64_t> order) {
    return permute_dims(x, order);
}

/// A new axis of length 1 before `axis` of the result.
PUMICE_FUNCTION any_tensor expand_dims(const any_tensor& x, std::int64_t axis);

/// Removes an axis of length 1. Throws errc::shape_mismatch where it is longer.
PUMICE_FUNCTION any_tensor squeeze(const any_tensor& x, std::int64_t axis);
/// Removes all axes of length 1.
PUMICE_FUNCTION any_tensor squeeze(const any_tensor& x);

/// Reverses the named axes (all where empty).
PUMICE_FUNCTION any_tensor flip(const any_tensor& x, span<const std::int64_t> axes = {});

#ifndef PUMICE_COMPILED

namespace detail {

/// What shows through `outer` of what `inner` shows.
inline view_op composed(const view_op& outer, const view_op& inner) {
    view_op v{inner.start, {}, {}};
    for (int middle = 0; middle < inner.source.rank(); ++middle)
        if (const std::int64_t axis = inner.source[middle]; axis >= 0)
            v.start[static_cast<int>(axis)] += inner.step[middle] * outer.start[middle];
    for (int i = 0; i < outer.source.rank(); ++i) {
        const auto middle = static_cast<int>(outer.source[i]);
        v.source.push_back(middle < 0 ? -1 : inner.source[middle]);
        v.step.push_back(middle < 0 ? 1 : outer.step[i] * inner.step[middle]);
    }
    return v;
}

/// Whether every element is shown in its place. `to` is the view's extent.
inline bool shows_all(const view_op& v, const shape& from, const shape& to) {
    if (from != to) return false;
    for (int i = 0; i < to.rank(); ++i)
        if (v.start[i] != 0 || v.source[i] != i || v.step[i] != 1) return false;
    return true;
}

/// What `x` looks at, where it is a lazy view of the kind `Op`; else null.
template <class Op>
node_ptr viewed_by(const node& x) {
    return !x.realised() && x.op.is<Op>() ? x.viewed() : nullptr;
}

PUMICE_BODY any_tensor make_view(const any_tensor& x, const shape& extent, view_op v) {
    node_ptr from = viewed_by<view_op>(*x.get());
    if (from) v = composed(v, *x.get()->op.get_if<view_op>());
    else from = x.get();
    if (shows_all(v, from->extent, extent)) return any_tensor(std::move(from));
    return any_tensor(make_node(x.dtype(), extent, std::move(v), {std::move(from)}));
}

/// `from` seen with its axes split, `to` having as many elements; nothing where they would have to
/// be joined.
PUMICE_FUNCTION std::optional<view_op> split_axes(const shape& from, const shape& to) {
    view_op v{index_list::filled(from.rank(), 0), {}, {}};
    int a = 0;
    for (int d = 0; d < to.rank();) {
        if (to[d] == 1 || a == from.rank()) {
            if (to[d] != 1) return std::nullopt;
            v.source.push_back(-1);
            v.step.push_back(0);
            ++d;
            continue;
        }
        const std::int64_t n = from[a];
        std::int64_t left = n;
        while (left > 1 && d < to.rank() && left % to[d] == 0) {
            left /= to[d++];
            v.source.push_back(a);
            v.step.push_back(left);
        }
        if (left > 1) return std::nullopt;
        ++a;
    }
    return v;
}

PUMICE_BODY bool keeps_order(const view_op& v, const shape& from, const shape& to) {
    int next = 0;  // axis of `from`
    const auto skip_to = [&](std::int64_t end) {
        while (next < end && from[next] == 1) ++next;
        return next == end;
    };
    for (int d = 0; d < to.rank(); ++d) {
        if (to[d] == 1) continue;
        const std::int64_t axis = v.source[d];
        if (axis < next || !skip_to(axis) || from[next] != to[d] || v.step[d] != 1) return false;
        ++next;
    }
    return skip_to(from.rank());
}

PUMICE_BODY bool will_be_row_major(const node& n) {
    return (n.realised() || !n.op.is<view_op>()) && n.row_major();
}

PUMICE_BODY bool will_show_row_major(const node& n) {
    const node_ptr from = viewed_by<view_op>(n);
    if (!from) return will_be_row_major(n);
    return keeps_order(*n.op.get_if<view_op>(), from->extent, n.extent) && will_be_row_major(*from);
}

}  // namespace detail

PUMICE_BODY any_tensor reshape(const any_tensor& x, shape to) {
    int open = -1;
    std::int64_t known = 1;
    for (int i = 0; i < to.rank(); ++i) {
        if (to[i] == -1) {
            if (open >= 0) fail(errc::invalid_argument, "reshape", {"more than one extent is -1"});
            open = i;
        } else {
            if (to[i] < 0)
                fail(errc::invalid_argument, "reshape", {"the extent ", to[i], " is negative"});
            known = checked_multiply(known, to[i], "reshape");
        }
    }
    if (open >= 0 && known != 0 && x.size() % known == 0) to[open] = x.size() / known;
    else if (open >= 0 || known != x.size())
        fail(errc::shape_mismatch, "reshape",
             {"shape ", to_string(x.shape()), " with ", x.size(), " elements does not fit ",
              to_string(to)});
    if (to == x.shape()) return x;
    if (!x.get()->realised() && !x.get()->op.is<reshape_op>() && x.size() != 0)
        // What an affine view can show needs not be stored.
        if (const auto v = detail::split_axes(x.shape(), to);
            v && detail::keeps_order(*v, x.shape(), to))
            return detail::make_view(x, to, *v);
    node_ptr source = x.get();  // or what that shows in its order
    if (detail::will_show_row_major(*source))
        if (node_ptr of = detail::viewed_by<view_op>(*source)) source = std::move(of);
    if (node_ptr of = detail::viewed_by<reshape_op>(*source)) source = std::move(of);
    if (to == source->extent) return any_tensor(std::move(source));
    if (!detail::will_be_row_major(*source)) {
        if (x.size() != 0)
            if (const auto v = detail::split_axes(x.shape(), to))
                return detail::make_view(x, to, *v);
        source = make_node(x.dtype(), x.shape(), copy_op{row_major_strides(x.shape())}, {source});
    }
    return any_tensor(make_node(x.dtype(), to, reshape_op{}, {std::move(source)}));
}

PUMICE_BODY any_tensor permute_dims(const any_tensor& x, span<const std::int64_t> order) {
    if (static_cast<int>(order.size()) != x.rank())
        fail(errc::rank_mismatch, "permute_dims", {order.size(), " axes for rank ", x.rank()});
    view_op v = detail::identity_view(x.rank());
    shape extent;
    unsigned seen = 0;
    for (int i = 0; i < x.rank(); ++i) {
        const int a = normalize_axis(order[static_cast<std::size_t>(i)], x.rank(), "permute_dims");
        if (seen & (1u << a))
            fail(errc::invalid_argument, "permute_dims", {"axis ", a, " is named twice"});
        seen |= 1u << a;
        v.source[i] = a;
        extent.push_back(x.shape()[a]);
    }
    return detail::make_view(x, extent, v);
}

PUMICE_BODY any_tensor transpose(const any_tensor& x) {
    index_list order;
    for (int axis = x.rank(); axis-- > 0;) order.push_back(axis);
    return permute_dims(x, order);
}

PUMICE_BODY any_tensor slice_view(const any_tensor& x, span<const slice> slices) {
    shape extent = x.shape();
    view_op v = detail::view_of(extent, slices);
    return detail::make_view(x, extent, std::move(v));
}

PUMICE_BODY view_op detail::view_of(shape& extent, span<const slice> slices) {
    if (static_cast<int>(slices.size()) > extent.rank())
        fail(errc::rank_mismatch, "slice", {slices.size(), " slices for rank ", extent.rank()});
    view_op v = identity_view(extent.rank());
    for (int i = 0; i < static_cast<int>(slices.size()); ++i) {
        const slice& s = slices[static_cast<std::size_t>(i)];
        if (s.step == 0) fail(errc::invalid_argument, "slice", {"the step of axis ", i, " is 0"});
        const std::int64_t n = extent[i];
        const auto bound = [n](std::int64_t b, std::int64_t low, std::int64_t high) {
            if (b < 0) b += n;
            return b < low ? low : b > high ? high : b;
        };
        std::int64_t begin, count;
        if (s.step > 0) {
            begin = s.start ? bound(*s.start, 0, n) : 0;
            const std::int64_t end = s.stop ? bound(*s.stop, 0, n) : n;
            count = end <= begin ? 0 : (end - begin - 1) / s.step + 1;
        } else {
            begin = s.start ? bound(*s.start, -1, n - 1) : n - 1;
            const std::int64_t end = s.stop ? bound(*s.stop, -1, n - 1) : -1;
            count = end >= begin
                        ? 0
                        : static_cast<std::int64_t>(static_cast<std::uint64_t>(begin - end - 1) /
                                                    (0 - static_cast<std::uint64_t>(s.step))) +
                              1;
        }
        v.start[i] = count == 0 ? 0 : begin;
        v.step[i] =
            count <= 1 ? 1 : s.step;  // steps multiply when views are stacked, and one may be huge
        extent[i] = count;
    }
    return v;
}

PUMICE_BODY any_tensor broadcast_to(const any_tensor& x, const shape& to) {
    if (x.rank() > to.rank() || broadcast(x.shape(), to, "broadcast_to") != to)
        fail(errc::shape_mismatch, "broadcast_to",
             {"shape ", to_string(x.shape()), " does not broadcast to ", to_string(to)});
    if (to == x.shape()) return x;
    view_op v{index_list::filled(x.rank(), 0), {}, index_list::filled(to.rank(), 1)};
    for (int i = 0; i < to.rank(); ++i) {
        const int a = i - (to.rank() - x.rank());
        v.source.push_back(a < 0 || (x.shape()[a] == 1 && to[i] != 1) ? -1 : a);
    }
    return detail::make_view(x, to, v);
}

PUMICE_BODY any_tensor expand_dims(const any_tensor& x, std::int64_t axis) {
    const int at = normalize_axis(axis, x.rank() + 1, "expand_dims");
    view_op v = detail::identity_view(x.rank());
    shape extent = x.shape();
    v.source.insert(at, -1);
    v.step.insert(at, 1);
    extent.insert(at, 1);
    return detail::make_view(x, extent, v);
}

PUMICE_BODY any_tensor squeeze(const any_tensor& x, std::int64_t axis) {
    const int at = normalize_axis(axis, x.rank(), "squeeze");
    if (x.shape()[at] != 1)
        fail(errc::shape_mismatch, "squeeze",
             {"axis ", at, " of ", to_string(x.shape()), " is not of length 1"});
    view_op v = detail::identity_view(x.rank());
    shape extent = x.shape();
    v.source.erase(at);
    v.step.erase(at);
    extent.erase(at);
    return detail::make_view(x, extent, v);
}

PUMICE_BODY any_tensor squeeze(const any_tensor& x) {
    any_tensor made = x;
    for (int axis = x.rank(); axis-- > 0;)
        if (x.shape()[axis] == 1) made = squeeze(made, axis);
    return made;
}

PUMICE_BODY any_tensor flip(const any_tensor& x, span<const std::int64_t> axes) {
    array_list<slice> slices(static_cast<std::size_t>(x.rank()),
                             axes.empty() ? slice{{}, {}, -1} : slice{});
    for (std::int64_t a : axes) {
        const int axis = normalize_axis(a, x.rank(), "flip");
        slice& turned = slices[static_cast<std::size_t>(axis)];
        if (turned.step < 0)
            fail(errc::invalid_argument, "flip", {"axis ", axis, " is named twice"});
        turned.step = -1;
    }
    return slice_view(x, slices);
}

#endif

}}  // namespace pumice::PUMICE_ABI
