// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/key_map.hpp>

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

using namespace pumice;

TEST_CASE("as std::unordered_map, few keys and many, in the order of insertion") {
    for (const unsigned keys : {3u, 12u, 13u, 200u, 20000u}) {
        std::mt19937_64 random(keys);
        key_map<std::uint64_t, std::string> map;
        std::unordered_map<std::uint64_t, std::string> expected;
        std::vector<std::uint64_t> order;
        for (unsigned i = 0; i < 4 * keys; ++i) {
            const std::uint64_t key = random() % keys
                                      << (keys % 2 ? 40 : 3);  // multiples, as pointers are
            const bool fresh = !expected.contains(key);
            REQUIRE(map.contains(key) == !fresh);
            if (fresh) order.push_back(key);
            if (random() % 2) {
                CHECK(map.insert(key, std::to_string(i)) == fresh);
                expected.try_emplace(key, std::to_string(i));
            } else {
                map[key] += 'x';
                expected[key] += 'x';
            }
            REQUIRE(map.find(key));
            REQUIRE(*map.find(key) == expected[key]);
        }
        REQUIRE(map.size() == expected.size());
        std::size_t i = 0;
        for (const auto& [key, value] : map) {
            REQUIRE(key == order[i++]);
            REQUIRE(value == expected[key]);
        }
        CHECK(map.find(~std::uint64_t{0}) == nullptr);
    }
}

TEST_CASE("a set of pointers") {
    std::vector<int> things(1000);
    key_set<const int*> set;
    CHECK(set.empty());
    CHECK_FALSE(set.contains(nullptr));
    for (const int& x : things) CHECK(set.insert(&x));
    for (const int& x : things) CHECK_FALSE(set.insert(&x));
    CHECK(set.size() == 1000);
    CHECK(set.contains(&things[999]));
    CHECK_FALSE(set.contains(nullptr));
    CHECK(set.insert(nullptr));
    CHECK(set.contains(nullptr));
}

TEST_CASE("numbers follow the order of the keys") {
    key_index index;
    for (std::uint64_t k = 0; k < 100; ++k) CHECK(index.insert(7 * k) == k);
    CHECK(index.insert(14) == 2);
    CHECK(index.find(14) == 2);
    CHECK(index.find(15) == key_index::none);
    CHECK(index[3] == 21);
    CHECK(index.size() == 100);
}
