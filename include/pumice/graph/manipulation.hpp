// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Ops that cut, join, repeat and pad: views and concatenations, no kernel of their own.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/graph/build.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Joins tensors of one shape along a new axis before `axis` of the result.
PUMICE_FUNCTION any_tensor stack(std::span<const any_tensor> parts, std::int64_t axis = 0);

/// The slices along `axis`, which they lack: views.
PUMICE_FUNCTION std::vector<any_tensor> unstack(const any_tensor& x, std::int64_t axis = 0);

/// `parts` views of equal length along `axis`. Throws errc::shape_mismatch where they cannot be
/// equal.
PUMICE_FUNCTION std::vector<any_tensor> split(const any_tensor& x, std::int64_t parts,
                                              std::int64_t axis = 0);
/// Views that begin at 0 and at each of `places` along `axis`, bounds as a slice's (NumPy split).
PUMICE_FUNCTION std::vector<any_tensor> split(const any_tensor& x,
                                              std::span<const std::int64_t> places,
                                              std::int64_t axis = 0);

/// Each element `times` times along `axis`; of the flattened tensor where none is named.
PUMICE_FUNCTION any_tensor repeat(const any_tensor& x, std::int64_t times,
                                  std::optional<std::int64_t> axis = {});

/// The whole tensor repeats[i] times along axis i, counted from the last as in NumPy.
PUMICE_FUNCTION any_tensor tile(any_tensor x, std::span<const std::int64_t> repeats);

/// Elements moved on by `shift`, around the end; of the flattened tensor where no axis is named.
PUMICE_FUNCTION any_tensor roll(const any_tensor& x, std::int64_t shift,
                                std::optional<std::int64_t> axis = {});

/// What stands before and after: a value, the edge's element, the tensor mirrored at its edge
/// element, or the tensor again.
enum class pad_mode : std::uint8_t { constant, edge, reflect, wrap };

/// Elements before and after an axis; negative ones are cut off.
struct pad_width {
    std::int64_t before = 0, after = 0;
};

/// x with widths[i] more along axis i (NumPy pad). `value` is a number or a tensor of one element,
/// and counts in mode constant only.
PUMICE_FUNCTION any_tensor pad(any_tensor x, std::span<const pad_width> widths,
                               pad_mode mode = pad_mode::constant,
                               const any_operand& value = scalar(0.0));

#ifndef PUMICE_COMPILED

namespace detail {

/// x[..., begin:end:step, ...] along one axis, for bounds within it.
PUMICE_FUNCTION any_tensor cut(const any_tensor& x, int axis, std::int64_t begin,
                               std::int64_t end) {
    array_list<slice> slices(x.shape().size());
    slices[static_cast<std::size_t>(axis)] = {begin, end, 1};
    return slice_view(x, slices);
}

/// Elements up to axis `axis`, and from it on.
PUMICE_FUNCTION shape folded_at(const shape& s, int axis) {
    shape outer, rest;
    for (int i = 0; i < s.rank(); ++i) (i < axis ? outer : rest).push_back(s[i]);
    return {element_count(outer), element_count(rest)};
}

/// `x` repeated along new axes, repeats[i] times before axis i or after it.
PUMICE_FUNCTION any_tensor repeated(const any_tensor& x, const index_list& repeats, bool after) {
    view_op v{index_list::filled(x.rank(), 0), {}, {}};
    shape wide, flat;
    for (int i = 0; i < x.rank(); ++i) {
        for (const bool own : {after, !after}) {
            if (!own && repeats[i] == 1) continue;
            v.source.push_back(own ? i : -1);
            v.step.push_back(1);
            wide.push_back(own ? x.shape()[i] : repeats[i]);
        }
        flat.push_back(checked_multiply(x.shape()[i], repeats[i], after ? "repeat" : "tile"));
    }
    return reshape(make_view(x, wide, v), flat);
}

/// What pads `x` along an axis at the places [from, to) counted from its first element.
PUMICE_FUNCTION void pad_along(std::vector<any_tensor>& parts, const any_tensor& x, int axis,
                               std::int64_t from, std::int64_t to, pad_mode mode,
                               const any_tensor& value) {
    if (from == to) return;
    const std::int64_t n = x.shape()[axis];
    shape s = x.shape();
    s[axis] = to - from;
    if (mode == pad_mode::constant) return parts.push_back(broadcast_to(value, s));
    if (n == 0) fail(errc::shape_mismatch, "pad", {"axis ", axis, " has no elements to repeat"});
    if (mode == pad_mode::edge || (mode == pad_mode::reflect && n == 1)) {
        const std::int64_t edge = from < 0 ? 0 : n - 1;
        return parts.push_back(broadcast_to(cut(x, axis, edge, edge + 1), s));
    }
    const std::int64_t period = mode == pad_mode::wrap ? n : 2 * (n - 1), axes[] = {axis};
    if ((to - from) / period > 1024)
        fail(errc::unsupported, "pad",
             {"axis ", axis, " of ", to_string(x.shape()), " is repeated more than 1024 times"});
    while (from < to) {
        // The period is x without its last element, then x backwards without its first.
        const std::int64_t at = ((from % period) + period) % period,
                           left = at < n - 1 || mode == pad_mode::wrap ? -1 : period - at,
                           room = left > 0                 ? left
                                  : mode == pad_mode::wrap ? n - at
                                                           : n - 1 - at,
                           count = room < to - from ? room : to - from;
        parts.push_back(left > 0 ? flip(cut(x, axis, left - count + 1, left + 1), axes)
                                 : cut(x, axis, at, at + count));
        from += count;
    }
}

}  // namespace detail

