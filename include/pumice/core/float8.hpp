// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The floats of 8 bits on the host (OCP 8-bit floating point specification, revision 1.0): bit
// patterns that convert to and from float.
#pragma once

#include <pumice/core/half.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// binary32 -> a float of 8 bits, round to nearest even. Magnitudes that round past the pattern
/// `largest` become `beyond`, NaN becomes `nan`.
template <int Mantissa, int Bias>
constexpr std::uint8_t float_to_float8(float value, std::uint32_t largest, std::uint32_t beyond,
                                       std::uint32_t nan) noexcept {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 24) & 0x80u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<std::uint8_t>(sign | nan);
    std::uint32_t rounded = 0;
    if (magnitude >= std::uint32_t{128 - Bias} << 23) {
        constexpr int shift = 23 - Mantissa;
        rounded = magnitude + (1u << (shift - 1)) - 1u + ((magnitude >> shift) & 1u);
        rounded = (rounded >> shift) - (std::uint32_t{127 - Bias} << Mantissa);
    } else {  // adding the power of 2 whose last place is that of the subnormals rounds to it
        constexpr std::uint32_t grid = std::uint32_t{151 - Bias - Mantissa} << 23;
        const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(grid);
        rounded = std::bit_cast<std::uint32_t>(sum) - grid;
    }
    return static_cast<std::uint8_t>(sign | (rounded > largest ? beyond : rounded));
}

/// E4M3 -> binary32, exact.
constexpr float e4m3_to_float(std::uint8_t bits) noexcept {
    const std::uint32_t sign = std::uint32_t{bits & 0x80u} << 24, magnitude = bits & 0x7fu;
    if (magnitude == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
    if (magnitude < 8) {
        const float tiny = static_cast<float>(magnitude) * 0x1p-9f;
        return sign ? -tiny : tiny;
    }
    return std::bit_cast<float>(sign | ((magnitude << 20) + (120u << 23)));
}

}  // namespace detail

/// E4M3 without infinities (ONNX FLOAT8E4M3FN): up to 448; what rounds past that is NaN.
struct f8_e4m3 {
    std::uint8_t bits = 0;
    constexpr f8_e4m3() noexcept = default;
    constexpr f8_e4m3(float value) noexcept
        : bits(detail::float_to_float8<3, 7>(value, 0x7e, 0x7f, 0x7f)) {}
    constexpr operator float() const noexcept { return detail::e4m3_to_float(bits); }
};

/// E5M2 (ONNX FLOAT8E5M2), the upper half of a binary16: up to 57344, then infinity.
struct f8_e5m2 {
    std::uint8_t bits = 0;
    constexpr f8_e5m2() noexcept = default;
    constexpr f8_e5m2(float value) noexcept
        : bits(detail::float_to_float8<2, 15>(value, 0x7b, 0x7c, 0x7e)) {}
    constexpr operator float() const noexcept {
        return detail::half_to_float(static_cast<std::uint16_t>(bits << 8));
    }
};

}}  // namespace pumice::PUMICE_ABI
