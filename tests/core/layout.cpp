// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/core/layout.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace pumice;

namespace {

/// Rows padded to a multiple of four: not dense, so no layout of a whole array, but the concept
/// takes it.
struct padded {
    static constexpr strides strides_of(const shape& s) {
        strides r = row_major_strides(s);
        if (s.rank() > 1) r[s.rank() - 2] = (s.back() + 3) / 4 * 4;
        for (int i = s.rank() - 3; i >= 0; --i) r[i] = r[i + 1] * s[i + 1];
        return r;
    }
};
struct no_layout {
    static int strides_of(const shape&) { return 0; }
};

/// What the concept promises: a bijection onto [0, element_count).
template <layout L>
bool dense(const shape& s) {
    const strides st = L::strides_of(s);
    std::vector<bool> seen(static_cast<std::size_t>(element_count(s)));
    index_list at = index_list::filled(s.rank(), 0);
    for (std::int64_t n = element_count(s); n > 0; --n) {
        std::int64_t offset = 0;
        for (int i = 0; i < s.rank(); ++i) offset += at[i] * st[i];
        if (offset < 0 || offset >= element_count(s) || seen[static_cast<std::size_t>(offset)])
            return false;
        seen[static_cast<std::size_t>(offset)] = true;
        for (int i = s.rank() - 1; i >= 0 && ++at[i] == s[i]; --i) at[i] = 0;
    }
    return true;
}

}  // namespace

TEST_CASE("concept") {
    static_assert(layout<row_major> && layout<column_major> && layout<strided> && layout<padded>);
    static_assert(!layout<no_layout> && !layout<int>);
    CHECK(padded::strides_of({2, 3, 5}) == strides{24, 8, 1});
}

TEST_CASE("each layout places every element once") {
    for (const shape& s :
         {shape{}, shape{5}, shape{3, 4}, shape{2, 1, 3}, shape{2, 3, 2, 2}, shape{3, 0, 2}}) {
        CHECK(dense<row_major>(s));
        CHECK(dense<column_major>(s));
        CHECK(dense<strided>(s));
    }
    CHECK(column_major::strides_of({2, 3, 4}) == strides{1, 2, 6});
    CHECK(row_major::strides_of({2, 3, 4}) == strides{12, 4, 1});
}