PUMICE_BODY any_tensor stack(std::span<const any_tensor> parts, std::int64_t axis) {
    detail::require(!parts.empty(), "stack", "needs at least one tensor");
    std::vector<any_tensor> list;
    for (const any_tensor& p : parts) {
        if (p.shape() != parts[0].shape())
            fail(errc::shape_mismatch, "stack",
                 {"shapes ", to_string(parts[0].shape()), " and ", to_string(p.shape()),
                  " differ"});
        list.push_back(expand_dims(p, normalize_axis(axis, p.rank() + 1, "stack")));
    }
    return concat(list, axis);
}

PUMICE_BODY std::vector<any_tensor> unstack(const any_tensor& x, std::int64_t axis) {
    const int at = normalize_axis(axis, x.rank(), "unstack");
    std::vector<any_tensor> parts;
    for (std::int64_t i = 0; i < x.shape()[at]; ++i)
        parts.push_back(squeeze(detail::cut(x, at, i, i + 1), at));
    return parts;
}

PUMICE_BODY std::vector<any_tensor> split(const any_tensor& x, std::int64_t parts,
                                          std::int64_t axis) {
    const std::int64_t length = x.shape()[normalize_axis(axis, x.rank(), "split")];
    if (parts <= 0 || length % parts != 0)
        fail(errc::shape_mismatch, "split",
             {"axis ", axis, " of ", to_string(x.shape()), " does not fall into ", parts,
              " equal parts"});
    array_list<std::int64_t> places;
    for (std::int64_t i = 1; i < parts; ++i) places.push_back(i * (length / parts));
    return split(x, places, axis);
}

PUMICE_BODY std::vector<any_tensor> split(const any_tensor& x, std::span<const std::int64_t> places,
                                          std::int64_t axis) {
    const int at = normalize_axis(axis, x.rank(), "split");
    std::vector<any_tensor> parts;
    std::int64_t begin = 0;
    for (std::size_t k = 0; k <= places.size(); ++k) {
        const std::int64_t end = k < places.size() ? places[k] : x.shape()[at];
        parts.push_back(detail::cut(x, at, begin, end));
        begin = end;
    }
    return parts;
}

PUMICE_BODY any_tensor repeat(const any_tensor& x, std::int64_t times,
                              std::optional<std::int64_t> axis) {
    if (!axis) return repeat(reshape(x, {-1}), times, 0);
    const int at = normalize_axis(*axis, x.rank(), "repeat");
    if (times < 0) fail(errc::invalid_argument, "repeat", {times, " times"});
    if (times == 1) return x;
    if (x.rank() < max_rank) {
        index_list repeats = index_list::filled(x.rank(), 1);
        repeats[at] = times;
        return detail::repeated(x, repeats, true);
    }
    shape to = x.shape();
    to[at] = checked_multiply(to[at], times, "repeat");
    const shape two = detail::folded_at(x.shape(), at + 1);
    const any_tensor rows = reshape(x, {two[0], 1, two[1]});
    return reshape(broadcast_to(rows, {two[0], times, two[1]}), to);
}

