// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/text.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

using namespace pumice;

TEST_CASE("cat joins texts of every kind and whole numbers") {
    const std::string owned = "owned";
    const std::string_view view = "view of more";
    CHECK(cat({}) == "");
    CHECK(cat({""}) == "");
    CHECK(cat({"a ", owned, ", ", view.substr(0, 4), std::string("!")}) == "a owned, view!");
    CHECK(cat({1, " ", -2, " ", 3u}) == "1 -2 3");
    CHECK(cat({std::uint8_t{7}, " ", std::int8_t{-7}}) == "7 -7");
    CHECK(cat({std::numeric_limits<std::int64_t>::min(), " ",
               std::numeric_limits<std::uint64_t>::max()}) ==
          "-9223372036854775808 18446744073709551615");
    CHECK(cat({std::string_view("a\0b", 3)}) == std::string("a\0b", 3));
    const char in_place[8] = "ends";
    CHECK(cat({in_place, static_cast<const char*>("here")}) == "endshere");
}

TEST_CASE("append_text keeps what is there") {
    std::string text = "x";
    append_text(text, {"y", 1});
    append_text(text, {});
    CHECK(text == "xy1");
}
