// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/expected.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>

using namespace pumice;

TEST_CASE("attempt gives the value, or the error that was thrown") {
    const expected<int> good = attempt([] { return 3; });
    REQUIRE(good.has_value());
    CHECK(*good == 3);

    const expected<int> bad =
        attempt([]() -> int { throw error(errc::io_failed, "read", "no such file", {"x.onnx"}); });
    REQUIRE(!bad.has_value());
    CHECK(bad.error().code() == errc::io_failed);
    CHECK(bad.error().reasons().size() == 1);

    CHECK(attempt([] {}).has_value());
    CHECK(attempt([] { throw error(errc::cancelled, "eval", "stopped"); }).error().where() ==
          "eval");
}

TEST_CASE("what is not an error of Pumice's passes through") {
    CHECK_THROWS_AS(static_cast<void>(attempt([]() -> int {
                        throw std::runtime_error("of the user's");
                    })),
                    std::runtime_error);
}

TEST_CASE("values that only move come out") {
    auto made = attempt([] { return std::make_unique<int>(7); });
    REQUIRE(made.has_value());
    CHECK(**std::move(made) == 7);
}
