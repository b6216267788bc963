// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Builders of TOSA's convolutions, pools and products: channels come last there, Pumice's windows
// have them first. Integers are multiplied where that is exact: in f32 up to 2^24, else in f64.
#pragma once

#include <pumice/graph/window.hpp>
#include <pumice/model/vgf/detail/tosa_elementwise.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf::build {

inline any_tensor channels_first(const any_tensor& x) {
    return permute_dims(x, std::array<std::int64_t, 4>{0, 3, 1, 2});
}
inline any_tensor channels_last(const any_tensor& x) {
    return permute_dims(x, std::array<std::int64_t, 4>{0, 2, 3, 1});
}
inline void need_image(const tosa_node& n, const any_tensor& x) {
    n.require(x.rank() == 4, {"an input of shape ", to_string(x.shape()), ", four axes are asked"});
}

/// The floating type in which sums of so many products are made.
inline dtype product_type(const any_tensor& x, const any_tensor& w, std::int64_t terms) {
    if (is_floating(x.dtype())) return x.dtype();
    const int bits = info(x.dtype()).bits + info(w.dtype()).bits + 1;  // with the zero points
    return bits < 24 && terms <= (std::int64_t(1) << (24 - bits)) ? dtype::f32 : dtype::f64;
}
/// The operand less its zero point.
inline any_tensor centred(const any_tensor& t, dtype type, std::int64_t zero) {
    const any_tensor x = astype(t, type);
    return zero == 0 ? x : apply<op::subtract>(x, zero);
}
inline std::int64_t zero_point(const tosa_node& n, std::size_t i, dtype of) {
    return is_floating(of) ? 0 : n.integer(i);
}

/// The attributes that windows share: pads are (top, bottom, left, right).
template <class Op>
void set_window(const tosa_node& n, Op& to, const std::vector<std::int64_t>& pads,
                const std::vector<std::int64_t>& stride) {
    for (std::size_t i = 0; i < 2; ++i) {
        to.pad_begin[i] = n.small(pads[2 * i], "a pad");
        to.pad_end[i] = n.small(pads[2 * i + 1], "a pad");
        to.stride[i] = n.small(stride[i], "a stride");
        n.require(to.stride[i] > 0, {"a stride of 0"});
    }
}

/// The sums, plus the bias, in the type that the operator gives.
inline any_tensor with_bias(const tosa_node& n, const any_tensor& sums, const any_tensor& bias) {
    const dtype to = n.computed(n.type());
    const any_tensor y = channels_last(sums);
    const any_tensor b = scalar_of(bias);
    if (is_floating(to)) return astype(apply<op::add>(y, astype(b, y.dtype())), to);
    return apply<op::add>(astype(y, to), astype(b, to));
}

template <bool Depthwise>
any_tensor conv(const tosa_node& n) {
    const any_tensor x = n.tensor(5);
    need_image(n, x);
    const any_tensor w = n.tensor(6);
    need_image(n, w);
    conv_op how;
    const auto dilation = n.integers(2, 2);
    set_window(n, how, n.integers(0, 4), n.integers(1, 2));
    for (std::size_t i = 0; i < 2; ++i) {
        how.dilation[i] = n.small(dilation[i], "a dilation");
        n.require(how.dilation[i] > 0, {"a dilation of 0"});
    }
    const shape& s = w.shape();  // (O, H, W, I), or of depthwise ones (H, W, C, M)
    const std::int64_t terms = Depthwise ? s[0] * s[1] : s[1] * s[2] * s[3];
    const dtype in = product_type(x, w, terms);
    if constexpr (Depthwise) how.group = n.small(s[2], "channels");
    const std::int64_t zero = zero_point(n, 9, w.dtype());
    const any_tensor kernel = n.derived(0, 6, [&](const any_tensor& t) {
        const any_tensor c = centred(t, in, zero);
        if constexpr (!Depthwise) return channels_first(c);
        const any_tensor turned = permute_dims(c, std::array<std::int64_t, 4>{2, 3, 0, 1});
        return reshape(turned, {s[2] * s[3], 1, s[0], s[1]});
    });
    const any_tensor image = channels_first(centred(x, in, zero_point(n, 8, x.dtype())));
    return with_bias(n, pumice::conv(image, kernel, how), n.tensor(7));
}

/// Zeros between the elements, then a convolution with the kernel turned around.
inline any_tensor transpose_conv(const tosa_node& n) {
    const auto pads = n.integers(0, 4), stride = n.integers(1, 2);
    const any_tensor x = n.tensor(4), w = n.tensor(5);
    need_image(n, x);
    need_image(n, w);
    const shape s = w.shape(), e = x.shape();
    for (std::size_t i = 0; i < 2; ++i)
        n.require(stride[i] > 0 && stride[i] <= 4096 && pads[2 * i] > -s[1 + static_cast<int>(i)] &&
                      pads[2 * i + 1] > -s[1 + static_cast<int>(i)] &&
                      std::abs(pads[2 * i]) <= 32767 && std::abs(pads[2 * i + 1]) <= 32767,
                  {"a stride of ", stride[i], ", pads of ", pads[2 * i], " and ", pads[2 * i + 1]});
    const dtype in = product_type(x, w, s[1] * s[2] * s[3]);
    any_tensor image = centred(x, in, zero_point(n, 7, x.dtype()));
    image = reshape(image, {e[0], e[1], 1, e[2], 1, e[3]});
    const pad_width widths[] = {{}, {}, {0, stride[0] - 1}, {}, {0, stride[1] - 1}, {}};
    image = reshape(pumice::pad(image, widths), {e[0], e[1] * stride[0], e[2] * stride[1], e[3]});
    const pad_width around[] = {{},
                                {s[1] - 1 + pads[0], s[1] - stride[0] + pads[1]},
                                {s[2] - 1 + pads[2], s[2] - stride[1] + pads[3]},
                                {}};
    image = channels_first(pumice::pad(image, around));
    const std::int64_t zero = zero_point(n, 8, w.dtype());
    const any_tensor kernel = n.derived(0, 5, [&](const any_tensor& t) {
        return channels_first(flip(centred(t, in, zero), std::array<std::int64_t, 2>{1, 2}));
    });
    return with_bias(n, pumice::conv(image, kernel, conv_op{}), n.tensor(6));
}

