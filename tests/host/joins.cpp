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

template <class Way>
void compare_results() {
    using results = pm::detail::results_of<Way>;
    using type = typename results::type;
    for (const std::int64_t n : {0, 1, 31, 32, 67}) {
        std::vector<typename Way::first> a(static_cast<std::size_t>(n));
        std::vector<typename Way::second> b(a.size());
        for (std::size_t i = 0; i < a.size(); ++i) {
            Way::start(a[i], b[i]);
            for (int k = 0; k < 5; ++k)
                Way::one(a[i], b[i], static_cast<typename Way::value>(int(i) * k - 7), k, 0);
        }
        std::vector<type> got(a.size()), means(a.size());
        results::put(a.data(), b.data(), n, 0, got.data());
        results::put(a.data(), b.data(), n, 5, means.data());
        bool right = true;
        for (std::size_t i = 0; i < a.size(); ++i) {
            const auto total = Way::total(a[i], b[i]);
            const auto whole = static_cast<type>(total), mean = results::real
                                                                    ? static_cast<type>(total / 5)
                                                                    : static_cast<type>(whole / 5);
            right = right && got[i] == whole && means[i] == (results::place ? whole : mean);
        }
        CHECK(right);
    }
}

}  // namespace

TEST_CASE("host joins: what was found as results, and as means") {
    using namespace pm::detail;
    compare_results<joined_sum<double, as_it_is>>();
    compare_results<joined_sum<float, as_it_is>>();
    compare_results<joined_sum<std::int32_t, as_it_is>>();
    compare_results<joined_sum<std::uint64_t, as_it_is>>();
    compare_results<joined_product<float>>();
    compare_results<joined_extreme<std::int64_t, -1>>();
    compare_results<joined_place<double, 1>>();
}

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
