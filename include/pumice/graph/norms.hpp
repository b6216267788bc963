// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Norms and variances of run-time type, over one anchor each: what scales and shifts a norm is
// fused into its store.
#pragma once

#include <pumice/expr/ops.hpp>
#include <pumice/graph/build.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// (x - mean) / sqrt(variance + epsilon) over `axes`.
PUMICE_FUNCTION any_tensor layer_norm(const any_tensor& x, span<const std::int64_t> axes,
                                      double epsilon = 1e-5);
/// x / sqrt(mean(x * x) + epsilon) over `axes`.
PUMICE_FUNCTION any_tensor rms_norm(const any_tensor& x, span<const std::int64_t> axes,
                                    double epsilon = 1e-5);

/// ONNX GroupNormalization of x (N, C, ...): layer_norm over each of `groups` groups of channels,
/// times scale (C), plus bias (C); either may be empty.
PUMICE_FUNCTION any_tensor group_norm(const any_tensor& x, std::int64_t groups,
                                      const any_tensor& scale = {}, const any_tensor& bias = {},
                                      double epsilon = 1e-5);

/// Mean squared distance from the mean over `axes` (all where empty), n elements divided by n -
/// taken, NumPy's ddof; `keep` keeps the axes. Needs floating point.
PUMICE_FUNCTION any_tensor variance(const any_tensor& x, span<const std::int64_t> axes = {},
                                    double taken = 0, bool keep = false);

#ifndef PUMICE_COMPILED

PUMICE_BODY any_tensor layer_norm(const any_tensor& x, span<const std::int64_t> axes,
                                  double epsilon) {
    return normalize(normalization::layer_norm, x, axes, epsilon);
}
PUMICE_BODY any_tensor rms_norm(const any_tensor& x, span<const std::int64_t> axes,
                                double epsilon) {
    return normalize(normalization::rms_norm, x, axes, epsilon);
}

PUMICE_BODY any_tensor group_norm(const any_tensor& x, std::int64_t groups, const any_tensor& scale,
                                  const any_tensor& bias, double epsilon) {
    const shape& s = x.shape();
    if (s.rank() < 2)
        fail(errc::rank_mismatch, "group_norm", {"needs (N, C, ...), got ", to_string(s)});
    if (groups < 1 || s[1] % groups != 0)
        fail(errc::invalid_argument, "group_norm",
             {groups, " groups do not divide the ", s[1], " channels of ", to_string(s)});
    std::int64_t rest = 1;
    for (int i = 2; i < s.rank(); ++i) rest *= s[i];
    const std::int64_t members = s[1] / groups, axes[] = {2, 3};
    any_tensor y = layer_norm(reshape(x, {s[0], groups, members, rest}), axes, epsilon);
    const auto of_channels = [&](const any_tensor& t) {
        if (t.shape() != shape{s[1]})
            fail(errc::shape_mismatch, "group_norm",
                 {"scale and bias of ", to_string(s), " have shape (", s[1], "), got ",
                  to_string(t.shape())});
        return reshape(t, {groups, members, 1});
    };
    if (scale.has_value()) y = apply<op::multiply>(y, of_channels(scale));
    if (bias.has_value()) y = apply<op::add>(y, of_channels(bias));
    return reshape(y, s);
}

PUMICE_BODY any_tensor variance(const any_tensor& x, span<const std::int64_t> axes, double taken,
                                bool keep) {
    const any_tensor v = reduce(reduction::var, x, axes, keep);
    if (taken == 0) return v;
    double n = 1;
    for (int i = 0; i < x.rank(); ++i) {
        bool reduced = axes.empty();
        for (std::int64_t a : axes) reduced |= normalize_axis(a, x.rank(), "var") == i;
        if (reduced) n *= static_cast<double>(x.shape()[i]);
    }
    // The factor would lose digits as a number of 16 bits.
    const dtype exact = x.dtype() == dtype::f64 ? dtype::f64 : dtype::f32;
    const double factor = n > taken ? n / (n - taken) : std::numeric_limits<double>::infinity();
    return astype(apply<op::multiply>(astype(v, exact), factor), x.dtype());
}

#endif

}}  // namespace pumice::PUMICE_ABI
