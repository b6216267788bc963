// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Builders of ONNX operators that cut, join, repeat and pick: Concat, Slice, Gather, Tile, Split.
#pragma once

#include <pumice/graph/manipulation.hpp>
#include <pumice/model/onnx/detail/shape.hpp>

#include <algorithm>
#include <numeric>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx::build {

inline any_tensor join(node_builder& b) {
    std::vector<any_tensor> parts;
    for (int i = 0; i < b.inputs(); ++i) parts.push_back(b.tensor(i));
    const auto* axis = b.find("axis", attribute_type::integer);
    if (!axis && b.opset() >= 4) b.fail(errc::bad_file, "lacks the attribute \"axis\"");
    return concat(parts, axis ? axis->integer : 1);
}

/// Starts, ends, axes and steps are inputs from operator set 10 on, attributes before.
inline any_tensor slice_axes(node_builder& b) {
    const auto starts = list_of(b, "starts", 1, 10, {.narrow = true}),
               ends = list_of(b, "ends", 2, 10, {.narrow = true}),
               given = list_of(b, "axes", 3, 10, {.narrow = true});
    const auto steps = b.opset() >= 10 && b.has(4)
                           ? std::optional(b.input_integers(4, {.narrow = true}))
                           : std::nullopt;
    if (!starts || !ends) b.fail(errc::bad_file, "lacks starts or ends");
    for (int i = 2; b.opset() >= 10 && i < b.inputs(); ++i)
        if (b.has(i) && b.value(i).dtype() != b.value(1).dtype())
            b.fail(errc::bad_file, cat({"has starts of ", to_string(b.value(1).dtype()),
                                        " and input ", i, " of ", to_string(b.value(i).dtype())}));
    const any_tensor x = b.tensor(0);
    if (ends->size() != starts->size() || (given && given->size() != starts->size()) ||
        (steps && steps->size() != starts->size()))
        b.fail(errc::bad_file, "has starts, ends, axes and steps of unequal number");
    std::vector<std::int64_t> counted(starts->size());
    std::iota(counted.begin(), counted.end(), 0);
    const std::vector<int> axes = b.axes_of(given ? *given : counted, x.rank());
    std::vector<slice> slices(x.shape().size());
    for (std::size_t k = 0; k < axes.size(); ++k) {
        const int i = axes[k];
        const std::int64_t most =
            std::max<std::int64_t>(x.shape()[i], 1);  // a longer step takes one element too
        slices[static_cast<std::size_t>(i)] = {(*starts)[k], (*ends)[k],
                                               std::clamp(steps ? (*steps)[k] : 1, -most, most)};
    }
    return slice_view(x, slices);
}

inline any_tensor gather(node_builder& b) {
    const any_tensor& values = b.value(0);
    const int axis = normalize_axis(b.integer("axis", 0), values.rank(), "Gather");
    const std::int64_t length = values.shape()[axis];
    if (b.known(1) && b.value(1).size() <= b.limits().folded_elements) {
        const auto indices = constant_values<std::int64_t>(b.value(1));
        for (std::int64_t i : indices)
            if (i < -length || i >= length)
                b.fail(errc::index_out_of_range,
                       "takes index " + std::to_string(i) + " of " + std::to_string(length));
        if (b.value(1).rank() == 0) {  // one known index is a view
            std::vector<slice> slices(values.shape().size());
            const std::int64_t i = indices[0] < 0 ? indices[0] + length : indices[0];
            slices[static_cast<std::size_t>(axis)] = {i, i + 1, 1};
            return squeeze(slice_view(b.tensor(0), slices), axis);
        }
    }
    return take(b.tensor(0), b.tensor(1), axis);
}

inline any_tensor tile(node_builder& b) {
    const any_tensor x = b.tensor(0);
    const auto repeats = b.input_integers(1);
    if (repeats.size() != x.shape().size())
        b.fail(errc::bad_file, "has " + std::to_string(repeats.size()) + " repeats for rank " +
                                   std::to_string(x.rank()));
    return pumice::tile(x, repeats);
}

