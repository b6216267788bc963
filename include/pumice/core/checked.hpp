// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// 64-bit size arithmetic that throws instead of wrapping.
#pragma once

#include <pumice/base/error.hpp>

#include <cstdint>
#include <limits>

namespace pumice { inline namespace PUMICE_ABI {

/// True where the product of two sizes (both >= 0) is below 2^63. Small ones are not divided.
constexpr bool fits_product(std::int64_t a, std::int64_t b) noexcept {
    return (a | b) >> 31 == 0 || a == 0 || b <= std::numeric_limits<std::int64_t>::max() / a;
}

namespace detail {
/// Apart from what throws it, which stays short enough to be inlined.
[[noreturn, gnu::noinline]] inline void fail_size(const char* place, std::int64_t a,
                                                  const char* with, std::int64_t b) {
    fail(errc::size_overflow, place, {"the size ", a, with, b, " does not fit in 63 bits"});
}
}  // namespace detail

/// a * b for sizes (both >= 0). Throws errc::size_overflow.
constexpr std::int64_t checked_multiply(std::int64_t a, std::int64_t b, const char* place) {
    if (!fits_product(a, b)) detail::fail_size(place, a, " x ", b);
    return a * b;
}

/// a + b for sizes (both >= 0). Throws errc::size_overflow.
constexpr std::int64_t checked_add(std::int64_t a, std::int64_t b, const char* place) {
    if (b > std::numeric_limits<std::int64_t>::max() - a) detail::fail_size(place, a, " + ", b);
    return a + b;
}

}}  // namespace pumice::PUMICE_ABI
