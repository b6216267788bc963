// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What kernels multiply 32-bit indices by in place of a division: `Extents` of
// shaders/element.slang.
#pragma once

#include <bit>
#include <cstdint>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// n / d is (upper half of factor * n + n) >> shift for n < 2^31 (Granlund and Montgomery, Division
/// by Invariant Integers using Multiplication, 1994, figure 4.1).
struct division {
    std::uint32_t factor = 1, shift = 0;
};
/// By 0 < d < 2^31; by others, which only wide indices are divided by, of no use.
constexpr division division_by(std::int64_t d) noexcept {
    if (d <= 0 || d >> 31 != 0) return {};
    const auto divisor = static_cast<std::uint64_t>(d);
    const auto shift = static_cast<std::uint32_t>(std::bit_width(divisor - 1));
    const std::uint64_t above = (std::uint64_t{1} << shift) - divisor;
    return {static_cast<std::uint32_t>((above << 32) / divisor + 1), shift};
}

}}}  // namespace pumice::PUMICE_ABI::detail
