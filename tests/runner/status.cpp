// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/runner/status.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

namespace pm = pumice;

TEST_CASE("run status: each error has one, and each a name") {
    for (int i = 0; i <= static_cast<int>(pm::errc::not_finite); ++i)
        CHECK(pm::status_of(static_cast<pm::errc>(i)) != pm::run_status::ok);
    for (int i = 0; i <= static_cast<int>(pm::run_status::failed); ++i)
        CHECK(to_string(static_cast<pm::run_status>(i)) != "unknown");
    CHECK(to_string(static_cast<pm::run_status>(99)) == "unknown");
    pm::short_text text;
    text.set(std::string(2000, 'a'));
    CHECK(std::string(text.c_str()) == std::string(511, 'a'));
    const auto of = [&](auto&& f) {
        try {
            f();
        } catch (...) {
            return pm::detail::status_of_exception(text);
        }
        return pm::run_status::ok;
    };
    CHECK(of([] { throw std::bad_alloc(); }) == pm::run_status::out_of_memory);
    CHECK(of([] { throw std::runtime_error("mine"); }) == pm::run_status::failed);
    CHECK(std::string(text.c_str()) == "mine");
    CHECK(of([] { throw 3; }) == pm::run_status::failed);
}
