// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// An element type that the library does not have: 8 bits, E4M3 with a bias of 8, one zero and one
// NaN, 0x80 (ONNX FLOAT8E4M3FNUZ). Its host form.
#pragma once

#include <pumice/core/float8.hpp>

namespace pumice { inline namespace PUMICE_ABI {

struct e4m3fnuz {
    std::uint8_t bits = 0;
    constexpr e4m3fnuz() noexcept = default;
    constexpr e4m3fnuz(float value) noexcept
        : bits(detail::float_to_float8<3, 8>(value, 0x7f, 0x80, 0x80)) {
        if (bits == 0x80 && value > -1 && value <= 0) bits = 0;
    }
    constexpr operator float() const noexcept {
        const unsigned magnitude = bits & 0x7fu;
        const float size = magnitude < 8 ? static_cast<float>(magnitude) * 0x1p-10f
                                         : std::bit_cast<float>((magnitude << 20) + (119u << 23));
        return bits == 0x80 ? std::bit_cast<float>(0x7fc00000u) : bits > 0x80 ? -size : size;
    }
};

}}  // namespace pumice::PUMICE_ABI
