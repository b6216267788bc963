// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/core/checked.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace pumice;

namespace {
constexpr std::int64_t top = std::numeric_limits<std::int64_t>::max();
}

TEST_CASE("sizes up to 2^63 - 1 are exact") {
    static_assert(checked_multiply(3, 4, "x") == 12);
    CHECK(checked_multiply(top, 1, "x") == top);
    CHECK(checked_multiply(1, top, "x") == top);
    CHECK(checked_multiply(0, top, "x") == 0);
    CHECK(checked_multiply(top, 0, "x") == 0);
    CHECK(checked_multiply(std::int64_t{1} << 31, std::int64_t{1} << 31, "x") == std::int64_t{1}
                                                                                     << 62);
    CHECK(checked_multiply(top / 3, 3, "x") == top - top % 3);
    CHECK(checked_add(top - 1, 1, "x") == top);
    CHECK(checked_add(0, 0, "x") == 0);
}

TEST_CASE("beyond, an error that names the numbers and the place") {
    const auto fails = [](auto f, const char* numbers) {
        try {
            f();
            FAIL("no error");
        } catch (const error& e) {
            CHECK(e.code() == errc::size_overflow);
            CHECK(e.where() == "reshape");
            CHECK_MESSAGE(e.message().find(numbers) != std::string::npos, e.what());
        }
    };
    fails([] { return checked_multiply(top / 3 + 1, 3, "reshape"); }, "3074457345618258603 x 3");
    fails([] { return checked_multiply(std::int64_t{1} << 32, std::int64_t{1} << 31, "reshape"); },
          "4294967296 x 2147483648");
    fails([] { return checked_multiply(top, top, "reshape"); }, "9223372036854775807 x");
    fails([] { return checked_add(top, 1, "reshape"); }, "9223372036854775807 + 1");
}
