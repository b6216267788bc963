// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The rest of the array API, made of the ops that there are; of run-time types. None of these asks
// for a value, so a compiled function may have them (tensor/array_api.hpp has those that do).
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/graph/gather.hpp>
#include <pumice/graph/manipulation.hpp>
#include <pumice/graph/scan.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

/// Axes source[i] moved to destination[i], the others in their order: a view.
PUMICE_FUNCTION any_tensor moveaxis(const any_tensor& x, span<const std::int64_t> source,
                                    span<const std::int64_t> destination);

/// The last two axes exchanged: a view. Throws errc::rank_mismatch below rank 2.
PUMICE_FUNCTION any_tensor matrix_transpose(const any_tensor& x);

/// The tensors under their common shape: views.
PUMICE_FUNCTION std::vector<any_tensor> broadcast_arrays(span<const any_tensor> list);

/// Several axes of length 1 taken away.
PUMICE_FUNCTION any_tensor squeeze(const any_tensor& x, span<const std::int64_t> axes);

/// Elements moved on by shifts[i] along axes[i].
PUMICE_FUNCTION any_tensor roll(any_tensor x, span<const std::int64_t> shifts,
                                span<const std::int64_t> axes);

/// Sums of products over axes of_a[i] and of_b[i]; those left of a, then those left of b.
PUMICE_FUNCTION any_tensor tensordot(const any_tensor& a, const any_tensor& b,
                                     span<const std::int64_t> of_a, span<const std::int64_t> of_b);
/// Over the last `axes` axes of a and the first of b.
PUMICE_FUNCTION any_tensor tensordot(const any_tensor& a, const any_tensor& b,
                                     std::int64_t axes = 2);

/// Sums of products along one axis, the others broadcast.
PUMICE_FUNCTION any_tensor vecdot(const any_tensor& a, const any_tensor& b, std::int64_t axis = -1);

/// The k-th diagonal of the last two axes, as the last axis (NumPy diagonal).
PUMICE_FUNCTION any_tensor diagonal(const any_tensor& x, std::int64_t k = 0);
/// The sum of the k-th diagonal of the last two axes; integers are added up in 64 bits.
PUMICE_FUNCTION any_tensor trace(const any_tensor& x, std::int64_t k = 0);

/// Differences of neighbours along an axis, `n` times; `prepend` and `append`, where they are not
/// empty, are joined on first.
PUMICE_FUNCTION any_tensor diff(any_tensor x, std::int64_t axis = -1, std::int64_t n = 1,
                                const any_tensor& prepend = {}, const any_tensor& append = {});

/// How many elements are not 0, i64; over all axes where none is named. NaN is not 0.
PUMICE_FUNCTION any_tensor count_nonzero(const any_tensor& x, span<const std::int64_t> axes = {},
                                         bool keep = false);

/// Before the first element that is not less, or after the last that is not greater.
enum class side : std::uint8_t { left, right };

/// Where each of `values` would stand in a sorted vector, i64; `sorter` sorts it first where there
/// is one. NaN is greater than any number. Few are counted, in one kernel; among many a gather for
/// each power of 2 up to the length halves where to look.
PUMICE_FUNCTION any_tensor searchsorted(const any_tensor& sorted, const any_tensor& values,
                                        side from = side::left, const any_tensor& sorter = {});

#ifndef PUMICE_COMPILED

PUMICE_BODY any_tensor moveaxis(const any_tensor& x, span<const std::int64_t> source,
                                span<const std::int64_t> destination) {
    if (source.size() != destination.size())
        fail(errc::invalid_argument, "moveaxis",
             {source.size(), " axes to ", destination.size(), " places"});
    index_list order = index_list::filled(x.rank(), -1);
    unsigned moved = 0;
    for (std::size_t i = 0; i < source.size(); ++i) {
        const int from = normalize_axis(source[i], x.rank(), "moveaxis"),
                  to = normalize_axis(destination[i], x.rank(), "moveaxis");
        if ((moved & (1u << from)) || order[to] >= 0)
            fail(errc::invalid_argument, "moveaxis", {"an axis is named twice"});
        moved |= 1u << from;
        order[to] = from;
    }
    for (int from = 0, to = 0; from < x.rank(); ++from) {
        if (moved & (1u << from)) continue;
        while (order[to] >= 0) ++to;
        order[to] = from;
    }
    return permute_dims(x, {order.begin(), order.size()});
}

PUMICE_BODY any_tensor matrix_transpose(const any_tensor& x) {
    if (x.rank() < 2)
        fail(errc::rank_mismatch, "matrix_transpose",
             {"shape ", to_string(x.shape()), " has no last two axes"});
    const std::int64_t from[] = {-1}, to[] = {-2};
    return moveaxis(x, from, to);
}

