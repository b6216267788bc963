// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Ops that cut, join, repeat and pad: views, concatenations, and index maps that whatever reads
// them applies as it loads (core/index_map.hpp).
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/expr/ops.hpp>
#include <pumice/graph/build.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Joins tensors of one shape along a new axis before `axis` of the result.
PUMICE_FUNCTION any_tensor stack(span<const any_tensor> parts, std::int64_t axis = 0);

/// The slices along `axis`, which they lack: views.
PUMICE_FUNCTION std::vector<any_tensor> unstack(const any_tensor& x, std::int64_t axis = 0);

/// `parts` views of equal length along `axis`. Throws errc::shape_mismatch where they cannot be
/// equal.
PUMICE_FUNCTION std::vector<any_tensor> split(const any_tensor& x, std::int64_t parts,
                                              std::int64_t axis = 0);
/// Views that begin at 0 and at each of `places` along `axis`, bounds as a slice's (NumPy split).
PUMICE_FUNCTION std::vector<any_tensor> split(const any_tensor& x, span<const std::int64_t> places,
                                              std::int64_t axis = 0);
inline std::vector<any_tensor> split(const any_tensor& x,
                                     std::initializer_list<std::int64_t> places,
                                     std::int64_t axis = 0) {
    return split(x, span<const std::int64_t>(places), axis);
}

/// Each element `times` times along `axis`; of the flattened tensor where none is named.
PUMICE_FUNCTION any_tensor repeat(const any_tensor& x, std::int64_t times,
                                  std::optional<std::int64_t> axis = {});

/// The whole tensor repeats[i] times along axis i, counted from the last as in NumPy.
PUMICE_FUNCTION any_tensor tile(any_tensor x, span<const std::int64_t> repeats);

/// Along the last axis alone.
template <std::integral N>
any_tensor tile(const any_tensor& x, N repeats) {
    return tile(x, {static_cast<std::int64_t>(repeats)});
}

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
PUMICE_FUNCTION any_tensor pad(any_tensor x, span<const pad_width> widths,
                               pad_mode mode = pad_mode::constant,
                               const any_operand& value = scalar(0.0));
/// One width before and one after every axis: `pad(x, {1, 2})`.
template <std::integral N>
any_tensor pad(const any_tensor& x, const N (&each)[2], pad_mode mode = pad_mode::constant,
               const any_operand& value = scalar(0.0)) {
    const array_list<pad_width> widths(static_cast<std::size_t>(x.rank()),
                                       {std::int64_t(each[0]), std::int64_t(each[1])});
    return pad(x, widths, mode, value);
}
/// The same width before and after every axis.
template <std::integral N>
any_tensor pad(const any_tensor& x, N width, pad_mode mode = pad_mode::constant,
               const any_operand& value = scalar(0.0)) {
    return pad(x, {width, width}, mode, value);
}

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

/// The map of what is read by `inner` of a tensor of shape `between`, and that by `outer`; no
/// axes where it is more than one.
PUMICE_FUNCTION array_list<mapped_axis> composed(const array_list<mapped_axis>& outer,
                                                 const array_list<mapped_axis>& inner,
                                                 const shape& between) {
    array_list<mapped_axis> both;
    if (inner.size() != outer.size()) return {};
    for (std::size_t k = 0; k < outer.size(); ++k) {
        mapped_axis a = outer[k];
        const mapped_axis& b = inner[k];
        if (b.extent != between[static_cast<int>(k)]) return {};
        if (a.how == fold::none) {
            a = b;
        } else if (b.how != fold::none) {
            const bool turns = a.how == fold::around && b.how == fold::around;
            if (!turns || b.length == 0 || a.length % b.length != 0) return {};
            a.add += b.add;
            a.length = b.length;
        }
        both.push_back(a);
    }
    return both;
}

