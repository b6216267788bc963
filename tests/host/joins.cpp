// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Rows, short rows and columns that lie dense, joined by each way: as one value after the other.
#include <pumice/host/joins.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace pm = pumice;

namespace {

template <class Way, class T>
void compare(bool down, std::int64_t rows, std::int64_t n) {
    std::vector<T> v(static_cast<std::size_t>(rows * n));
    for (std::size_t i = 0; i < v.size(); ++i)
        v[i] = pm::convert<T>(static_cast<std::int64_t>(i * 7919 % 101));
    using total = decltype(Way::total(typename Way::first{}, typename Way::second{}));
    std::vector<total> got(static_cast<std::size_t>(rows)), want(got.size());
    pm::detail::join_dense<Way>(pm::dtype_of<T>, v.data(), down, rows, n,
                                [&](std::int64_t i, const auto* a, const auto* b,
                                    std::int64_t count) {
                                    for (std::int64_t k = 0; k < count; ++k)
                                        got[static_cast<std::size_t>(i + k)] =
                                            Way::total(a[k], b[k]);
                                });
    for (std::int64_t i = 0; i < rows; ++i) {
        typename Way::first a;
        typename Way::second b;
        Way::start(a, b);
        for (std::int64_t k = 0; k < n; ++k) {
            const T x = v[static_cast<std::size_t>(down ? k * rows + i : i * n + k)];
            Way::one(a, b, static_cast<typename Way::value>(x), k, 0);
        }
        want[static_cast<std::size_t>(i)] = Way::total(a, b);
    }
    CAPTURE(rows);
    CAPTURE(n);
    CHECK(got == want);
}

}  // namespace

TEST_CASE("host joins: dense rows and columns of any length") {
    using namespace pm::detail;
    for (const bool down : {false, true})
        for (const auto& [rows, n] : {std::pair{1, 1}, {300, 3}, {9, 32}, {257, 33}, {3, 1000}}) {
            compare<joined_sum<double, as_it_is>, double>(down, rows, n);
            compare<joined_sum<float, as_it_is>, pm::f16>(down, rows, n);
            compare<joined_sum<std::uint32_t, as_it_is>, std::uint8_t>(down, rows, n);
            compare<joined_place<float, -1>, float>(down, rows, n);
            compare<joined_extreme<std::int64_t, 1>, std::int64_t>(down, rows, n);
            compare<joined_product<std::int32_t>, std::int32_t>(down, rows, n);
        }
}