PUMICE_BODY std::vector<any_tensor> broadcast_arrays(span<const any_tensor> list) {
    shape to;
    for (const any_tensor& x : list) to = broadcast(to, x.shape(), "broadcast_arrays");
    std::vector<any_tensor> made;
    for (const any_tensor& x : list) made.push_back(broadcast_to(x, to));
    return made;
}

PUMICE_BODY any_tensor squeeze(const any_tensor& x, span<const std::int64_t> axes) {
    const array_list<int> sorted = detail::normalize_axes(axes, x.rank(), "squeeze");
    any_tensor made = x;
    for (std::size_t i = sorted.size(); i-- > 0;) made = squeeze(made, sorted[i]);
    return made;
}

PUMICE_BODY any_tensor roll(any_tensor x, span<const std::int64_t> shifts,
                            span<const std::int64_t> axes) {
    if (shifts.size() != axes.size())
        fail(errc::invalid_argument, "roll", {shifts.size(), " shifts for ", axes.size(), " axes"});
    for (std::size_t i = 0; i < axes.size(); ++i) x = roll(x, shifts[i], axes[i]);
    return x;
}

PUMICE_BODY any_tensor tensordot(const any_tensor& a, const any_tensor& b,
                                 span<const std::int64_t> of_a, span<const std::int64_t> of_b) {
    if (of_a.size() != of_b.size())
        fail(errc::invalid_argument, "tensordot",
             {of_a.size(), " axes of one operand and ", of_b.size(), " of the other"});
    std::int64_t inner = 1;
    array_list<std::int64_t> first, last;  // the axes of a and b that are summed over, in order
    unsigned in_a = 0, in_b = 0;
    for (std::size_t i = 0; i < of_a.size(); ++i) {
        const int p = normalize_axis(of_a[i], a.rank(), "tensordot"),
                  q = normalize_axis(of_b[i], b.rank(), "tensordot");
        if ((in_a & (1u << p)) || (in_b & (1u << q)))
            fail(errc::invalid_argument, "tensordot", {"an axis is named twice"});
        if (a.shape()[p] != b.shape()[q])
            fail(errc::shape_mismatch, "tensordot",
                 {"axis ", p, " of ", to_string(a.shape()), " and axis ", q, " of ",
                  to_string(b.shape()), " differ"});
        in_a |= 1u << p, in_b |= 1u << q;
        first.push_back(p), last.push_back(q);
        inner = checked_multiply(inner, a.shape()[p], "tensordot");
    }
    shape out;
    std::int64_t rows = 1, columns = 1;
    array_list<std::int64_t> left;
    for (int i = 0; i < a.rank(); ++i) {
        if (in_a & (1u << i)) continue;
        left.push_back(i);
        rows = checked_multiply(rows, a.shape()[i], "tensordot");
        out.push_back(a.shape()[i]);
    }
    for (const std::int64_t p : first) left.push_back(p);
    for (int i = 0; i < b.rank(); ++i) {
        if (in_b & (1u << i)) continue;
        last.push_back(i);
        columns = checked_multiply(columns, b.shape()[i], "tensordot");
        out.push_back(b.shape()[i]);
    }
    return reshape(matmul(reshape(permute_dims(a, left), {rows, inner}),
                          reshape(permute_dims(b, last), {inner, columns})),
                   out);
}

PUMICE_BODY any_tensor tensordot(const any_tensor& a, const any_tensor& b, std::int64_t axes) {
    if (axes < 0 || axes > a.rank() || axes > b.rank())
        fail(errc::invalid_argument, "tensordot",
             {axes, " axes of ", to_string(a.shape()), " and ", to_string(b.shape())});
    array_list<std::int64_t> of_a, of_b;
    for (std::int64_t i = 0; i < axes; ++i) {
        of_a.push_back(a.rank() - axes + i);
        of_b.push_back(i);
    }
    return tensordot(a, b, of_a, of_b);
}

PUMICE_BODY any_tensor vecdot(const any_tensor& a, const any_tensor& b, std::int64_t axis) {
    const std::int64_t last[] = {-1}, along[] = {axis};
    const any_tensor x = moveaxis(a, along, last), y = moveaxis(b, along, last);
    if (x.shape().back() != y.shape().back())
        fail(errc::shape_mismatch, "vecdot",
             {"shapes ", to_string(a.shape()), " and ", to_string(b.shape()), " differ along axis ",
              axis});
    return reduce(reduction::sum, apply<op::multiply>(x, y), last);
}