/// A tensor of shape `extent` whose elements, in row-major order, are those that `map` finds in
/// `x`; `fill`, a number or a tensor of no axes, where it finds none.
PUMICE_FUNCTION any_tensor read_by_map(const any_tensor& x, const shape& extent,
                                       array_list<mapped_axis> map, const any_operand* fill,
                                       const char* place) {
    using code = instruction::code;
    elementwise_op op;
    node_ptr from = x.get();
    // What is read by a map itself is read where it lies, unless each has a value to fill with, or
    // one that is a tensor.
    if (reads_by_map(*from)) {
        const auto& e = *from->op.get_if<elementwise_op>();
        bool takes = !fill || e.scalars.empty();
        for (const instruction& i : e.body->code) takes = takes && i.what != code::leaf;
        node_ptr base = takes ? from->viewed() : nullptr;
        array_list<mapped_axis> both;
        if (base) both = composed(map, e.map, from->extent);
        if (!both.empty()) {
            from = std::move(base);
            map = std::move(both);
            op.scalars = e.scalars;
        }
    }
    auto body = std::make_shared<program>();
    array_list<node_ptr> inputs;
    inputs.push_back(std::move(from));
    instruction read{code::mapped, x.dtype()};
    read.map = form_of(span(map.data(), map.size()));
    std::uint16_t value = body->push(read);
    if (fill && fill->is_number) {
        op.scalars.push_back(number_in(x.dtype(), fill->number, place));
    } else if (fill) {
        inputs.push_back(fill->array.get());
    }
    if (fill || !op.scalars.empty()) {
        instruction choice{code::apply, x.dtype()};
        choice.op = &op_info_of<op::where>;
        choice.args[0] = body->push({code::inside, dtype::boolean});
        choice.args[1] = value;
        choice.args[2] = body->push(op.scalars.empty() ? instruction{code::leaf, x.dtype(), 1}
                                                       : instruction{code::scalar, x.dtype()});
        value = body->push(choice);
    }
    body->outputs.push_back(value);
    op.body = std::move(body);
    op.map = std::move(map);
    return any_tensor(make_node(x.dtype(), extent, std::move(op), std::move(inputs)));
}

/// Axes that are read as they are.
PUMICE_FUNCTION array_list<mapped_axis> plain_map(const shape& s) {
    array_list<mapped_axis> map;
    for (const std::int64_t n : s) map.push_back({fold::none, n, 0, n});
    return map;
}

}  // namespace detail

