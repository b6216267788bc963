// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Builders of TOSA's reductions, data layout, gather and resize operators.
#pragma once

#include <pumice/model/vgf/detail/tosa_elementwise.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf::build {

template <reduction What>
any_tensor reduce(const tosa_node& n) {
    const any_tensor x = n.tensor(1);
    const std::int64_t axis = n.axis(0, x);
    return pumice::reduce(What, x, span(&axis, 1), true);
}
template <reduction What, class Ignoring>
any_tensor reduce_extremum(const tosa_node& n) {
    const any_tensor x = n.tensor(2);
    const std::int64_t axis = n.axis(0, x);
    if (n.ignores_nan(1) && is_floating(x.dtype()))
        return pumice::reduce(op_info_of<Ignoring>, x, span(&axis, 1), true);
    return pumice::reduce(What, x, span(&axis, 1), true);
}
inline any_tensor argmax(const tosa_node& n) {
    any_tensor x = n.tensor(2);
    const std::int64_t axis = n.axis(0, x);
    if (n.ignores_nan(1) && is_floating(x.dtype()))
        x = apply<op::where>(apply<op::isnan>(x), -std::numeric_limits<double>::infinity(), x);
    return astype(pumice::reduce(reduction::argmax, x, span(&axis, 1)), n.type());
}

inline any_tensor join(const tosa_node& n) {
    n.require(n.inputs() > 1, {"it joins nothing"});
    std::vector<any_tensor> parts;
    for (std::size_t i = 1; i < n.inputs(); ++i) parts.push_back(n.tensor(i));
    return concat(parts, n.axis(0, parts[0]));
}
inline any_tensor pad(const tosa_node& n) {
    const any_tensor x = n.tensor(0);
    const auto list = n.integers(1, static_cast<std::size_t>(x.rank()) * 2);
    std::vector<pad_width> widths;
    for (std::size_t i = 0; i < list.size(); i += 2) {
        n.require(list[i] >= 0 && list[i + 1] >= 0, {"it pads by less than nothing"});
        widths.push_back({list[i], list[i + 1]});
    }
    return pumice::pad(x, widths, pad_mode::constant, scalar_of(n.tensor(2)));
}
inline any_tensor as_shape(const tosa_node& n) {
    const auto list = n.integers(1);
    n.require(list.size() <= max_rank, {"a shape of ", list.size(), " axes"});
    for (const std::int64_t d : list) n.require(d > 0, {"a shape with an axis of ", d});
    return reshape(n.tensor(0), shape(list));
}
inline any_tensor reverse(const tosa_node& n) {
    const any_tensor x = n.tensor(1);
    const std::int64_t axis = n.axis(0, x);
    return flip(x, span(&axis, 1));
}
inline any_tensor part(const tosa_node& n) {
    const any_tensor x = n.tensor(0);
    const auto rank = static_cast<std::size_t>(x.rank());
    const auto start = n.integers(1, rank), size = n.integers(2, rank);
    array_list<slice> slices;
    for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t extent = x.shape()[static_cast<int>(i)];
        n.require(start[i] >= 0 && size[i] > 0 && start[i] < extent && size[i] <= extent - start[i],
                  {"it cuts ", size[i], " from ", start[i], " on of an axis of ", extent});
        slices.push_back({start[i], start[i] + size[i], 1});
    }
    return slice_view(x, slices);
}
inline any_tensor repeat(const tosa_node& n) {
    const any_tensor x = n.tensor(0);
    const auto times = n.integers(1, static_cast<std::size_t>(x.rank()));
    for (std::size_t i = 0; i < times.size(); ++i)
        n.require(times[i] > 0 &&
                      x.shape()[static_cast<int>(i)] * times[i] == n.extent()[static_cast<int>(i)],
                  {"it repeats axis ", i, " ", times[i], " times"});
    return tile(x, times);
}
inline any_tensor transpose(const tosa_node& n) {
    const any_tensor x = n.tensor(1);
    return permute_dims(x, n.integers(0, static_cast<std::size_t>(x.rank())));
}

