// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Elements picked by tensors of indices and put where indices say, and sorting, which is both.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/expr/ops.hpp>
#include <pumice/graph/build.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// The element at indices[c] along `axis` for each c of indices, which broadcasts with values along
/// the others (array API take_along_axis, ONNX GatherElements). Indices as for `take`.
PUMICE_FUNCTION any_tensor take_along_axis(const any_tensor& values, const any_tensor& indices,
                                           std::int64_t axis = -1);

/// ONNX GatherND: the last axis of indices holds an index for each of the axes of values from
/// `batch_axes` on, or for some; the axes before are common to both. Indices as for `take`.
PUMICE_FUNCTION any_tensor gather_nd(const any_tensor& values, const any_tensor& indices,
                                     std::int64_t batch_axes = 0);

/// data with updates[c] joined to the element at indices[c] along `axis` (ONNX ScatterElements).
/// Negative indices count from the end; an update whose index lies outside is left out. Updates of
/// one element join in row-major order; without a reduction the last of them stays. A number is
/// the update of every index, and takes the type of `data`.
PUMICE_FUNCTION any_tensor scatter_elements(const any_tensor& data, const any_tensor& indices,
                                            const any_operand& updates, std::int64_t axis = 0,
                                            scattering what = scattering::replace);

/// The same with tuples of indices as in gather_nd, each for a slice (ONNX ScatterND).
PUMICE_FUNCTION any_tensor scatter_nd(const any_tensor& data, const any_tensor& indices,
                                      const any_operand& updates,
                                      scattering what = scattering::replace);

/// Where the elements along `axis` lie in order, i64. Equal ones keep their order, descending too.
/// NaN is greater than any number, so last in ascending order, and -0 equals 0.
PUMICE_FUNCTION any_tensor argsort(const any_tensor& x, std::int64_t axis = -1,
                                   bool descending = false);
/// The elements in that order.
PUMICE_FUNCTION any_tensor sort(const any_tensor& x, std::int64_t axis = -1,
                                bool descending = false);
/// Along the last axis: a truth value is no axis.
inline any_tensor argsort(const any_tensor& x, std::same_as<bool> auto descending) {
    return argsort(x, -1, descending);
}
/// Along the last axis: a truth value is no axis.
inline any_tensor sort(const any_tensor& x, std::same_as<bool> auto descending) {
    return sort(x, -1, descending);
}

/// The k greatest (or least) elements along `axis`, in order, and where they lie. Devices sort
/// the whole axis.
struct top_elements {
    any_tensor values, indices;
};
PUMICE_FUNCTION top_elements top_k(const any_tensor& x, std::int64_t k, std::int64_t axis = -1,
                                   bool largest = true);
/// Along the last axis: a truth value is no axis.
inline top_elements top_k(const any_tensor& x, std::int64_t k, std::same_as<bool> auto largest) {
    return top_k(x, k, -1, largest);
}

#ifndef PUMICE_COMPILED

namespace detail {

PUMICE_FUNCTION void need_indices(const any_tensor& indices, const char* place) {
    const dtype type = indices.dtype();
    if (type != dtype::i32 && type != dtype::i64)
        throw_types(place, span(&type, 1), "indices must be i32 or i64");
}

/// The updates as a tensor of the shape `wanted`.
PUMICE_FUNCTION any_tensor updates_of(const any_tensor& data, const any_operand& given,
                                      const shape& wanted, scattering what, const char* place) {
    const any_tensor updates = given.is_number
                                   ? broadcast_to(constant_like(data, given.number, place), wanted)
                                   : given.array;
    const dtype types[] = {data.dtype(), updates.dtype()};
    if (types[0] != types[1]) throw_types(place, types, "needs one type; use astype");
    if (what != scattering::replace && types[0] == dtype::boolean)
        throw_types(place, types, "a reduction needs numbers; use astype");
    if (updates.shape() != wanted)
        fail(errc::shape_mismatch, place,
             {"updates of shape ", to_string(updates.shape()), ", not ", to_string(wanted)});
    return updates;
}

/// Numbers of rows of an array, from indices into its axes, in the indices' type or i64 where rows
/// are many. An index outside gives a number below 0 or above those of the rows.
template <int = 0>
class row_numbers {
public:
    row_numbers(const shape& extent_, int axes, dtype type) : type_(type), alone_(axes == 1) {
        for (int i = 0; i < axes; ++i) {
            rows_ = checked_multiply(rows_, extent_[i], "scatter");
            if (extent_[i] > 0x7fffffff || rows_ > 0x7fffffff) type_ = dtype::i64;
        }
    }
    std::int64_t rows() const noexcept { return rows_; }