PUMICE_BODY any_tensor tile(any_tensor x, std::span<const std::int64_t> repeats) {
    shape s = x.shape();
    while (s.size() < repeats.size()) s.insert(0, 1);
    x = reshape(x, s);
    index_list left = index_list::filled(x.rank(), 1);
    for (std::size_t k = 0; k < repeats.size(); ++k) {
        if (repeats[k] < 0) fail(errc::invalid_argument, "tile", {repeats[k], " times"});
        left[static_cast<int>(left.size() - repeats.size() + k)] = repeats[k];
    }
    // As many axes at once as the rank has room for; an axis alone where it has none.
    for (;;) {
        index_list now = index_list::filled(x.rank(), 1);
        int room = max_rank - x.rank(), first = -1;
        for (int i = 0; i < x.rank(); ++i) {
            if (left[i] == 1) continue;
            if (first < 0) first = i;
            if (room-- > 0) std::swap(now[i], left[i]);
        }
        if (first < 0) return x;
        if (x.rank() < max_rank) {
            x = detail::repeated(x, now, false);
            continue;
        }
        shape to = x.shape();
        to[first] = checked_multiply(to[first], left[first], "tile");
        const index_list one{1, left[first]};
        x = reshape(detail::repeated(reshape(x, detail::folded_at(x.shape(), first)), one, false),
                    to);
        left[first] = 1;
    }
}

PUMICE_BODY any_tensor roll(const any_tensor& x, std::int64_t shift,
                            std::optional<std::int64_t> axis) {
    if (!axis) return reshape(roll(reshape(x, {-1}), shift, 0), x.shape());
    const int at = normalize_axis(*axis, x.rank(), "roll");
    const std::int64_t n = x.shape()[at];
    const std::int64_t by = n == 0 ? 0 : (shift % n + n) % n;
    if (by == 0) return x;
    if (2 * by == n && x.rank() < max_rank) {  // two halves change places: one copy
        shape halves = x.shape();
        halves[at] = by;
        halves.insert(at, 2);
        const std::int64_t two[] = {at};
        return reshape(flip(reshape(x, halves), two), x.shape());
    }
    const any_tensor parts[] = {detail::cut(x, at, n - by, n), detail::cut(x, at, 0, n - by)};
    return concat(parts, at);
}

PUMICE_BODY any_tensor pad(any_tensor x, std::span<const pad_width> widths, pad_mode mode,
                           const any_operand& value) {
    if (widths.size() != x.shape().size())
        fail(errc::rank_mismatch, "pad", {widths.size(), " widths for rank ", x.rank()});
    any_tensor fill = value.array;
    if (mode == pad_mode::constant && value.is_number) {
        fill = detail::constant_like(x, value.number, "pad");
    } else if (mode == pad_mode::constant) {
        const dtype types[] = {x.dtype(), fill.dtype()};
        if (types[0] != types[1]) detail::throw_types("pad", types, "needs one type; use astype");
        fill = reshape(fill, {});
    }
    for (int axis = 0; axis < x.rank(); ++axis) {
        const auto [before, after] = widths[static_cast<std::size_t>(axis)];
        const std::int64_t n = x.shape()[axis], most = std::int64_t(1) << 40;
        if (before == 0 && after == 0) continue;
        if (before < -n || after < -n || before > most || after > most || before + after < -n)
            fail(errc::shape_mismatch, "pad",
                 {"axis ", axis, " of ", to_string(x.shape()), " by ", before, " and ", after});
        std::vector<any_tensor> parts;
        detail::pad_along(parts, x, axis, before > 0 ? -before : 0, 0, mode, fill);
        parts.push_back(before < 0 || after < 0 ? detail::cut(x, axis, before < 0 ? -before : 0,
                                                              after < 0 ? n + after : n)
                                                : x);
        detail::pad_along(parts, x, axis, n, after > 0 ? n + after : n, mode, fill);
        x = parts.size() == 1 ? parts[0] : concat(parts, axis);
    }
    return x;
}

#endif

}}  // namespace pumice::PUMICE_ABI
