// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/core/copy_elements.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace pumice;

namespace {

template <class T>
void compare_rows(std::int64_t rows, std::int64_t length, std::int64_t down, std::int64_t along) {
    const std::int64_t to_down = length + rows % 3;  // rows one behind the other, or apart
    std::vector<T> from(600), got(static_cast<std::size_t>(rows * to_down), T(0)), want(got.size());
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i * 7 + 1);
    const T* const first = from.data() + 250;
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t k = 0; k < length; ++k)
            want[static_cast<std::size_t>(i * to_down + k)] = first[i * down + k * along];
    detail::copy_rows(8 * sizeof(T), reinterpret_cast<const std::byte*>(first), down, along,
                      reinterpret_cast<std::byte*>(got.data()), to_down, rows, length);
    CAPTURE(rows);
    CAPTURE(length);
    CHECK(got == want);
}

}  // namespace

TEST_CASE("rows of every size of element, turned, backwards, spread and repeated") {
    for (const std::int64_t rows : {0, 1, 5, 17})
        for (const std::int64_t length : {0, 1, 3, 4, 7, 10})
            for (const auto& [down, along] :
                 {std::pair{10, 1}, {1, 17}, {-1, -12}, {0, 3}, {2, 0}, {20, 1}}) {
                compare_rows<std::uint8_t>(rows, length, down, along);
                compare_rows<std::uint16_t>(rows, length, down, along);
                compare_rows<std::uint32_t>(rows, length, down, along);
                compare_rows<std::uint64_t>(rows, length, down, along);
            }
}

TEST_CASE("elements to where they lie dense, and back to strides") {
    const std::vector<std::int32_t> from{1, 2, 3, 4, 5, 6};
    std::vector<std::int32_t> dense(3), spread(6, 0);
    detail::copy_elements(32, from.data() + 5, -2, dense.data(), 1, 3);
    CHECK(dense == std::vector<std::int32_t>{6, 4, 2});
    detail::copy_elements(32, dense.data(), 1, spread.data(), 2, 3);
    CHECK(spread == std::vector<std::int32_t>{6, 0, 4, 0, 2, 0});
    detail::copy_elements(32, from.data(), 1, dense.data(), 1, 3);
    CHECK(dense == std::vector<std::int32_t>{1, 2, 3});
}

TEST_CASE("one element as often as is asked for, and nothing behind") {
    for (const std::int64_t n : {0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 200}) {
        const auto repeat = [&]<class T>(T value) {
            std::vector<T> got(static_cast<std::size_t>(n + 1), T(0)), want(got);
            std::fill_n(want.begin(), n, value);
            detail::copy_elements(8 * sizeof(T), &value, 0, got.data(), 1, n);
            CHECK(got == want);
        };
        repeat(std::uint8_t{200});
        repeat(std::uint16_t{60000});
        repeat(std::uint32_t{7} << 29);
        repeat(std::uint64_t{5} << 61);
    }
}
