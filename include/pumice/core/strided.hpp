// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Elements that lie anyhow, brought into row-major order: how arrays of others come in.
#pragma once

#include <pumice/core/shape.hpp>

#include <cstddef>
#include <cstring>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {
template <class Copy>
void for_each_strided_row(const strides& steps, const shape& extent, const Copy& copy) {
    shape at = shape::filled(extent.rank(), 0);
    for (std::int64_t from = 0;;) {
        copy(from);
        int axis = extent.rank() - 2;
        for (; axis >= 0; --axis) {
            from += steps[axis];
            if (++at[axis] < extent[axis]) break;
            from -= extent[axis] * steps[axis];
            at[axis] = 0;
        }
        if (axis < 0) return;
    }
}
}  // namespace detail

/// Copies elements of `size` whole bytes from strided memory, whose first element is at `from`, to
/// row-major order. Steps are counted in elements, and may be negative or 0.
inline void copy_strided(const std::byte* from, const strides& steps, std::int64_t size,
                         const shape& extent, std::byte* to) {
    if (element_count(extent) == 0) return;
    const int inner = extent.rank() - 1;
    const std::int64_t length = inner < 0 ? 1 : extent[inner], step = inner < 0 ? 1 : steps[inner];
    const auto rows = [&]<int Size>(std::integral_constant<int, Size>) {
        const std::int64_t bytes = Size > 0 ? Size : size;
        detail::for_each_strided_row(steps, extent, [&](std::int64_t first) {
            for (std::int64_t i = 0; i < length; ++i, to += bytes)
                std::memcpy(to, from + (first + i * step) * bytes, static_cast<std::size_t>(bytes));
        });
    };
    switch (size) {  // known sizes are moved by one instruction
        case 1: return rows(std::integral_constant<int, 1>());
        case 2: return rows(std::integral_constant<int, 2>());
        case 4: return rows(std::integral_constant<int, 4>());
        case 8: return rows(std::integral_constant<int, 8>());
        default: return rows(std::integral_constant<int, 0>());
    }
}

}}  // namespace pumice::PUMICE_ABI
