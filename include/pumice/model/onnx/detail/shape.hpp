// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Builders of ONNX operators that move elements or know shapes: mostly views, which cost nothing.
#pragma once

#include <pumice/model/onnx/detail/node_builder.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx::build {

/// The integers of an attribute, or of input i from the operator set `since` on; empty where
/// neither is there.
inline std::optional<std::vector<std::int64_t>> list_of(node_builder& b, const char* attribute,
                                                        int i, int since,
                                                        node_builder::also also = {}) {
    if (b.opset() < since) return b.integers(attribute);
    return b.has(i) ? std::optional(b.input_integers(i, also)) : std::nullopt;
}

/// A view under another shape that only adds or drops axes of length 1.
inline any_tensor respace(const any_tensor& x, const shape& to) {
    if (x.get()->realised() || !x.get()->op.is<view_op>()) return reshape(x, to);
    any_tensor y = x;  // a view keeps its strides, where reshape would copy
    for (int i = y.rank() - 1; i >= 0; --i)
        if (y.shape()[i] == 1) y = squeeze(y, i);
    for (int i = 0; i < to.rank(); ++i)
        if (to[i] == 1) y = expand_dims(y, i);
    return y;
}

/// 0 keeps the input's extent (unless allowzero), -1 takes what is left.
inline any_tensor reshape_to(node_builder& b) {
    const auto wanted = list_of(b, "shape", 1, 5);
    if (!wanted) b.fail(errc::bad_file, "lacks the shape");
    const bool allow_zero = b.opset() >= 14 && b.integer("allowzero", 0) != 0;
    const any_tensor x = b.tensor(0);
    shape to;
    for (std::size_t i = 0; i < wanted->size(); ++i) {
        std::int64_t d = (*wanted)[i];
        if (d == 0 && !allow_zero) {
            if (static_cast<int>(i) >= x.rank())
                b.fail(errc::shape_mismatch, "copies extent " + std::to_string(i) +
                                                 " of the shape " + to_string(x.shape()));
            d = x.shape()[static_cast<int>(i)];
        }
        to.push_back(d);
    }
    return reshape(x, to);
}

/// The axes before `axis` as one, the others as one.
inline shape as_matrix(const shape& s, std::int64_t axis) {
    shape to{1, 1};
    for (int i = 0; i < s.rank(); ++i)
        to[i < axis ? 0 : 1] = checked_multiply(to[i < axis ? 0 : 1], s[i], "onnx");
    return to;
}

inline any_tensor flatten(node_builder& b) {
    const any_tensor x = b.tensor(0);
    std::int64_t axis = b.integer("axis", 1);
    if (axis < -x.rank() || axis > x.rank())
        b.fail(errc::axis_out_of_range,
               "has axis " + std::to_string(axis) + " for rank " + std::to_string(x.rank()));
    if (axis < 0) axis += x.rank();
    return reshape(x, as_matrix(x.shape(), axis));
}

inline any_tensor squeeze_axes(node_builder& b) {
    const auto axes = list_of(b, "axes", 1, 13, {.single = true});
    const any_tensor x = b.tensor(0);
    std::vector<bool> gone(static_cast<std::size_t>(x.rank()));
    if (!axes)
        for (int i = 0; i < x.rank(); ++i) gone[static_cast<std::size_t>(i)] = x.shape()[i] == 1;
    else
        for (int i : b.axes_of(*axes, x.rank())) {
            if (x.shape()[i] != 1)
                b.fail(errc::shape_mismatch, "squeezes axis " + std::to_string(i) +
                                                 " of the shape " + to_string(x.shape()));
            gone[static_cast<std::size_t>(i)] = true;
        }
    shape to;
    for (int i = 0; i < x.rank(); ++i)
        if (!gone[static_cast<std::size_t>(i)]) to.push_back(x.shape()[i]);
    return respace(x, to);
}

inline any_tensor unsqueeze_axes(node_builder& b) {
    const auto axes = list_of(b, "axes", 1, 13, {.single = true});
    if (!axes) b.fail(errc::bad_file, "lacks the axes");
    const any_tensor x = b.tensor(0);
    if (axes->size() + x.shape().size() > max_rank)
        b.fail(errc::rank_mismatch, "makes more than 8 axes");
    const int rank = x.rank() + static_cast<int>(axes->size());
    std::vector<bool> fresh(static_cast<std::size_t>(rank));
    for (int i : b.axes_of(*axes, rank)) fresh[static_cast<std::size_t>(i)] = true;
    shape to;
    for (int i = 0, from = 0; i < rank; ++i)
        to.push_back(fresh[static_cast<std::size_t>(i)] ? 1 : x.shape()[from++]);
    return respace(x, to);
}

inline any_tensor transpose(node_builder& b) {
    const any_tensor x = b.tensor(0);
    auto order = b.integers("perm");
    if (!order) {
        order.emplace();
        for (int i = x.rank(); i-- > 0;) order->push_back(i);
    }
    for (std::int64_t a : *order)
        if (a < 0)
            b.fail(errc::bad_file, "has the negative axis " + std::to_string(a) + " in perm");
    return permute_dims(x, *order);
}

/// Known as soon as the input's shape is, which is when the graph is built.
inline any_tensor shape_of(node_builder& b) {
    const shape& s = b.extent(0);
    const std::int64_t rank = s.rank();
    const auto place = [&](std::int64_t i) {
        return std::clamp<std::int64_t>(i < 0 ? i + rank : i, 0, rank);
    };
    const std::int64_t start = place(b.integer("start", 0)), end = place(b.integer("end", rank));
    std::vector<std::int64_t> values;
    for (std::int64_t i = start; i < end; ++i) values.push_back(s[static_cast<int>(i)]);
    return make_constant(values);
}
inline any_tensor size_of(node_builder& b) {
    const std::int64_t n = b.value(0).size();
    return make_constant<std::int64_t>(shape{}, span(&n, 1));
}

inline shape to_shape(node_builder& b, span<const std::int64_t> values) {
    if (values.size() > max_rank)
        b.fail(errc::rank_mismatch,
               "makes " + std::to_string(values.size()) + " axes, at most 8 are supported");
    const shape s(values);
    element_count(s);
    return s;
}

inline any_tensor expand(node_builder& b) {
    const any_tensor x = b.tensor(0);
    return broadcast_to(x, broadcast(x.shape(), to_shape(b, b.input_integers(1)), "Expand"));
}

}}}  // namespace pumice::PUMICE_ABI::onnx::build
