// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Builders of what slides a window over two spatial axes: convolution and pooling.
#pragma once

#include <pumice/graph/build.hpp>

#include <limits>

namespace pumice { inline namespace PUMICE_ABI {

/// ONNX Conv over two spatial axes: x (N, C, H, W), weight (M, C / group, kH, kW), of one type of
/// numbers. Integers are summed modulo 2^32 or 2^64.
PUMICE_FUNCTION any_tensor conv(const any_tensor& x, const any_tensor& weight,
                                const conv_op& options = {});

/// ONNX MaxPool or AveragePool over two spatial axes of x (N, C, H, W).
PUMICE_FUNCTION any_tensor pool(const any_tensor& x, pool_op options);

namespace detail {

/// Elements from the first to the last that a window reads. Pre: both are positive.
constexpr std::int64_t window_reach(std::int64_t window, int dilation, const char* place) {
    return checked_add(checked_multiply(window - 1, dilation, place), 1, place);
}

/// Output length of a sliding window; throws when the window does not fit, and for positions that
/// kernels, which count them in 32 bits, cannot tell apart.
inline std::int64_t window_count(std::int64_t length, std::int64_t window, int stride, int dilation,
                                 int pad_begin, int pad_end, bool ceil_mode, const char* place) {
    if (stride <= 0 || dilation <= 0 || window <= 0)
        fail(errc::invalid_argument, place,
             {"stride ", stride, ", dilation ", dilation, ", window ", window,
              ": each must be positive"});
    if (pad_begin < 0 || pad_end < 0)
        fail(errc::invalid_argument, place,
             {"the pads ", pad_begin, " and ", pad_end, " must not be negative"});
    const std::int64_t reach = window_reach(window, dilation, place),
                       padded = checked_add(checked_add(length, pad_begin, place), pad_end, place);
    if (reach > padded)
        fail(errc::shape_mismatch, place,
             {"a window of ", reach, " does not fit a padded length of ", padded});
    if (padded > std::numeric_limits<std::int32_t>::max() - reach)
        fail(errc::size_overflow, place,
             {"a window of ", reach, " over a padded length of ", padded,
              " passes the 2^31 positions that kernels count"});
    const std::int64_t span = padded - reach;
    return (ceil_mode ? (span + stride - 1) / stride : span / stride) + 1;
}

}  // namespace detail

#ifndef PUMICE_COMPILED

PUMICE_BODY any_tensor conv(const any_tensor& x, const any_tensor& weight, const conv_op& options) {
    const dtype types[] = {x.dtype(), weight.dtype()};
    if (x.rank() != 4 || weight.rank() != 4)
        fail(errc::rank_mismatch, "conv",
             {"needs rank 4 (NCHW and MCHW), got ", to_string(x.shape()), " and ",
              to_string(weight.shape())});
    if (types[0] != types[1] || types[0] == dtype::boolean)
        detail::throw_types("conv", types, "needs two of the same type, of numbers");
    if (!is_floating(types[0]) && info(types[0]).bits < 32)  // sums wrap once, as those of matmul
        return astype(conv(astype(x, dtype::i32), astype(weight, dtype::i32), options), types[0]);
    const shape &s = x.shape(), &w = weight.shape();
    if (options.group <= 0 || w[0] % options.group != 0)
        fail(errc::invalid_argument, "conv",
             {"group ", options.group, " does not divide the ", w[0], " output channels"});
    const std::int64_t channels = checked_multiply(w[1], options.group, "conv");
    if (s[1] != channels)
        fail(errc::shape_mismatch, "conv",
             {"input ", to_string(s), " has ", s[1], " channels, weight ", to_string(w),
              " with group ", options.group, " takes ", channels});
    shape out{s[0], w[0]};
    for (int i = 0; i < 2; ++i)
        out.push_back(detail::window_count(s[2 + i], w[2 + i], options.stride[i],
                                           options.dilation[i], options.pad_begin[i],
                                           options.pad_end[i], false, "conv"));
    return any_tensor(make_node(x.dtype(), out, options, {x.get(), weight.get()}));
}

PUMICE_BODY any_tensor pool(const any_tensor& x, pool_op options) {
    const char* place = options.what == pooling::max ? "max_pool" : "average_pool";
    const dtype type = x.dtype();
    if (x.rank() != 4)
        fail(errc::rank_mismatch, place, {"needs rank 4 (NCHW), got ", to_string(x.shape())});
    if (type == dtype::boolean || (options.what == pooling::average && !is_floating(type)))
        detail::throw_types(place, span(&type, 1), "the op is not defined for this kind");
    shape out{x.shape()[0], x.shape()[1]};
    for (int i = 0; i < 2; ++i) {
        std::int64_t n =
            detail::window_count(x.shape()[2 + i], options.window[i], options.stride[i],
                                 options.dilation[i], options.pad_begin[i], options.pad_end[i],
                                 options.ceil_mode, place);
        const std::int64_t reach =
            detail::window_reach(options.window[i], options.dilation[i], place);
        if (options.pad_begin[i] >= reach || options.pad_end[i] >= reach)
            fail(errc::invalid_argument, place,
                 {"the pads ", options.pad_begin[i], " and ", options.pad_end[i],
                  " must be below the window of ", reach});
        // A window of ceil mode may not start in the end padding.
        if (options.ceil_mode &&
            (n - 1) * options.stride[i] >= x.shape()[2 + i] + options.pad_begin[i])
            --n;
        out.push_back(n);
    }
    return any_tensor(make_node(type, out, options, {x.get()}));
}

#endif

}}  // namespace pumice::PUMICE_ABI
