// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What products may give up for speed.
#pragma once

#include <cstdint>
#include <string_view>

namespace pumice { inline namespace PUMICE_ABI {

/// What a kernel of products does less exactly than its types say; a policy of that name
/// (policy/policies.hpp) allows it.
enum class reduced_precision : std::uint8_t { none, bf16_3x, f16_accumulation };

constexpr std::string_view to_string(reduced_precision p) noexcept {
    constexpr std::string_view names[] = {"none", "bf16_3x", "f16_accumulation"};
    return names[static_cast<int>(p)];
}

}}  // namespace pumice::PUMICE_ABI
