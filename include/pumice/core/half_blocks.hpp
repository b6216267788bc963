// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Blocks of f16 to and from float, by the processor's own instructions where it has them.
#pragma once

#include <pumice/core/half.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

#if defined(__x86_64__) && defined(__GNUC__)
#define PUMICE_F16C 1

using eight_halves [[gnu::vector_size(16), gnu::aligned(2), gnu::may_alias]] = std::int16_t;
using eight_shorts [[gnu::vector_size(16)]] = std::int16_t;
using eight_floats [[gnu::vector_size(32), gnu::aligned(4), gnu::may_alias]] = float;

/// As many of n values as make whole vectors; how many those are.
[[gnu::target("avx2,f16c")]] inline std::int64_t vectors_to_floats(const f16* from, float* to,
                                                                   std::int64_t n) noexcept {
    std::int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        *reinterpret_cast<eight_floats*>(to + i) =
            __builtin_ia32_vcvtph2ps256(*reinterpret_cast<const eight_halves*>(from + i));
    return i;
}
[[gnu::target("avx2,f16c")]] inline std::int64_t vectors_to_halves(const float* from, f16* to,
                                                                   std::int64_t n) noexcept {
    constexpr int nearest_even = 0;
    std::int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const eight_shorts
            v = __builtin_ia32_vcvtps2ph256(*reinterpret_cast<const eight_floats*>(from + i),
                                            nearest_even),
            sign = v & std::int16_t(-0x8000), magnitude = v & 0x7fff;
        // A NaN keeps nothing but its sign, as in float_to_half.
        *reinterpret_cast<eight_halves*>(to + i) = magnitude > 0x7c00 ? sign | 0x7e00 : v;
    }
    return i;
}
#endif

inline void to_floats(const f16* from, float* to, std::int64_t n) noexcept {
    std::int64_t i = 0;
#ifdef PUMICE_F16C
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"))
        i = vectors_to_floats(from, to, n);
#endif
    for (; i < n; ++i) to[i] = from[i];
}
/// Rounded to the nearest, ties to even.
inline void to_halves(const float* from, f16* to, std::int64_t n) noexcept {
    std::int64_t i = 0;
#ifdef PUMICE_F16C
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"))
        i = vectors_to_halves(from, to, n);
#endif
    for (; i < n; ++i) to[i] = from[i];
}

}}}  // namespace pumice::PUMICE_ABI::detail
