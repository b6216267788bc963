// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Asks drivers to keep NaN, Inf, -0 and subnormals of f16 (SPV_KHR_float_controls): Slang does not
// emit the modes, and without them a driver may turn `x < 0 ? 0 : x` into a maximum that drops NaN.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/span.hpp>
#include <pumice/core/device_info.hpp>

#include <cstdint>

namespace pumice { inline namespace PUMICE_ABI {

/// The specialisation constant keepsHalfSubnormals of shaders/element.slang: 1 where the device
/// preserves_denorm16.
inline constexpr std::uint32_t keeps_half_subnormals = 5000;

/// The module with SignedZeroInfNanPreserve for each float width that the device offers it for and
/// the module uses; where it has the constant above also with DenormPreserve for f16 and, since
/// some devices do the same for both, f64. Anything that is not plain SPIR-V comes back unchanged.
inline array_list<std::uint32_t> with_float_controls(span<const std::uint32_t> words,
                                                     const device_info& device) {
    constexpr std::uint32_t op_entry_point = 15, op_execution_mode = 16, op_capability = 17,
                            op_function = 54, op_decorate = 71, decoration_spec_id = 1,
                            capability_float64 = 10, capability_nan = 4466,
                            capability_denorm = 4464, mode_nan = 4461, mode_denorm = 4459;
    array_list<std::uint32_t> out(words.begin(), words.end());
    if (words.size() < 6) return out;
    std::size_t capabilities_end = 0, entry_end = 0;
    std::uint32_t entry = 0;
    bool doubles = false, converts_halves = false;
    for (std::size_t at = 5; at < words.size();) {
        const std::uint32_t op = words[at] & 0xffffu, length = words[at] >> 16;
        if (length == 0 || at + length > words.size()) return out;
        if (op == op_capability) {
            capabilities_end = at + length;
            if (length > 1 &&
                (words[at + 1] == capability_nan || words[at + 1] == capability_denorm))
                return out;
            doubles |= length > 1 && words[at + 1] == capability_float64;
        }
        if (op == op_entry_point && length > 2) {
            entry = words[at + 2];
            entry_end = at + length;
        }
        if (op == op_execution_mode) entry_end = at + length;
        if (op == op_decorate && length > 3 && words[at + 2] == decoration_spec_id)
            converts_halves |= words[at + 3] == keeps_half_subnormals;
        if (op == op_function) break;
        at += length;
    }
    if (entry == 0 || capabilities_end == 0) return out;
    array_list<std::uint32_t> modes, capabilities;
    const auto add_mode = [&](std::uint32_t capability, std::uint32_t mode, std::uint32_t width) {
        modes.append({(4u << 16) | op_execution_mode, entry, mode, width});
        if (capabilities.empty() || capabilities.back() != capability)
            capabilities.append({(2u << 16) | op_capability, capability});
    };
    if (device.preserves_nan32) add_mode(capability_nan, mode_nan, 32);
    if (device.preserves_nan64 && doubles) add_mode(capability_nan, mode_nan, 64);
    if (converts_halves && device.preserves_denorm16) {
        add_mode(capability_denorm, mode_denorm, 16);
        if (device.preserves_denorm64 && doubles) add_mode(capability_denorm, mode_denorm, 64);
    }
    out.insert(out.begin() + entry_end, modes.begin(), modes.end());
    out.insert(out.begin() + capabilities_end, capabilities.begin(), capabilities.end());
    return out;
}

}}  // namespace pumice::PUMICE_ABI