template <class Op>
void set_pool(const tosa_node& n, Op& how) {
    const auto window = n.integers(0, 2);
    set_window(n, how, n.integers(2, 4), n.integers(1, 2));
    for (std::size_t i = 0; i < 2; ++i) {
        how.window[i] = n.small(window[i], "a window");
        n.require(how.window[i] > 0, {"a window of 0"});
    }
}
inline any_tensor max_pool(const tosa_node& n) {
    const any_tensor x = n.tensor(4);
    need_image(n, x);
    if (n.ignores_nan(3) && is_floating(x.dtype())) n.unsupported({"nan_mode IGNORE of a pool"});
    pool_op how{pooling::max};
    set_pool(n, how);
    return channels_last(pool(channels_first(x), how));
}

/// Of each place of the result: how many elements its window has, as TOSA divides by it.
struct window_counts {
    std::vector<std::int32_t> multiplier;
    std::vector<std::int8_t> shift;
};
inline window_counts counts_of(const pool_op& how, const shape& in, const shape& out) {
    const auto inside = [&](int axis, std::int64_t at) {
        const auto i = static_cast<std::size_t>(axis);
        const std::int64_t begin = at * how.stride[i] - how.pad_begin[i];
        return std::min<std::int64_t>(begin + how.window[i], in[1 + axis]) -
               std::max<std::int64_t>(begin, 0);
    };
    window_counts made;
    for (std::int64_t y = 0; y < out[1]; ++y)
        for (std::int64_t x = 0; x < out[2]; ++x) {
            const std::int64_t count = std::max<std::int64_t>(inside(0, y) * inside(1, x), 1);
            int k = 0;
            while ((std::int64_t(1) << k) < count) ++k;
            made.multiplier.push_back(static_cast<std::int32_t>((((std::int64_t(1) << 30) + 1)
                                                                 << k) /
                                                                count));
            made.shift.push_back(static_cast<std::int8_t>(30 + k));
        }
    return made;
}
inline any_tensor average_pool(const tosa_node& n) {
    const any_tensor x = n.tensor(4);
    need_image(n, x);
    pool_op how{pooling::average};
    set_pool(n, how);
    if (is_floating(x.dtype())) return channels_last(pool(channels_first(x), how));
    const shape s = x.shape(), out = n.extent();
    n.require(out.rank() == 4 && out[1] * out[2] <= 1 << 20, {"a result of ", to_string(out)});
    const std::int64_t area = std::int64_t(how.window[0]) * how.window[1];
    n.require(area < 1 << 16, {"a window of ", area, " elements"});
    conv_op sum;
    for (std::size_t i = 0; i < 2; ++i)
        sum.stride[i] = how.stride[i], sum.pad_begin[i] = how.pad_begin[i],
        sum.pad_end[i] = how.pad_end[i];
    // Each channel is an image of its own, so the window of ones has one.
    const any_tensor image =
        reshape(channels_first(centred(x, dtype::f64, n.integer(5))), {s[0] * s[3], 1, s[1], s[2]});
    const std::vector<double> ones(static_cast<std::size_t>(area), 1.0);
    const any_tensor window =
        n.own(0, make_constant<double>(shape{1, 1, how.window[0], how.window[1]}, ones));
    const any_tensor sums = reshape(pumice::conv(image, window, sum), {s[0], s[3], out[1], out[2]});
    const window_counts c = counts_of(how, s, out);
    const shape beside{1, out[1], out[2], 1};
    const any_tensor multiplier = n.own(1, make_constant<std::int32_t>(beside, c.multiplier)),
                     shift = n.own(2, make_constant<std::int8_t>(beside, c.shift));
    const any_tensor scaled =
        apply<op::add>(apply_scale(channels_last(sums), multiplier, shift, false), n.integer(6));
    const auto [low, high] = range_of(n.type());
    return astype(apply<op::clip>(scaled, low, high), n.type());
}

inline any_tensor matmul(const tosa_node& n) {
    const any_tensor a = n.tensor(0), b = n.tensor(1);
    n.require(a.rank() == 3 && b.rank() == 3,
              {"shapes ", to_string(a.shape()), " and ", to_string(b.shape())});
    const dtype to = n.computed(n.type());
    if (is_floating(a.dtype())) return astype(pumice::matmul(a, b), to);
    return pumice::matmul(centred(a, to, n.integer(2)), centred(b, to, n.integer(3)));
}

}}}  // namespace pumice::PUMICE_ABI::vgf::build
