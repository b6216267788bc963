// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Integers of 4 bits: their host form, one to a byte, and how they lie in memory, two to a byte
// (ONNX INT4 and UINT4: the first in the low bits).
#pragma once

#include <pumice/base/config.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace pumice { inline namespace PUMICE_ABI {

/// -8 to 7. Integers wrap. Arrays of it in C++ hold one to a byte; tensors hold two.
struct i4 {
    std::int8_t value = 0;
    constexpr i4() noexcept = default;
    template <std::integral I>
    constexpr i4(I v) noexcept
        : value(static_cast<std::int8_t>(static_cast<int>((static_cast<unsigned>(v) & 15u) ^ 8u) -
                                         8)) {}
    constexpr operator int() const noexcept { return value; }
};

/// 0 to 15, likewise.
struct u4 {
    std::uint8_t value = 0;
    constexpr u4() noexcept = default;
    template <std::integral I>
    constexpr u4(I v) noexcept : value(static_cast<std::uint8_t>(static_cast<unsigned>(v) & 15u)) {}
    constexpr operator unsigned() const noexcept { return value; }
};

namespace detail {

/// The 4 bits of element i.
inline unsigned nibble_at(const std::byte* memory, std::int64_t i) noexcept {
    return (std::to_integer<unsigned>(memory[i >> 1]) >> (4 * (i & 1))) & 15u;
}
/// Writes them; another thread may write the other 4 of the byte meanwhile.
inline void put_nibble(std::byte* memory, std::int64_t i, unsigned bits) noexcept {
    const std::atomic_ref<unsigned char> byte(reinterpret_cast<unsigned char&>(memory[i >> 1]));
    const int shift = 4 * static_cast<int>(i & 1);
    byte.fetch_and(static_cast<unsigned char>(0xf0u >> shift), std::memory_order_relaxed);
    byte.fetch_or(static_cast<unsigned char>((bits & 15u) << shift), std::memory_order_relaxed);
}

/// Copies n elements; places and steps count elements.
inline void copy_nibbles(const std::byte* from, std::int64_t at, std::int64_t step, std::byte* to,
                         std::int64_t place, std::int64_t n) noexcept {
    for (std::int64_t i = 0; i < n; ++i) put_nibble(to, place + i, nibble_at(from, at + i * step));
}

}  // namespace detail

}}  // namespace pumice::PUMICE_ABI
