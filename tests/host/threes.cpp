// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Rows of three, by vectors and at their ends, against one row after the other.
#include <pumice/host/threes.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace pm = pumice;

namespace {

template <class T>
void compare(std::int64_t rows, bool products) {
    using way = pm::detail::joined_sum<T, pm::detail::as_it_is>;
    std::vector<T> a(static_cast<std::size_t>(3 * rows)), b(a.size()), got(a.size() / 3),
        want(got.size());
    std::uint64_t seed = 1;
    const auto next = [&] {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        if constexpr (std::is_floating_point_v<T>)
            return static_cast<T>(static_cast<double>(static_cast<std::int64_t>(seed)) * 0x1p-40);
        else return static_cast<T>(seed >> 7);
    };
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = next(), b[i] = next();
    for (std::size_t i = 0; i < want.size(); ++i) {
        typename way::first sum;
        typename way::second lost;
        way::start(sum, lost);
        for (std::size_t k = 3 * i; k < 3 * i + 3; ++k) {
            T each = a[k];
            if (products) pm::detail::multiply_each<T>::some(a.data() + k, b.data() + k, 1, &each);
            way::one(sum, lost, each, 0, 0);
        }
        want[i] = static_cast<T>(way::total(sum, lost));
    }
    pm::detail::run_wide(pm::detail::sum_threes<T>{}, static_cast<const T*>(a.data()),
                         products ? static_cast<const T*>(b.data()) : nullptr, rows, got.data());
    CAPTURE(rows);
    CAPTURE(products);
    CHECK(got == want);
}

}  // namespace

TEST_CASE("host threes: sums and sums of products, as of one row after the other") {
    for (const std::int64_t rows : {0, 1, 4, 31, 32, 33, 67, 160, 171})
        for (const bool products : {false, true}) {
            compare<float>(rows, products);
            compare<double>(rows, products);
            compare<std::int32_t>(rows, products);
            compare<std::uint32_t>(rows, products);
            compare<std::int64_t>(rows, products);
            compare<std::uint64_t>(rows, products);
        }
}

TEST_CASE("host threes: zeros keep no sign, infinities and NaN stay what they are") {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double special[] = {0.0, -0.0, 1.0, -1.0, infinity, -infinity, 1e308, -1e308, NAN};
    std::vector<double> v;
    for (const double a : special)
        for (const double b : special)
            for (const double c : special) v.insert(v.end(), {a, b, c});
    std::vector<double> got(v.size() / 3), one(1);
    const pm::detail::sum_threes<double> sums;
    sums(v.data(), nullptr, static_cast<std::int64_t>(got.size()), got.data());
    for (std::size_t i = 0; i < got.size(); ++i) {
        pm::detail::sum_threes<double>::some(v.data() + 3 * i, 1, one.data());  // by no vector
        CAPTURE(i);
        CHECK(std::isnan(got[i]) == std::isnan(one[0]));
        if (!std::isnan(one[0])) {
            CHECK(got[i] == one[0]);
            CHECK(std::signbit(got[i]) == std::signbit(one[0]));
        }
    }
}

TEST_CASE("products of integers are those modulo their width") {
    const std::vector<std::int32_t> a(40, 65537), b(40, 65535);
    std::vector<std::int32_t> got(40);
    pm::detail::multiply_each<std::int32_t>{}(a.data(), b.data(), 40, got.data());
    CHECK(got == std::vector<std::int32_t>(40, -1));
}
