// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 on the host: bit patterns that convert to and from float.
#pragma once

#include <pumice/base/config.hpp>

#include <bit>
#include <cstdint>
#include <limits>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// IEEE 754 binary32 -> binary16, round to nearest even, NaN kept quiet.
constexpr std::uint16_t float_to_half(float value) noexcept {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);  // NaN
    if (magnitude >= 0x477ff000u)
        return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds to Inf
    if (magnitude < 0x33000001u) return sign;               // rounds to 0
    std::uint32_t shift = 13;
    std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    std::uint32_t exponent = magnitude >> 23;
    std::uint32_t base = 0;
    if (exponent < 113) shift += 113 - exponent;  // subnormal result
    else base = (exponent - 113) << 10;           // the hidden bit carries into the exponent
    const std::uint32_t kept = mantissa >> shift;
    const std::uint32_t rest = mantissa & ((1u << shift) - 1u);
    const std::uint32_t half = 1u << (shift - 1);
    const std::uint32_t rounded = kept + (rest > half || (rest == half && (kept & 1u)) ? 1u : 0u);
    return static_cast<std::uint16_t>(sign | (base + rounded));
}

/// IEEE 754 binary16 -> binary32, exact.
constexpr float half_to_float(std::uint16_t half) noexcept {
    const std::uint32_t sign = (half & 0x8000u) << 16;
    const std::uint32_t exponent = (half >> 10) & 31u;
    const std::uint32_t mantissa = half & 0x3ffu;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
    if (exponent == 0) {
        const float tiny = static_cast<float>(mantissa) * 0x1p-24f;
        return sign ? -tiny : tiny;
    }
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

/// binary32 -> bfloat16, round to nearest even, NaN kept quiet.
constexpr std::uint16_t float_to_bfloat(float value) noexcept {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
    return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

constexpr float bfloat_to_float(std::uint16_t bits) noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace detail

/// IEEE 754 binary16: storage only, arithmetic happens in float.
struct f16 {
    std::uint16_t bits = 0;
    constexpr f16() noexcept = default;
    constexpr f16(float value) noexcept : bits(detail::float_to_half(value)) {}
    constexpr operator float() const noexcept { return detail::half_to_float(bits); }
};

/// bfloat16 (the upper half of binary32): storage only, arithmetic happens in float.
struct bf16 {
    std::uint16_t bits = 0;
    constexpr bf16() noexcept = default;
    constexpr bf16(float value) noexcept : bits(detail::float_to_bfloat(value)) {}
    constexpr operator float() const noexcept { return detail::bfloat_to_float(bits); }
};

}}  // namespace pumice::PUMICE_ABI
