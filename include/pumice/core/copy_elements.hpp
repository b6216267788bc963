// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Copies of strided elements, which their size alone decides.
#pragma once

#include <pumice/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// One element n times.
template <std::size_t Size>
void repeat(const std::byte* from, std::byte* to, std::int64_t n) {
    constexpr std::int64_t many = 64 / Size;
    if (n >= many) {
        std::byte line[many * Size];
        for (std::size_t i = 0; i < sizeof line; i += Size) std::memcpy(line + i, from, Size);
        for (; n >= many; n -= many, to += sizeof line) std::memcpy(to, line, sizeof line);
    }
    for (; n > 0; --n, to += Size) std::memcpy(to, from, Size);
}
template <std::size_t Size>
void copy_each(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
               std::int64_t n) {
    constexpr std::int64_t size = Size;
    if (from_step == 0 && to_step == 1) return repeat<Size>(from, to, n);
    for (std::int64_t i = 0; i < n; ++i)
        std::memcpy(to + i * to_step * size, from + i * from_step * size, Size);
}
/// Copies n elements of `bits`, of 8 at least; steps count elements.
inline void copy_elements(int bits, const void* from, std::int64_t from_step, void* to,
                          std::int64_t to_step, std::int64_t n) {
    const auto* v = static_cast<const std::byte*>(from);
    auto* r = static_cast<std::byte*>(to);
    if (from_step == 1 && to_step == 1)
        std::memcpy(r, v, static_cast<std::size_t>((bits >> 3) * n));
    else if (bits == 64) copy_each<8>(v, from_step, r, to_step, n);
    else if (bits == 32) copy_each<4>(v, from_step, r, to_step, n);
    else if (bits == 16) copy_each<2>(v, from_step, r, to_step, n);
    else copy_each<1>(v, from_step, r, to_step, n);
}

template <std::size_t Size>
void copy_rows_each(const std::byte* from, std::int64_t down, std::int64_t along, std::byte* to,
                    std::int64_t to_down, std::int64_t rows, std::int64_t length) {
    constexpr std::int64_t size = Size;
    std::int64_t i = 0;
    for (; i + 4 <= length; i += 4) {
        const std::byte* v = from + i * along * size;
        std::byte* r = to + i * size;
        for (std::int64_t row = 0; row < rows; ++row, v += down * size, r += to_down * size)
#pragma GCC unroll 4
            for (std::int64_t k = 0; k < 4; ++k)
                std::memcpy(r + k * size, v + k * along * size, Size);
    }
    for (; i < length; ++i)
        copy_each<Size>(from + i * along * size, down, to + i * size, to_down, rows);
}
/// Copies short rows of elements of `bits`, of 8 at least, to rows of neighbours; steps count
/// elements.
inline void copy_rows(int bits, const std::byte* from, std::int64_t down, std::int64_t along,
                      std::byte* to, std::int64_t to_down, std::int64_t rows, std::int64_t length) {
    if (bits == 64) copy_rows_each<8>(from, down, along, to, to_down, rows, length);
    else if (bits == 32) copy_rows_each<4>(from, down, along, to, to_down, rows, length);
    else if (bits == 16) copy_rows_each<2>(from, down, along, to, to_down, rows, length);
    else copy_rows_each<1>(from, down, along, to, to_down, rows, length);
}

}}}  // namespace pumice::PUMICE_ABI::detail
