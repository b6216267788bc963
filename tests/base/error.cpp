// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/error.hpp>

#include <doctest/doctest.h>

#include <set>

using namespace pumice;

TEST_CASE("what() reads [place] message and one reason a line") {
    const error plain(errc::shape_mismatch, "matmul", "shapes (2, 3) and (4, 5) do not match");
    CHECK(plain.code() == errc::shape_mismatch);
    CHECK(plain.where() == "matmul");
    CHECK(plain.message() == "shapes (2, 3) and (4, 5) do not match");
    CHECK(plain.reasons().empty());
    CHECK(std::string(plain.what()) == "[matmul] shapes (2, 3) and (4, 5) do not match");

    const error reasons(errc::no_device, "context", "no device",
                        {"llvmpipe: no timelines", "install a driver"});
    CHECK(reasons.reasons().size() == 2);
    CHECK(std::string(reasons.what()) ==
          "[context] no device\n  - llvmpipe: no timelines\n  - install a driver");
}

TEST_CASE("a copy, as throwing makes, says the same") {
    try {
        try {
            throw error(errc::bad_file, "onnx", "the file ends early", {"at byte 12"});
        } catch (const std::exception& e) {
            CHECK(std::string(e.what()) == "[onnx] the file ends early\n  - at byte 12");
            throw;
        }
    } catch (const error& e) {
        const error copy = e;
        CHECK(std::string(copy.what()) == e.what());
        CHECK(copy.code() == errc::bad_file);
    }
}

TEST_CASE("every code has a name of its own") {
    std::set<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(errc::exiting); ++i)
        names.insert(to_string(static_cast<errc>(i)));
    CHECK(names.size() == static_cast<std::size_t>(errc::exiting) + 1);
    CHECK(to_string(errc::invalid_argument) == "invalid_argument");
    CHECK(to_string(errc::no_slang) == "no_slang");
    CHECK(to_string(errc::cancelled) == "cancelled");
    CHECK(to_string(errc::exiting) == "exiting");
}
