// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Asks drivers to keep NaN, Inf and -0 (SPV_KHR_float_controls): Slang does not emit the mode, and
// without it a driver may turn `x < 0 ? 0 : x` into a maximum that drops NaN.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/core/device_info.hpp>

#include <cstdint>
#include <span>

namespace pumice { inline namespace PUMICE_ABI {

/// The module with SignedZeroInfNanPreserve for each float width that the device offers it for and
/// the module uses. Anything that is not plain SPIR-V comes back unchanged.
inline array_list<std::uint32_t> preserve_nan(std::span<const std::uint32_t> words,
                                              const device_info& device) {
    constexpr std::uint32_t op_entry_point = 15, op_execution_mode = 16, op_capability = 17,
                            op_function = 54, capability_float64 = 10, capability_preserve = 4466,
                            mode_preserve = 4461;
    array_list<std::uint32_t> out(words.begin(), words.end());
    if (words.size() < 6 || !(device.preserves_nan32 || device.preserves_nan64)) return out;
    std::size_t capabilities_end = 0, entry_end = 0;
    std::uint32_t entry = 0;
    bool doubles = false;
    for (std::size_t at = 5; at < words.size();) {
        const std::uint32_t op = words[at] & 0xffffu, length = words[at] >> 16;
        if (length == 0 || at + length > words.size()) return out;
        if (op == op_capability) {
            capabilities_end = at + length;
            if (length > 1 && words[at + 1] == capability_preserve) return out;
            doubles |= length > 1 && words[at + 1] == capability_float64;
        }
        if (op == op_entry_point && length > 2) {
            entry = words[at + 2];
            entry_end = at + length;
        }
        if (op == op_execution_mode) entry_end = at + length;
        if (op == op_function) break;
        at += length;
    }
    if (entry == 0 || capabilities_end == 0) return out;
    array_list<std::uint32_t> modes;
    const auto add_mode = [&](std::uint32_t width) {
        modes.append({(4u << 16) | op_execution_mode, entry, mode_preserve, width});
    };
    if (device.preserves_nan32) add_mode(32);
    if (device.preserves_nan64 && doubles) add_mode(64);
    if (modes.empty()) return out;
    out.insert(out.begin() + entry_end, modes.begin(), modes.end());
    const std::uint32_t capability[] = {(2u << 16) | op_capability, capability_preserve};
    out.insert(out.begin() + capabilities_end, capability, capability + 2);
    return out;
}

}}  // namespace pumice::PUMICE_ABI
