// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/fork.hpp>

#include <tests/support/child.hpp>

#include <doctest/doctest.h>

using namespace pumice;

TEST_CASE("each fork gives another process number, and leaves the parent its own") {
    detail::watch_forks();
    const std::uint32_t mine = detail::process_number();
    const auto child = [&](auto&& work) { return test::right_in_child(work); };
    CHECK(child([&] { return detail::process_number() == mine + 1; }));
    CHECK(child([&] { return child([&] { return detail::process_number() == mine + 2; }); }));
    CHECK(detail::process_number() == mine);
}

TEST_CASE("what was made before a fork says so, and what to do") {
    try {
        detail::throw_forked("vulkan", "llvmpipe was opened before fork()");
    } catch (const error& e) {
        CHECK(e.code() == errc::forked);
        CHECK(std::string_view(e.what()).find("context{host_only{}}") != std::string_view::npos);
    }
}
