// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/counter.hpp>

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace pumice;

TEST_CASE("no count is lost, with one thread and with several") {
    counter c;
    for (int i = 0; i < 1000; ++i) ++c;
    CHECK(c == 1000);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 10000; ++i) ++c;
        });
    for (std::thread& t : threads) t.join();
    CHECK(c == 41000);
}
