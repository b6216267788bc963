// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/span.hpp>

#include <doctest/doctest.h>

#include <array>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace pm = pumice;

namespace {

struct base {
    int x = 0;
};
struct derived : base {
    int y = 0;
};

int sum(pm::span<const int> values) {
    int all = 0;
    for (const int v : values) all += v;
    return all;
}
std::size_t count(std::span<const int> values) { return values.size(); }

}  // namespace

// What has data and size converts, where the elements are T's and may be written if T may.
static_assert(std::is_convertible_v<std::vector<int>&, pm::span<int>>);
static_assert(std::is_convertible_v<const std::vector<int>&, pm::span<const int>>);
static_assert(!std::is_convertible_v<const std::vector<int>&, pm::span<int>>);
static_assert(!std::is_convertible_v<pm::span<const int>, pm::span<int>>);
static_assert(!std::is_convertible_v<std::vector<unsigned>&, pm::span<int>>);
static_assert(!std::is_convertible_v<std::vector<derived>&, pm::span<base>>);
static_assert(!std::is_convertible_v<std::vector<bool>&, pm::span<bool>>);
static_assert(!std::is_convertible_v<int*, pm::span<int>> &&
              !std::is_convertible_v<int, pm::span<int>>);
static_assert(std::is_convertible_v<std::vector<std::unique_ptr<int>>&,
                                    pm::span<const std::unique_ptr<int>>>);
// Both ways between it and std's.
static_assert(std::is_convertible_v<std::span<int>, pm::span<const int>>);
static_assert(std::is_convertible_v<std::span<int, 4>, pm::span<int>>);
static_assert(std::is_convertible_v<pm::span<int>, std::span<const int>>);
static_assert(std::is_trivially_copyable_v<pm::span<std::string>>);

TEST_CASE("span: of every kind of list") {
    std::vector<int> list{1, 2, 3};
    const std::array<int, 2> pair{4, 5};
    int plain[] = {6, 7};
    CHECK(sum(list) == 6);
    CHECK(sum(pair) == 9);
    CHECK(sum(plain) == 13);
    CHECK(sum(std::initializer_list<int>{8, 9}) == 17);
    CHECK(sum(std::vector<int>{10, 11}) == 21);
    CHECK(sum({list.data() + 1, 2}) == 5);
    CHECK(sum({}) == 0);
    CHECK(sum(std::span(list)) == 6);
    CHECK(count(pm::span(list)) == 3);
    static_assert(std::is_same_v<decltype(pm::span(list)), pm::span<int>>);
    static_assert(std::is_same_v<decltype(pm::span(pair)), pm::span<const int>>);
    static_assert(std::is_same_v<decltype(pm::span(plain)), pm::span<int>>);
    static_assert(std::is_same_v<decltype(pm::span(std::string_view())), pm::span<const char>>);
    const pm::span<int> written = plain;
    written[1] = 1;
    CHECK(plain[1] == 1);
}

TEST_CASE("span: its parts are std::span's") {
    const std::vector<int> list{1, 2, 3, 4, 5};
    const pm::span<const int> all = list;
    const std::span<const int> other = list;
    const auto same = [](pm::span<const int> a, std::span<const int> b) {
        return a.data() == b.data() && a.size() == b.size();
    };
    for (std::size_t from = 0; from <= list.size(); ++from) {
        CHECK(same(all.first(from), other.first(from)));
        CHECK(same(all.last(from), other.last(from)));
        CHECK(same(all.subspan(from), other.subspan(from)));
        for (std::size_t n = 0; from + n <= list.size(); ++n)
            CHECK(same(all.subspan(from, n), other.subspan(from, n)));
    }
    CHECK(all.front() == 1);
    CHECK(all.back() == 5);
    CHECK(!all.empty());
    CHECK(pm::span<int>().empty());
    CHECK(pm::span<int>().data() == nullptr);
    CHECK(all.size_bytes() == other.size_bytes());
}

TEST_CASE("span: bytes") {
    std::vector<std::uint16_t> list{0x0102, 0x0304};
    const pm::span<std::byte> bytes = pm::as_writable_bytes(pm::span(list));
    CHECK(bytes.size() == 4);
    bytes[0] = bytes[1] = std::byte{9};
    CHECK(list == std::vector<std::uint16_t>{0x0909, 0x0304});
    CHECK(pm::as_bytes(pm::span(list)).data() == bytes.data());
    static_assert(std::is_same_v<decltype(pm::as_bytes(pm::span(list))),
                                 pm::span<const std::byte>>);
}

namespace {
int sum_of(pm::span<const int> list) {
    int sum = 0;
    for (const int n : list) sum += n;
    return sum;
}
}  // namespace

TEST_CASE("span: a list in braces is an argument") {
    CHECK(sum_of({}) == 0);
    CHECK(sum_of({7}) == 7);
    CHECK(sum_of({1, 0}) == 1);
    CHECK(sum_of({1, 2, 3}) == 6);
    const std::vector<int> list{4, 5};
    CHECK(sum_of({list.data(), 1}) == 4);  // still a place and a size
    CHECK(sum_of({list}) == 9);
    static_assert(!std::is_constructible_v<pm::span<int>, std::initializer_list<int>>);
    const bool flags[] = {true, false, true};
    CHECK(pm::span<const bool>{flags, 3}.size() == 3);
    static_assert(!std::is_constructible_v<pm::span<const int>, std::nullptr_t, int>);
}