PUMICE_BODY any_tensor diagonal(const any_tensor& x, std::int64_t k) {
    if (x.rank() < 2)
        fail(errc::rank_mismatch, "diagonal",
             {"shape ", to_string(x.shape()), " has no last two axes"});
    const std::int64_t rows = x.shape()[x.rank() - 2], columns = x.shape().back(),
                       length = std::max(std::int64_t{0}, k < 0 ? std::min(rows + k, columns)
                                                                : std::min(rows, columns - k));
    // Of a square, every (length + 1)-th element.
    shape extent;
    const std::int64_t down = k < 0 && length > 0 ? -k : 0, along = k > 0 && length > 0 ? k : 0;
    const any_tensor part = detail::cut(detail::cut(x, x.rank() - 2, down, down + length),
                                        x.rank() - 1, along, along + length);
    for (int i = 0; i < x.rank() - 2; ++i) extent.push_back(x.shape()[i]);
    shape flat = extent;
    flat.push_back(length * length);
    array_list<slice> slices(flat.size());
    slices.back().step = length + 1;
    return slice_view(reshape(part, flat), slices);
}
PUMICE_BODY any_tensor trace(const any_tensor& x, std::int64_t k) {
    const std::int64_t last[] = {-1};
    const dtype type = detail::reduced_in(reduction::sum, x.dtype());
    return reduce(reduction::sum, astype(diagonal(x, k), type), last);
}

PUMICE_BODY any_tensor diff(any_tensor x, std::int64_t axis, std::int64_t n,
                            const any_tensor& prepend, const any_tensor& append) {
    const int at = normalize_axis(axis, x.rank(), "diff");
    if (n < 0) fail(errc::invalid_argument, "diff", {n, " times; at least 0 are wanted"});
    if (n == 0) return x;
    array_list<any_tensor> parts;
    if (prepend.has_value()) parts.push_back(prepend);
    parts.push_back(x);
    if (append.has_value()) parts.push_back(append);
    if (parts.size() > 1) x = concat(parts, at);
    for (; n > 0; --n) {
        const std::int64_t length = x.shape()[at];
        if (length == 0) return x;
        x = apply<op::subtract>(detail::cut(x, at, 1, length), detail::cut(x, at, 0, length - 1));
    }
    return x;
}

PUMICE_BODY any_tensor count_nonzero(const any_tensor& x, span<const std::int64_t> axes,
                                     bool keep) {
    return reduce(reduction::sum, astype(astype(x, dtype::boolean), dtype::i64), axes, keep);
}

PUMICE_BODY any_tensor searchsorted(const any_tensor& sorted, const any_tensor& values, side from,
                                    const any_tensor& sorter) {
    const dtype types[] = {sorted.dtype(), values.dtype()};
    const auto common = promote(types[0], types[1]);
    if (!common || *common == dtype::boolean)
        detail::throw_types("searchsorted", types, "needs numbers of kinds that mix; use astype");
    if (sorted.rank() != 1)
        fail(errc::rank_mismatch, "searchsorted",
             {"needs a vector, not ", to_string(sorted.shape())});
    if (sorter.has_value() && sorter.shape() != sorted.shape())
        fail(errc::shape_mismatch, "searchsorted",
             {"a sorter of shape ", to_string(sorter.shape()), " for a vector of shape ",
              to_string(sorted.shape()), "; argsort gives one"});
    const std::int64_t n = sorted.size();
    const any_tensor x = astype(sorter.has_value() && n > 0 ? take(sorted, sorter, 0) : sorted,
                                *common),
                     v = astype(values, *common);
    const dtype type = n < 0x3fffffff ? dtype::i32 : dtype::i64;
    const auto before = [&](const any_tensor& at, const any_tensor& value) {
        const any_tensor under =
            from == side::left ? apply<op::less>(at, value) : apply<op::less_equal>(at, value);
        if (!is_floating(*common)) return under;
        any_tensor behind = apply<op::isnan>(value);
        if (from == side::left)
            behind = apply<op::logical_and>(behind, apply<op::logical_not>(apply<op::isnan>(at)));
        return apply<op::logical_or>(under, behind);
    };
    if (v.rank() < max_rank && n <= 65536 && v.size() <= 65536 && n * v.size() <= 65536) {
        const std::int64_t last[] = {-1};
        return astype(reduce(reduction::sum, astype(before(x, expand_dims(v, -1)), type), last),
                      dtype::i64);
    }
    any_tensor found =
        broadcast_to(detail::constant_like(astype(v, type), scalar(dtype::i64, 0), "searchsorted"),
                     v.shape());
    std::int64_t step = 1;
    while (step <= n / 2) step *= 2;
    for (; n > 0 && step > 0; step /= 2) {
        const any_tensor tried = apply<op::add>(found, step),
                         at = take(x, apply<op::subtract>(tried, std::int64_t{1}), 0);
        found =
            apply<op::where>(apply<op::logical_and>(before(at, v), apply<op::less_equal>(tried, n)),
                             tried, found);
    }
    return astype(found, dtype::i64);
}

#endif

}}  // namespace pumice::PUMICE_ABI