PUMICE_BODY any_tensor stack(span<const any_tensor> parts, std::int64_t axis) {
    detail::require(!parts.empty(), "stack", "needs at least one tensor");
    const int rank = parts[0].rank(), at = normalize_axis(axis, rank + 1, "stack");
    for (const any_tensor& p : parts)
        if (p.shape() != parts[0].shape())
            fail(errc::shape_mismatch, "stack",
                 {"shapes ", to_string(parts[0].shape()), " and ", to_string(p.shape()),
                  " differ"});
    if (at < rank) {  // joined along the axis behind the new one, and split there: no views
        shape to = parts[0].shape();
        to.insert(at, static_cast<std::int64_t>(parts.size()));
        return reshape(concat(parts, at), to);
    }
    std::vector<any_tensor> list;
    for (const any_tensor& p : parts) list.push_back(expand_dims(p, at));
    return concat(list, at);
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

PUMICE_BODY std::vector<any_tensor> split(const any_tensor& x, span<const std::int64_t> places,
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
    if (times < 0) fail(errc::invalid_argument, "repeat", {times, " times; at least 0 are wanted"});
    if (times == 1) return x;
    shape to = x.shape();
    to[at] = checked_multiply(to[at], times, "repeat");
    const shape two = detail::folded_at(x.shape(), at + 1);
    const any_tensor rows = reshape(x, {two[0], 1, two[1]});
    return reshape(broadcast_to(rows, {two[0], times, two[1]}), to);
}

PUMICE_BODY any_tensor tile(any_tensor x, span<const std::int64_t> repeats) {
    shape s = x.shape();
    while (s.size() < repeats.size()) s.insert(0, 1);
    x = reshape(x, s);
    array_list<mapped_axis> map = detail::plain_map(s);
    bool whole = true;
    for (std::size_t k = 0; k < repeats.size(); ++k) {
        if (repeats[k] < 0)
            fail(errc::invalid_argument, "tile", {repeats[k], " times; at least 0 are wanted"});
        if (repeats[k] == 1) continue;
        const std::size_t axis = s.size() - repeats.size() + k;
        mapped_axis& a = map[axis];
        a.how = fold::around;
        a.extent = s[static_cast<int>(axis)] = checked_multiply(a.length, repeats[k], "tile");
        whole = false;
    }
    return whole ? x : detail::read_by_map(x, s, std::move(map), nullptr, "tile");
}

PUMICE_BODY any_tensor roll(const any_tensor& x, std::int64_t shift,
                            std::optional<std::int64_t> axis) {
    const any_tensor from = axis ? x : reshape(x, {-1});
    const int at = axis ? normalize_axis(*axis, x.rank(), "roll") : 0;
    if (shift == 0 || x.size() == 0) return x;
    constexpr std::int64_t far = 1 << 30;  // nearer ones do not depend on the extent
    if (shift > far || shift < -far) shift %= from.shape()[at];
    array_list<mapped_axis> map = detail::plain_map(from.shape());
    map[static_cast<std::size_t>(at)].how = fold::around;
    map[static_cast<std::size_t>(at)].add = -shift;
    return detail::read_by_map(from, x.shape(), std::move(map), nullptr, "roll");
}

PUMICE_BODY any_tensor pad(any_tensor x, span<const pad_width> widths, pad_mode mode,
                           const any_operand& value) {
    if (widths.size() != x.shape().size())
        fail(errc::rank_mismatch, "pad", {widths.size(), " widths for rank ", x.rank()});
    any_operand fill = value;
    const bool fills = mode == pad_mode::constant;
    if (fills && !value.is_number) {
        const dtype types[] = {x.dtype(), fill.array.dtype()};
        if (types[0] != types[1]) detail::throw_types("pad", types, "needs one type; use astype");
        fill = reshape(fill.array, {});
    }
    constexpr fold folds[] = {fold::inside, fold::edge, fold::mirror, fold::around};
    array_list<mapped_axis> map = detail::plain_map(x.shape());
    shape to = x.shape();
    bool wider = false;
    for (int axis = 0; axis < x.rank(); ++axis) {
        const auto [before, after] = widths[static_cast<std::size_t>(axis)];
        const std::int64_t n = x.shape()[axis], most = std::int64_t(1) << 40;
        if (before == 0 && after == 0) continue;
        if (before < -n || after < -n || before > most || after > most || before + after < -n)
            fail(errc::shape_mismatch, "pad",
                 {"axis ", axis, " of ", to_string(x.shape()), " by ", before, " and ", after});
        to[axis] = n + before + after;
        mapped_axis& a = map[static_cast<std::size_t>(axis)];
        if (before <= 0 && after <= 0) {  // cut off: a view
            x = detail::cut(x, axis, -before, n + after);
            a.extent = a.length = to[axis];
            continue;
        }
        if (n == 0 && !fills)
            fail(errc::shape_mismatch, "pad", {"axis ", axis, " has no elements to repeat"});
        a = {folds[static_cast<int>(mode)], to[axis], -before, n};
        wider = true;
    }
    if (!wider) return x;
    if (x.size() == 0 && fills)
        return broadcast_to(fill.is_number ? detail::constant_like(x, fill.number, "pad")
                                           : fill.array,
                            to);
    return detail::read_by_map(x, to, std::move(map), fills ? &fill : nullptr, "pad");
}

#endif

}}  // namespace pumice::PUMICE_ABI
