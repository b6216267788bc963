// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/sort_numbers.hpp>

#include <doctest/doctest.h>

#include <random>

using namespace pumice;

TEST_CASE("sort_numbers: what std::sort makes of it, by orders of all kinds") {
    std::mt19937 random(1);
    for (std::size_t n = 0; n < 300; n += n < 40 ? 1 : 37) {
        array_list<std::size_t> list(n), keys(n);
        for (std::size_t i = 0; i < n; ++i) {
            list[i] = i;
            keys[i] = random() % (n / 2 + 1);
        }
        const auto check = [&](auto before) {
            array_list<std::size_t> expected = list, got = list;
            std::sort(expected.begin(), expected.end(), before);
            sort_numbers(got, before);
            CHECK(std::equal(got.begin(), got.end(), expected.begin(), expected.end()));
        };
        check([](std::size_t a, std::size_t b) { return a > b; });
        check([&](std::size_t a, std::size_t b) {
            return keys[a] != keys[b] ? keys[a] < keys[b] : a < b;
        });
    }
}

TEST_CASE("sort_numbers: what an order throws is thrown") {
    array_list<std::size_t> list{3, 1, 2};
    CHECK_THROWS_AS(sort_numbers(list, [](std::size_t, std::size_t) -> bool { throw 1; }), int);
}
