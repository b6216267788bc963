// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/lock.hpp>

#include <tests/support/child.hpp>

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace pumice;

TEST_CASE("one at a time, and nobody sleeps for ever") {
    small_mutex mutex;
    long count = 0;  // not atomic: the mutex is what makes it right
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 5000; ++i) {
                const small_lock lock(mutex);
                ++count;
            }
        });
    for (std::thread& t : threads) t.join();
    CHECK(count == 20000);
}

TEST_CASE("what a thread holds that fork() did not copy, the child takes over") {
    detail::watch_forks();
    small_mutex mutex;
    mutex.lock();  // for the child: by a thread that it lacks
    CHECK(test::right_in_child([&] {
        int count = 0;
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&] {
                for (int i = 0; i < 1000; ++i) {
                    const small_lock lock(mutex);
                    ++count;
                }
            });
        threads.clear();
        return count == 4000;
    }));
    mutex.unlock();
    const small_lock again(mutex);
}