    /// The next axis, of `length`, is indexed by `index`; `open` where it may be negative or
    /// outside.
    void add(any_tensor index, std::int64_t length, bool open) {
        index = astype(index, type_);
        if (open) {
            index = apply<op::where>(apply<op::less>(index, std::int64_t{0}),
                                     apply<op::add>(index, length), index);
            if (alone_) {
                number_ = index;
                return;
            }
            const any_tensor inside =
                apply<op::logical_and>(apply<op::greater_equal>(index, std::int64_t{0}),
                                       apply<op::less>(index, length));
            valid_ = valid_.has_value() ? apply<op::logical_and>(valid_, inside) : inside;
        }
        number_ = number_.has_value() ? apply<op::add>(apply<op::multiply>(number_, length), index)
                                      : index;
    }
    any_tensor get() const { return alone_ ? number_ : apply<op::where>(valid_, number_, rows_); }

private:
    dtype type_;
    bool alone_;  // of one axis what is outside stays so
    std::int64_t rows_ = 1;
    any_tensor number_, valid_;
};

/// The coordinate along `axis` of each element of `like`.
PUMICE_FUNCTION any_tensor coordinate(const any_tensor& like, int axis) {
    auto body = std::make_shared<program>();
    const auto iota = body->push({instruction::code::iota, like.dtype(), 0, {}, nullptr});
    body->outputs.push_back(iota);
    node_ptr n =
        make_node(like.dtype(), like.shape(), elementwise_op{std::move(body), {}, {axis}}, {});
    n->owner = like.get()->owner;
    return any_tensor(std::move(n));
}

/// Sorts the keys, so that all updates of a row are neighbours and stay in order.
PUMICE_FUNCTION any_tensor scatter_rows_of(const any_tensor& data, const any_tensor& keys,
                                           const any_tensor& updates, std::int64_t rows,
                                           std::int64_t width, scattering what) {
    const std::int64_t count = keys.size();
    if (count == 0 || data.size() == 0) return data;
    const any_tensor flat = reshape(keys, {count}), order = argsort(flat, 0);
    const any_tensor parts[] = {reshape(data, {rows, width}), take(flat, order, 0), order,
                                reshape(updates, {count, width})};
    array_list<node_ptr> inputs;
    for (const any_tensor& t : parts) inputs.push_back(t.get());
    return reshape(any_tensor(make_node(data.dtype(), {rows, width}, scatter_op{what},
                                        std::move(inputs))),
                   data.shape());
}

}  // namespace detail

PUMICE_BODY any_tensor take_along_axis(const any_tensor& values, const any_tensor& indices,
                                       std::int64_t axis) {
    detail::need_indices(indices, "take_along_axis");
    const int at = normalize_axis(axis, values.rank(), "take_along_axis");
    if (indices.rank() != values.rank())
        fail(errc::rank_mismatch, "take_along_axis",
             {"indices of shape ", to_string(indices.shape()), " for values of ",
              to_string(values.shape())});
    shape from = values.shape(), by = indices.shape();
    from[at] = by[at] = 1;
    shape out = broadcast(from, by, "take_along_axis");
    from = by = out;
    from[at] = values.shape()[at];
    by[at] = indices.shape()[at];
    if (from[at] == 0 && element_count(by) != 0)
        fail(errc::index_out_of_range, "take_along_axis",
             {"axis ", at, " of ", to_string(values.shape()), " has no elements to take"});
    const any_tensor x = broadcast_to(values, from), i = broadcast_to(indices, by);
    return any_tensor(make_node(values.dtype(), by, take_op{at, taking::elements},
                                {x.get(), i.get()}));
}

