// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The unit in the last place, which tolerances are counted in.
#pragma once

#include <pumice/core/dtype.hpp>

#include <algorithm>
#include <cmath>

namespace test {

/// How far apart the type's numbers lie at v, subnormals counted as flushed.
inline double spacing(pumice::dtype type, double v) {
    using pumice::dtype;
    const int digits = type == dtype::f64       ? 53
                       : type == dtype::f32     ? 24
                       : type == dtype::f16     ? 11
                       : type == dtype::f8_e4m3 ? 4
                       : type == dtype::f8_e5m2 ? 3
                                                : 8;
    const int least = type == dtype::f64                             ? -1022
                      : type == dtype::f16 || type == dtype::f8_e5m2 ? -14
                      : type == dtype::f8_e4m3                       ? -6
                                                                     : -126;
    int exponent = 0;
    std::frexp(v, &exponent);
    return std::ldexp(1.0, std::max(exponent - 1, least) - (digits - 1));
}

/// The largest relative error of one rounding to the type.
inline double epsilon(pumice::dtype type) { return spacing(type, 1) / 2; }

}  // namespace test
