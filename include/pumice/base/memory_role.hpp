// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What memory is held for: `stats()` counts by it, and errors name who holds most.
#pragma once

#include <pumice/base/config.hpp>

#include <cstdint>
#include <string_view>

namespace pumice { inline namespace PUMICE_ABI {

enum class memory_role : std::uint8_t {
    weights,      // of models, and other constants of compiled functions
    inputs,       // tensors of the user's values
    outputs,      // tensors that were computed
    temporaries,  // between kernels: arenas of compiled functions, scratch
    staging,      // on the way between host and device
    parameters    // of dispatches
};
inline constexpr int memory_roles = 6;

constexpr std::string_view to_string(memory_role role) noexcept {
    constexpr std::string_view names[] = {"weights",     "inputs",  "outputs",
                                          "temporaries", "staging", "parameters"};
    return names[static_cast<int>(role)];
}

/// Who holds a piece of memory. The name, where there is one, outlives the holding.
struct memory_label {
    memory_role role = memory_role::temporaries;
    std::string_view name = {};
};

/// Bytes that are held now.
struct memory_bytes {
    std::uint64_t by_role[memory_roles] = {};
    std::uint64_t pooled = 0;  // free, and kept for what comes next; `context::trim` gives it back

    std::uint64_t operator[](memory_role role) const noexcept {
        return by_role[static_cast<int>(role)];
    }
    std::uint64_t& operator[](memory_role role) noexcept { return by_role[static_cast<int>(role)]; }
};

}}  // namespace pumice::PUMICE_ABI