PUMICE_BODY any_tensor gather_nd(const any_tensor& values, const any_tensor& indices,
                                 std::int64_t batch_axes) {
    detail::need_indices(indices, "gather_nd");
    const shape &from = values.shape(), &by = indices.shape();
    if (batch_axes < 0 || batch_axes >= by.rank() || batch_axes >= from.rank())
        fail(errc::invalid_argument, "gather_nd",
             {batch_axes, " batch axes of ", to_string(from), " and ", to_string(by)});
    const int batch = static_cast<int>(batch_axes);
    for (int i = 0; i < batch; ++i)
        if (from[i] != by[i])
            fail(errc::shape_mismatch, "gather_nd",
                 {"shapes ", to_string(from), " and ", to_string(by), " differ at batch axis ", i});
    if (by.back() < 1 || by.back() > from.rank() - batch)
        fail(errc::shape_mismatch, "gather_nd",
             {"indices of shape ", to_string(by), " for ", from.rank() - batch, " axes"});
    const int picked = static_cast<int>(by.back());
    shape out(span(by.begin(), by.size() - 1));
    for (int i = batch + picked; i < from.rank(); ++i) out.push_back(from[i]);
    for (int i = batch; i < batch + picked; ++i)
        if (from[i] == 0 && element_count(out) != 0)
            fail(errc::index_out_of_range, "gather_nd",
                 {"axis ", i, " of ", to_string(from), " has no elements to take"});
    return any_tensor(make_node(values.dtype(), out, take_op{batch, taking::tuples},
                                {values.get(), indices.get()}));
}

PUMICE_BODY any_tensor scatter_elements(const any_tensor& data, const any_tensor& indices,
                                        const any_operand& given, std::int64_t axis,
                                        scattering what) {
    detail::need_indices(indices, "scatter_elements");
    const int at = normalize_axis(axis, data.rank(), "scatter_elements");
    const shape &to = data.shape(), &by = indices.shape();
    bool fits = by.rank() == to.rank();
    for (int i = 0; fits && i < to.rank(); ++i) fits = i == at || by[i] <= to[i];
    if (!fits)
        fail(errc::shape_mismatch, "scatter_elements",
             {"indices of shape ", to_string(by), " do not lie within ", to_string(to)});
    const any_tensor updates = detail::updates_of(data, given, by, what, "scatter_elements");
    detail::row_numbers<> keys(to, to.rank(), indices.dtype());
    for (int i = 0; i < to.rank(); ++i)
        keys.add(i == at ? indices : detail::coordinate(indices, i), to[i], i == at);
    return detail::scatter_rows_of(data, keys.get(), updates, keys.rows(), 1, what);
}

PUMICE_BODY any_tensor scatter_nd(const any_tensor& data, const any_tensor& indices,
                                  const any_operand& given, scattering what) {
    detail::need_indices(indices, "scatter_nd");
    const shape &to = data.shape(), &by = indices.shape();
    if (by.empty() || by.back() < 1 || by.back() > to.rank())
        fail(errc::shape_mismatch, "scatter_nd",
             {"indices of shape ", to_string(by), " for ", to.rank(), " axes"});
    const int picked = static_cast<int>(by.back());
    shape wanted(span(by.begin(), by.size() - 1));
    std::int64_t width = 1;
    for (int i = picked; i < to.rank(); ++i) {
        wanted.push_back(to[i]);
        width = checked_multiply(width, to[i], "scatter_nd");
    }
    const any_tensor updates = detail::updates_of(data, given, wanted, what, "scatter_nd");
    detail::row_numbers<> keys(to, picked, indices.dtype());
    array_list<slice> slices(by.size());
    for (int k = 0; k < picked; ++k) {
        slices.back() = {k, k + 1, 1};
        keys.add(squeeze(slice_view(indices, slices), -1), to[k], true);
    }
    return detail::scatter_rows_of(data, keys.get(), updates, keys.rows(), width, what);
}

PUMICE_BODY any_tensor argsort(const any_tensor& x, std::int64_t axis, bool descending) {
    const sort_op op{normalize_axis(axis, x.rank(), "sort"), descending};
    return any_tensor(make_node(dtype::i64, x.shape(), op, {x.get()}));
}

PUMICE_BODY any_tensor sort(const any_tensor& x, std::int64_t axis, bool descending) {
    if (x.size() == 0) return x;
    return take_along_axis(x, argsort(x, axis, descending), axis);
}

PUMICE_BODY top_elements top_k(const any_tensor& x, std::int64_t k, std::int64_t axis,
                               bool largest) {
    const int at = normalize_axis(axis, x.rank(), "top_k");
    shape extent = x.shape();
    if (k < 0 || k > extent[at])
        fail(errc::invalid_argument, "top_k",
             {k, " of the ", extent[at], " elements along axis ", at});
    const sort_op op{at, largest, k};
    extent[at] = k;
    const any_tensor indices(make_node(dtype::i64, extent, op, {x.get()}));
    return {take_along_axis(x, indices, at), indices};
}

#endif

}}  // namespace pumice::PUMICE_ABI
