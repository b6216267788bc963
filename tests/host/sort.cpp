// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Long rows with many ties against std::sort; tests/device compares any type and layout with
// the reference.
#include <pumice/host/sort.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <random>

using namespace host_test;

namespace {

template <class T>
void compare(const std::vector<T>& v, std::int64_t columns, bool descending,
             const pm::context& home) {
    const std::int64_t rows = static_cast<std::int64_t>(v.size()) / columns;
    const pm::matrix<T> x = pm::from_span<T>({rows, columns}, v, home);
    const std::vector<std::int64_t> got = pm::argsort(x, pm::axis<1>, descending).to_vector();
    std::vector<std::int64_t> want(v.size());
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto begin = want.begin() + r * columns;
        const T* const row = v.data() + r * columns;
        std::iota(begin, begin + columns, std::int64_t{0});
        std::sort(begin, begin + columns, [&](std::int64_t a, std::int64_t b) {
            if (row[a] == row[b]) return a < b;
            return descending ? row[a] > row[b] : row[a] < row[b];
        });
    }
    CHECK(got == want);
}
/// With ties.
template <class T>
void compare(std::int64_t rows, std::int64_t columns, bool descending, const pm::context& home) {
    std::vector<T> v(static_cast<std::size_t>(rows * columns));
    for (std::size_t i = 0; i < v.size(); ++i)
        v[i] = static_cast<T>(static_cast<T>(i * 7919 % 2003) - static_cast<T>(1000));
    compare(v, columns, descending, home);
}

}  // namespace

TEST_CASE("host sort: long rows, equal values in their order") {
    const pm::context home = host();
    for (const bool descending : {false, true})
        for (const auto& [rows, columns] : {std::pair{1, 100003}, {70, 127}, {9, 4096}}) {
            compare<float>(rows, columns, descending, home);
            compare<double>(rows, columns, descending, home);
            compare<std::int32_t>(rows, columns, descending, home);
            compare<std::int64_t>(rows, columns, descending, home);
            compare<std::uint32_t>(rows, columns, descending, home);
        }
}

TEST_CASE("host sort: keys of eight digits, of which the highest tell much or nothing") {
    const pm::context home = host();
    std::mt19937_64 random(3);
    for (const std::int64_t columns : {127, 128, 1000, 30000})
        for (const bool descending : {false, true}) {
            std::vector<double> reals(static_cast<std::size_t>(2 * columns));
            std::vector<std::int64_t> wide(reals.size()), two(reals.size()), close(reals.size());
            for (std::size_t i = 0; i < reals.size(); ++i) {
                wide[i] = static_cast<std::int64_t>(random());
                reals[i] = static_cast<double>(wide[i]) * 0x1p-63;
                const auto low = static_cast<std::int64_t>(random() >> 33);
                two[i] = low % 2 ? low : -low;               // the high digits are all 0 or all 255
                close[i] = wide[i] / 1000 * 1000 + low % 7;  // ties of the high ones
            }
            for (std::size_t i = 1; i < close.size(); i += 2) close[i] = close[i - 1] ^ 1;
            compare(reals, columns, descending, home);
            compare(wide, columns, descending, home);
            compare(two, columns, descending, home);
            compare(close, columns, descending, home);
        }
}
