// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Long rows with many ties against std::sort; tests/device compares any type and layout with
// the reference.
#include <pumice/host/sort.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

#include <numeric>

using namespace host_test;

namespace {

template <class T>
void compare(std::int64_t rows, std::int64_t columns, bool descending, const pm::context& home) {
    std::vector<T> v(static_cast<std::size_t>(rows * columns));
    for (std::size_t i = 0; i < v.size(); ++i)
        v[i] = static_cast<T>(static_cast<T>(i * 7919 % 2003) - static_cast<T>(1000));
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
