// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Long rows with many ties against std::sort; tests/device compares any type and layout with
// the reference.
#include <pumice/host/sort.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

#include <cstring>
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
        for (const auto& [rows, columns] :
             {std::pair{1, 100003}, {70, 127}, {9, 4096}, {700, 5}, {41, 16}, {41, 17}, {9, 1}}) {
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

TEST_CASE("host sort: short rows with NaN and -0, of any layout, all and the first few") {
    const pm::context home = host();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float some[] = {2, nan, -0.0f, 0, -3, 2, nan, 7, -0.0f, 1, 5};
    for (const std::int64_t n : {2, 3, 5, 11}) {
        const std::int64_t rows = 230;
        std::vector<float> v(static_cast<std::size_t>(rows * n));
        for (std::size_t i = 0; i < v.size(); ++i) v[i] = some[i * 7919 % 1013 % 11];
        const pm::any_tensor x = pm::from_span<float>({rows, n}, v, home),
                             down = pm::permute_dims(x, std::vector<std::int64_t>{1, 0});
        const std::int64_t k = (n + 1) / 2;
        std::vector<std::int64_t> want, first;
        for (std::int64_t r = 0; r < rows; ++r) {
            const float* const row = v.data() + r * n;
            std::vector<std::int64_t> at(static_cast<std::size_t>(n));
            std::iota(at.begin(), at.end(), std::int64_t{0});
            const auto less = [&](std::int64_t a, std::int64_t b) {
                return row[a] < row[b] || (row[a] == row[a] && row[b] != row[b]);
            };
            std::sort(at.begin(), at.end(), [&](std::int64_t a, std::int64_t b) {
                return less(a, b) || (!less(b, a) && a < b);
            });
            want.insert(want.end(), at.begin(), at.end());
            first.insert(first.end(), at.begin(), at.begin() + k);
        }
        const auto turned = [](const pm::any_tensor& t) {
            return pm::permute_dims(t, std::vector<std::int64_t>{1, 0});
        };
        CHECK(pm::to_vector<std::int64_t>(pm::argsort(x, 1)) == want);
        CHECK(pm::to_vector<std::int64_t>(turned(pm::argsort(down, 0))) == want);
        CHECK(pm::to_vector<std::int64_t>(pm::argsort(turned(down), 1)) == want);
        CHECK(pm::to_vector<std::int64_t>(pm::top_k(x, k, 1, false).indices) == first);
        CHECK(pm::to_vector<std::int64_t>(turned(pm::top_k(down, k, 0, false).indices)) == first);
        const std::vector<float> sorted = pm::to_vector<float>(pm::sort(x, 1));
        int wrong = 0;
        for (std::size_t i = 0; i < v.size(); ++i) {
            const float w = v[i / static_cast<std::size_t>(n) * static_cast<std::size_t>(n) +
                              static_cast<std::size_t>(want[i])];
            wrong += std::memcmp(&w, &sorted[i], sizeof w) != 0;
        }
        CHECK(wrong == 0);
    }
}
