// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Builders of ONNX operators that name axes or elements: Einsum, those that pick and put by tensors
// of indices, and those that sort.
#pragma once

#include <pumice/graph/einsum.hpp>
#include <pumice/graph/gather.hpp>
#include <pumice/model/onnx/detail/shape.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx::build {

inline any_tensor sum_products(node_builder& b) {
    std::vector<any_tensor> operands;
    for (int i = 0; i < b.inputs(); ++i) operands.push_back(b.tensor(i));
    return einsum(b.text("equation", ""), operands);
}

/// Known indices are checked here: a kernel clamps them, or leaves them out. `length` of a place in
/// the last axis, or of all.
inline void check_indices(node_builder& b, span<const std::int64_t> lengths) {
    if (!b.known(1) || b.value(1).size() > b.limits().folded_elements) return;
    const auto indices = constant_values<std::int64_t>(b.value(1));
    for (std::size_t k = 0; k < indices.size(); ++k) {
        const std::int64_t i = indices[k], length = lengths[k % lengths.size()];
        if (i < -length || i >= length)
            b.fail(errc::index_out_of_range,
                   "takes index " + std::to_string(i) + " of " + std::to_string(length));
    }
}
inline void check_tuples(node_builder& b, int first) {
    const shape &s = b.extent(0), &by = b.extent(1);
    if (!by.empty() && by.back() > 0 && first + by.back() <= s.rank())
        check_indices(b, span(s.begin() + first, static_cast<std::size_t>(by.back())));
}

inline scattering reduction_of(node_builder& b) {
    const auto name = b.text("reduction", "none");
    constexpr std::string_view names[] = {"none", "add", "mul", "max", "min"};  // as scattering
    const auto at = std::find(std::begin(names), std::end(names), name);
    if (at == std::end(names)) b.fail(errc::bad_file, "has an unknown reduction");
    return static_cast<scattering>(at - std::begin(names));
}

/// Indices may be shorter than the data along every axis, unlike NumPy's, which broadcast.
inline any_tensor gather_elements(node_builder& b) {
    const shape &s = b.extent(0), &by = b.extent(1);
    const int axis = normalize_axis(b.integer("axis", 0), s.rank(), "GatherElements");
    std::vector<slice> slices(s.size());
    bool fits = by.rank() == s.rank();
    for (int i = 0; fits && i < s.rank(); ++i) {
        if (i == axis) continue;
        fits = by[i] <= s[i];
        slices[static_cast<std::size_t>(i)].stop = by[i];
    }
    if (!fits)
        b.fail(errc::shape_mismatch,
               "has indices of shape " + to_string(by) + " for data of " + to_string(s));
    const std::int64_t length[] = {s[axis]};
    check_indices(b, length);
    return take_along_axis(slice_view(b.tensor(0), slices), b.tensor(1), axis);
}

inline any_tensor gather_tuples(node_builder& b) {
    const std::int64_t batch = b.integer("batch_dims", 0);
    if (batch >= 0 && batch < b.extent(0).rank()) check_tuples(b, static_cast<int>(batch));
    return gather_nd(b.tensor(0), b.tensor(1), batch);
}

inline any_tensor scatter_along(node_builder& b) {
    const int axis = normalize_axis(b.integer("axis", 0), b.extent(0).rank(), "ScatterElements");
    const std::int64_t length[] = {b.extent(0)[axis]};
    check_indices(b, length);
    return scatter_elements(b.tensor(0), b.tensor(1), b.tensor(2), axis, reduction_of(b));
}

inline any_tensor scatter_tuples(node_builder& b) {
    check_tuples(b, 0);
    return scatter_nd(b.tensor(0), b.tensor(1), b.tensor(2), reduction_of(b));
}

/// The number of elements is an input from operator set 10 on, an attribute before.
inline any_tensor top(node_builder& b) {
    const auto given =
        b.opset() >= 10 ? b.input_integers(1) : std::vector<std::int64_t>{b.integer("k", -1)};
    if (given.size() != 1) b.fail(errc::bad_file, "needs one number of elements");
    b.ignore("sorted");  // they are
    const top_elements r =
        top_k(b.tensor(0), given[0], b.integer("axis", -1), b.integer("largest", 1) != 0);
    if (b.wants(1)) b.set(1, r.indices);
    return r.values;
}

}}}  // namespace pumice::PUMICE_ABI::onnx::build
