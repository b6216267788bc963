// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/array_list.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace pumice;

// What moves needs no memory and what copies may, also where it is a member.
struct holder {
    array_list<int> list;
};
static_assert(std::is_nothrow_move_assignable_v<holder> &&
              std::is_nothrow_move_constructible_v<holder>);
static_assert(!std::is_nothrow_copy_assignable_v<array_list<int>> &&
              !std::is_nothrow_copy_assignable_v<holder> &&
              !std::is_nothrow_copy_constructible_v<holder>);

namespace {

/// Throws at the n-th copy from now on, and knows how many there are.
struct touchy {
    static inline int alive = 0, copies_left = 0;
    std::string text;
    touchy(std::string t = "") : text(std::move(t)) { ++alive; }
    touchy(const touchy& other) : text(other.text) {
        if (copies_left > 0 && --copies_left == 0) throw 1;
        ++alive;
    }
    touchy(touchy&& other) noexcept : text(std::move(other.text)) { ++alive; }
    touchy& operator=(touchy other) noexcept {
        text.swap(other.text);
        return *this;
    }
    ~touchy() { --alive; }
    bool operator==(const touchy&) const = default;
};

template <class T>
bool same(const array_list<T>& list, const std::vector<T>& expected) {
    return std::equal(list.begin(), list.end(), expected.begin(), expected.end());
}

template <class T, class Make>
void walk(Make make) {
    std::mt19937 random(7);
    const auto some = [&] { return static_cast<unsigned>(random()); };
    array_list<T> list;
    std::vector<T> expected;
    const auto below = [&](std::size_t n) { return static_cast<std::ptrdiff_t>(random() % n); };
    for (int i = 0; i < 3000; ++i) {
        const std::size_t size = expected.size();
        const T value = make(some());
        switch (random() % 12) {
            case 0:
            case 1: list.push_back(value), expected.push_back(value); break;
            case 2: list.emplace_back(value), expected.emplace_back(value); break;
            case 3: {
                const std::ptrdiff_t at = below(size + 1);
                CHECK(*list.insert(list.begin() + at, value) == value);
                expected.insert(expected.begin() + at, value);
                break;
            }
            case 4: {
                const std::vector<T> more{value, make(some()), make(some())};
                const std::ptrdiff_t at = below(size + 1);
                list.insert(list.begin() + at, more.begin(), more.end());
                expected.insert(expected.begin() + at, more.begin(), more.end());
                break;
            }
            case 5: {
                const std::ptrdiff_t first = below(size + 1),
                                     last =
                                         first + below(size + 1 - static_cast<std::size_t>(first));
                CHECK(list.erase(list.begin() + first, list.begin() + last) ==
                      list.begin() + first);
                expected.erase(expected.begin() + first, expected.begin() + last);
                break;
            }
            case 6: {
                const std::size_t n = random() % 40;
                if (random() % 2) list.resize(n), expected.resize(n);
                else list.resize(n, value), expected.resize(n, value);
                break;
            }
            case 7:
                list.append({value, value}), expected.insert(expected.end(), {value, value});
                break;
            case 8:
                if (size > 0) list.pop_back(), expected.pop_back();
                break;
            case 9: {
                const auto gone = [&](const T& x) { return std::hash<T>()(x) % 3 == 0; };
                erase_if(list, gone), std::erase_if(expected, gone);
                break;
            }
            case 10: {
                array_list<T> copy = list, moved = std::move(list);
                CHECK(list.empty());
                CHECK(copy == moved);
                list = std::move(moved);
                break;
            }
            default:
                if (size > 0) list.push_back(list.front()), expected.push_back(expected.front());
        }
        REQUIRE(same(list, expected));
        REQUIRE(list.size() == expected.size());
    }
    CHECK(std::vector<T>(list.rbegin(), list.rend()) ==
          std::vector<T>(expected.rbegin(), expected.rend()));
}

}  // namespace

TEST_CASE("as std::vector after any sequence of operations") {
    walk<int>([](unsigned n) { return static_cast<int>(n % 100); });
    walk<std::string>([](unsigned n) { return std::string(n % 60, 'x') + std::to_string(n % 9); });
}

TEST_CASE("what makes a list") {
    CHECK(array_list<int>(3, 5) == array_list<int>{5, 5, 5});
    CHECK(array_list<int>(3) == array_list<int>{0, 0, 0});
    const int values[] = {1, 2};
    CHECK(array_list<long>(values, values + 2) == array_list<long>{1, 2});
    array_list<int> list{1, 2, 3};
    list.assign(2, list[2]);
    CHECK(list == array_list<int>{3, 3});
    list.clear();
    CHECK(list.empty());
    CHECK_FALSE(list == array_list<int>{1});
    CHECK_THROWS_AS(list.at(0), std::out_of_range);
    CHECK_THROWS_AS(list.reserve(~std::size_t{0} / 2), std::length_error);
    list.push_back(1);
    CHECK_THROWS_AS(list.make_room(~std::size_t{0}), std::length_error);
    CHECK(list.size() == 1);
    array_list<std::unique_ptr<int>> owners;
    for (int i = 0; i < 20; ++i) owners.push_back(std::make_unique<int>(i));
    CHECK(*owners.at(19) == 19);
}

TEST_CASE("a copy that throws leaks nothing and loses nothing") {
    {
        array_list<touchy> list;
        for (int i = 0; i < 4; ++i) list.push_back(std::string("a text beyond the short ones"));
        const array_list<touchy> before = list;
        for (int at = 1; at <= 4; ++at) {
            touchy::copies_left = at;
            CHECK_THROWS_AS(array_list<touchy>{list}, int);
            touchy::copies_left = at;
            array_list<touchy> other;
            CHECK_THROWS_AS(other.append(list.begin(), list.end()), int);
            CHECK(other.size() == static_cast<std::size_t>(at - 1));
        }
        touchy::copies_left = 1;
        CHECK_THROWS_AS(list.push_back(list[0]), int);
        touchy::copies_left = 0;
        CHECK(list == before);
    }
    CHECK(touchy::alive == 0);
}