inline any_tensor split(node_builder& b) {
    const any_tensor x = b.tensor(0);
    const int axis = normalize_axis(b.integer("axis", 0), x.rank(), "Split");
    const std::int64_t length = x.shape()[axis];
    auto parts = list_of(b, "split", 1, 13);
    if (parts && b.find("num_outputs")) b.fail(errc::bad_file, "has both split and num_outputs");
    const std::int64_t count = b.integer("num_outputs", static_cast<std::int64_t>(b.outputs()));
    if (std::cmp_not_equal(count, b.outputs()))
        b.fail(errc::bad_file, "has another number of outputs than num_outputs");
    if (!parts) {
        const std::int64_t each = (length + count - 1) / count;
        parts.emplace();
        for (std::int64_t left = length; std::cmp_less(parts->size(), count); left -= parts->back())
            parts->push_back(std::min(each, left));
    }
    if (parts->empty() || parts->size() != b.outputs())
        b.fail(errc::bad_file, "splits into another number than its outputs");
    std::vector<std::int64_t> places;
    std::int64_t at = 0;
    for (const std::int64_t n : *parts) {
        if (n < 0 || n > length - at)
            b.fail(errc::shape_mismatch,
                   "splits an axis of " + std::to_string(length) + " into more");
        places.push_back(at += n);
    }
    if (at != length)
        b.fail(errc::shape_mismatch,
               "splits an axis of " + std::to_string(length) + " into " + std::to_string(at));
    places.pop_back();
    const std::vector<any_tensor> made = pumice::split(x, places, axis);
    for (std::size_t k = 1; k < made.size(); ++k) b.set(k, made[k]);
    return made[0];
}

/// Blocks of pixels to channels and back: a transposition of six axes.
inline any_tensor between_depth_and_space(node_builder& b, bool to_space) {
    const any_tensor x = b.tensor(0);
    const shape& s = x.shape();
    const std::int64_t n = b.integer("blocksize", 0);
    const auto mode = b.text("mode", "DCR");
    if (mode != "DCR" && mode != "CRD")
        b.fail(errc::bad_file, "has an unknown mode: " + std::string(mode.substr(0, 32)));
    const bool column_first = mode == "CRD";
    if (s.rank() != 4 || n < 1 || n > 32767 ||
        (to_space ? s[1] % (n * n) != 0 : s[2] % n != 0 || s[3] % n != 0))
        b.fail(errc::shape_mismatch,
               "does not fit blocks of " + std::to_string(n) + " to the shape " + to_string(s));
    if (!to_space) {
        const std::int64_t dcr[] = {0, 3, 5, 1, 2, 4}, crd[] = {0, 1, 3, 5, 2, 4};
        const any_tensor split = reshape(x, {s[0], s[1], s[2] / n, n, s[3] / n, n});
        return reshape(permute_dims(split, column_first ? crd : dcr),
                       {s[0], s[1] * n * n, s[2] / n, s[3] / n});
    }
    const std::int64_t depth = s[1] / (n * n), dcr[] = {0, 3, 4, 1, 5, 2},
                       crd[] = {0, 1, 4, 2, 5, 3};
    const any_tensor split = reshape(x, column_first ? shape{s[0], depth, n, n, s[2], s[3]}
                                                     : shape{s[0], n, n, depth, s[2], s[3]});
    return reshape(permute_dims(split, column_first ? crd : dcr),
                   {s[0], depth, s[2] * n, s[3] * n});
}
inline any_tensor depth_to_space(node_builder& b) { return between_depth_and_space(b, true); }
inline any_tensor space_to_depth(node_builder& b) { return between_depth_and_space(b, false); }

}}}  // namespace pumice::PUMICE_ABI::onnx::build
