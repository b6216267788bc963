// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// An element type that the library does not have: 8 bits, the upper half of a binary16 (OCP E5M2),
// rounded by way of binary16. Its host form.
#pragma once

#include <pumice/core/half.hpp>

namespace pumice { inline namespace PUMICE_ABI {

struct e5m2 {
    std::uint8_t bits = 0;
    constexpr e5m2() noexcept = default;
    constexpr e5m2(float value) noexcept {
        const unsigned half = f16(value).bits, magnitude = half & 0x7fffu;
        const unsigned rounded = (half + 0x7fu + ((half >> 8) & 1u)) >> 8;
        bits = static_cast<std::uint8_t>(magnitude > 0x7c00u ? half >> 8 | 2u : rounded);
    }
    constexpr operator float() const noexcept {
        return detail::half_to_float(static_cast<std::uint16_t>(bits << 8));
    }
};

}}  // namespace pumice::PUMICE_ABI
