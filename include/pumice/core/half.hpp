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

// Without branches, so that loops of them become vectors.

/// IEEE 754 binary32 -> binary16, round to nearest even, NaN kept quiet.
constexpr std::uint16_t float_to_half(float value) noexcept {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000u;
    const auto magnitude = static_cast<std::int32_t>(bits & 0x7fffffffu);
    // A subnormal half is a multiple of 2^-24, the last place of floats from 1/2 to 1.
    const bool subnormal = magnitude < 113 << 23;
    const auto tiny =
        static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(std::bit_cast<float>(subnormal
                                                                                        ? magnitude
                                                                                        : 0) +
                                                               0.5f) -
                                  0x3f000000u);
    std::int32_t half = (magnitude - (112 << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    half = subnormal ? tiny : half;
    half = magnitude >= 0x477ff000 ? 0x7c00 : half;  // rounds to Inf
    half = magnitude > 0x7f800000 ? 0x7e00 : half;   // NaN
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(half));
}

/// IEEE 754 binary16 -> binary32, exact, NaN made quiet.
constexpr float half_to_float(std::uint16_t half) noexcept {
    const std::uint32_t sign = (half & 0x8000u) << 16;
    const std::int32_t shifted = (half & 0x7fff) << 13, exponent = shifted & (31 << 23);
    const std::int32_t normal = shifted + (112 << 23);
    const auto tiny = std::bit_cast<std::int32_t>(std::bit_cast<float>(normal + (1 << 23)) -
                                                  0x1p-14f);  // of a subnormal half
    std::int32_t bits = exponent == 0 ? tiny : normal;
    const std::int32_t quiet = shifted > 31 << 23 ? 1 << 22 : 0;
    bits = exponent == 31 << 23 ? (normal + (112 << 23)) | quiet : bits;
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) | sign);
}

/// binary32 -> bfloat16, round to nearest even, NaN kept quiet.
constexpr std::uint16_t float_to_bfloat(float value) noexcept {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    const bool is_nan = static_cast<std::int32_t>(bits & 0x7fffffffu) > 0x7f800000;
    return static_cast<std::uint16_t>((is_nan ? bits | 0x400000u : rounded) >> 16);
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