/// values (N, K, C), indices (N, W).
inline any_tensor gather(const tosa_node& n) {
    const any_tensor values = n.tensor(0), indices = n.tensor(1);
    n.require(values.rank() == 3 && indices.rank() == 2 && values.shape()[0] == indices.shape()[0],
              {"shapes ", to_string(values.shape()), " and ", to_string(indices.shape())});
    return gather_nd(values, expand_dims(indices, 2), 1);
}
inline any_tensor scatter(const tosa_node& n) {
    const any_tensor values = n.tensor(0), indices = n.tensor(1), updates = n.tensor(2);
    n.require(values.rank() == 3 && indices.rank() == 2 && updates.rank() == 3 &&
                  indices.shape() == shape{updates.shape()[0], updates.shape()[1]},
              {"shapes ", to_string(values.shape()), ", ", to_string(indices.shape()), " and ",
               to_string(updates.shape())});
    return scatter_elements(values, broadcast_to(expand_dims(indices, 2), updates.shape()), updates,
                            1);
}

/// Where the outputs along an axis lie between inputs: the one before, the one behind it, and how
/// many of `scale` parts further.
struct resized_axis {
    std::vector<std::int32_t> before, behind, part;
};
inline resized_axis resize_along(const tosa_node& n, std::int64_t from, std::int64_t to,
                                 std::int64_t scale, std::int64_t step, std::int64_t offset) {
    n.require(scale > 0 && step > 0 && scale <= 1 << 20 && step <= 1 << 20 &&
                  std::abs(offset) <= 1 << 20 && to <= 1 << 16,
              {"a scale of ", scale, "/", step, ", an offset of ", offset});
    resized_axis a;
    for (std::int64_t i = 0; i < to; ++i) {
        const std::int64_t at = i * step + offset;
        const std::int64_t whole = at >= 0 ? at / scale : -((-at + scale - 1) / scale);
        const auto clamped = [&](std::int64_t k) {
            return static_cast<std::int32_t>(std::clamp<std::int64_t>(k, 0, from - 1));
        };
        a.before.push_back(clamped(whole));
        a.behind.push_back(clamped(whole + 1));
        a.part.push_back(static_cast<std::int32_t>(at - whole * scale));
    }
    return a;
}

inline any_tensor resize(const tosa_node& n) {
    const std::int64_t mode = n.integer(0);
    n.require(mode == 1 || mode == 2, {"its mode is ", mode});
    any_tensor x = n.tensor(1);
    n.require(x.rank() == 4 && n.extent().rank() == 4,
              {"an input of shape ", to_string(x.shape())});
    const auto scale = n.integers(2, 4), offset = n.integers(3, 2);
    n.integers(4, 2);  // the border is what the result's shape already says
    for (int k = 0; k < 2; ++k) {
        const auto [of, by] = std::pair(scale[static_cast<std::size_t>(2 * k)],
                                        scale[static_cast<std::size_t>(2 * k + 1)]);
        resized_axis a = resize_along(n, x.shape()[1 + k], n.extent()[1 + k], of, by,
                                      offset[static_cast<std::size_t>(k)]);
        const auto list = [&](int key, const std::vector<std::int32_t>& values) {
            return n
                .own(4 * k + key,
                     make_constant<std::int32_t>(shape{static_cast<std::int64_t>(values.size())},
                                                 values));
        };
        if (mode == 1) {  // the nearest, in the middle the one behind
            for (std::size_t i = 0; i < a.part.size(); ++i)
                if (2 * a.part[i] >= of) a.before[i] = a.behind[i];
            x = take(x, list(0, a.before), 1 + k);
            continue;
        }
        shape beside{1, 1, 1, 1};
        beside[1 + k] = n.extent()[1 + k];
        const any_tensor part = reshape(list(2, a.part), beside);
        const dtype type = is_floating(x.dtype()) ? x.dtype() : n.type();
        const any_tensor low = astype(take(x, list(0, a.before), 1 + k), type),
                         high = astype(take(x, list(1, a.behind), 1 + k), type);
        if (is_floating(type)) {
            const any_tensor share = apply<op::divide>(astype(part, type), static_cast<double>(of));
            x = apply<op::add>(apply<op::multiply>(low, apply<op::subtract>(1.0, share)),
                               apply<op::multiply>(high, share));
        } else {
            const any_tensor share = astype(part, type);
            x = apply<op::add>(apply<op::multiply>(low, apply<op::subtract>(of, share)),
                               apply<op::multiply>(high, share));
        }
    }
    return x;
}

}}}  // namespace pumice::PUMICE_ABI::vgf::build
