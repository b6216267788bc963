// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/runner/ring.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace pm = pumice;

TEST_CASE("ring: first in, first out, full and empty are told, and threads lose nothing") {
    pm::detail::ring<int> small(3);
    std::array<int, 5> values{0, 1, 2, 3, 4};
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 4; ++i) CHECK(small.push(&values[std::size_t(i)]));
        CHECK_FALSE(small.push(&values[4]));
        for (int i = 0; i < 4; ++i) CHECK(small.pop() == &values[std::size_t(i)]);
        CHECK(small.pop() == nullptr);
    }
    constexpr int each = 2000;
    pm::detail::ring<int> shared(64);
    std::vector<int> items(4 * each);
    std::vector<std::atomic<int>> seen(items.size());
    std::atomic<int> taken{0};
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&, t] {
                for (int i = 0; i < each; ++i)
                    while (!shared.push(&items[std::size_t(t * each + i)]))
                        std::this_thread::yield();
            });
            threads.emplace_back([&] {
                while (taken < 4 * each)
                    if (const int* const got = shared.pop()) {
                        ++seen[std::size_t(got - items.data())];
                        ++taken;
                    } else {
                        std::this_thread::yield();
                    }
            });
        }
    }
    int wrong = 0;
    for (const std::atomic<int>& s : seen) wrong += s != 1;
    CHECK(wrong == 0);
}
