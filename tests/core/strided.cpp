// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/core/layout.hpp>
#include <pumice/core/strided.hpp>

#include <doctest/doctest.h>

#include <array>
#include <vector>

using pumice::shape;
using pumice::strides;

namespace {

/// Elements of `size` bytes that hold their own number in memory.
template <std::size_t Size>
std::vector<int> copied(const strides& steps, const shape& extent, std::size_t first,
                        std::size_t length) {
    std::vector<std::array<std::byte, Size>> from(length),
        to(static_cast<std::size_t>(pumice::element_count(extent)));
    for (std::size_t i = 0; i < length; ++i) from[i].fill(static_cast<std::byte>(i));
    pumice::copy_strided(from[first].data(), steps, Size, extent,
                         reinterpret_cast<std::byte*>(to.data()));
    std::vector<int> values;
    for (const auto& each : to) {
        CHECK(each.front() == each.back());
        values.push_back(static_cast<int>(each.front()));
    }
    return values;
}

}  // namespace

TEST_CASE("strided: each size of elements, in any order, comes into row-major order") {
    const auto all = [](const strides& steps, const shape& extent, std::size_t first,
                        const std::vector<int>& expected) {
        CHECK(copied<1>(steps, extent, first, 24) == expected);
        CHECK(copied<2>(steps, extent, first, 24) == expected);
        CHECK(copied<3>(steps, extent, first, 24) == expected);
        CHECK(copied<4>(steps, extent, first, 24) == expected);
        CHECK(copied<8>(steps, extent, first, 24) == expected);
    };
    all({}, {}, 5, {5});
    all({1}, {3}, 2, {2, 3, 4});
    all({-2}, {3}, 9, {9, 7, 5});
    all({0, 1}, {2, 2}, 4, {4, 5, 4, 5});
    all(pumice::column_major::strides_of({2, 3}), {2, 3}, 0, {0, 2, 4, 1, 3, 5});
    all({-12, 4, -1}, {2, 1, 3}, 20, {20, 19, 18, 8, 7, 6});
    all({1, 1}, {0, 3}, 0, {});
    all({7, 7}, {3, 0}, 0, {});
}
