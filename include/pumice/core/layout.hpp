// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Layout policies: how indices become offsets. A user's own needs the one function of the concept.
#pragma once

#include <pumice/core/shape.hpp>

#include <concepts>

namespace pumice { inline namespace PUMICE_ABI {

/// Gives the element strides of a freshly made array of shape `s`.
/// Promise: distinct indices get distinct offsets in [0, element_count(s)).
template <class L>
concept layout = requires(const shape& s) {
    { L::strides_of(s) } -> std::same_as<strides>;
};

/// C order: the last axis is contiguous.
struct row_major {
    static constexpr strides strides_of(const shape& s) { return row_major_strides(s); }
};

/// Fortran order: the first axis is contiguous.
struct column_major {
    static constexpr strides strides_of(const shape& s) {
        strides r = strides::filled(s.rank(), 1);
        for (int i = 1; i < s.rank(); ++i)
            r[i] = checked_multiply(r[i - 1], std::max<std::int64_t>(s[i - 1], 1), "layout");
        return r;
    }
};

/// Any strides, as views have; made afresh it is row-major.
struct strided {
    static constexpr strides strides_of(const shape& s) { return row_major_strides(s); }
};

static_assert(layout<row_major> && layout<column_major> && layout<strided>);

}}  // namespace pumice::PUMICE_ABI
