// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/fixed_string.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>

using namespace pumice;

TEST_CASE("fixed_vector grows to its capacity and compares by hand") {
    fixed_vector<int, 3> v;
    CHECK(v.empty());
    v.push_back(4);
    v.push_back(5);
    v[0] = 3;
    CHECK(v.size() == 2);
    CHECK(v[0] == 3);
    CHECK(v.data() + 1 == &v[1]);
    CHECK(std::string(v.begin(), v.end()) == std::string("\3\5"));
    v.clear();
    CHECK(v.empty());
    CHECK(fixed_vector<int, 0>{}.empty());
}

TEST_CASE("fixed_string and std::string take the same appends") {
    const auto write = [](auto& out) {
        out.append("a");
        append_number(out, 0);
        append_number(out, std::numeric_limits<std::uint64_t>::max());
        append_hex(out, 0x0123456789abcdefULL);
        out.push_back('.');
    };
    fixed_string<64> fixed;
    std::string text;
    write(fixed);
    write(text);
    CHECK(text == "a0184467440737095516150123456789abcdef.");
    CHECK(std::string_view(fixed) == text);
    CHECK(fixed.size() == text.size());
}

TEST_CASE("both work in constant expressions") {
    constexpr auto text = [] {
        fixed_string<8> t;
        t.append("n=");
        append_number(t, 42);
        return t;
    }();
    static_assert(std::string_view(text) == "n=42");
    constexpr auto sum = [] {
        fixed_vector<int, 4> v;
        for (int i = 1; i < 5; ++i) v.push_back(i);
        int s = 0;
        for (int i : v) s += i;
        return s;
    }();
    CHECK(sum == 10);
}
