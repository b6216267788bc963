// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/vk/counters.hpp>

#include <doctest/doctest.h>

#include <thread>

TEST_CASE("counters: start at 0 and lose nothing between threads") {
    pumice::vulkan::counters c;
    CHECK(c.submits == 0);
    const auto many = [&c] {
        for (int i = 0; i < 10000; ++i) c.submits += 1;
    };
    std::thread other(many);
    many();
    other.join();
    CHECK(c.submits == 20000);
    CHECK(c.dispatches == 0);
}
