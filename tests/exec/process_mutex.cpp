// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/exec/process_mutex.hpp>

#include <tests/support/child.hpp>
#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace pumice;

namespace {
bool refused(process_mutex& mutex) {
    try {
        const std::lock_guard lock(mutex);
    } catch (const error& e) {
        return e.code() == errc::forked;
    }
    return false;
}
}  // namespace

TEST_CASE("a mutex that was free at the fork serves parent and child") {
    process_mutex mutex;
    const auto count = [&] {
        int sum = 0;
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&] {
                for (int i = 0; i < 1000; ++i) {
                    const std::lock_guard lock(mutex);
                    ++sum;
                }
            });
        threads.clear();
        return sum == 4000;
    };
    CHECK(count());
    CHECK(test::right_in_child([&] { return count() && !mutex.left_behind(); }));
    CHECK(count());
}

TEST_CASE("one that was held at the fork is refused in the child, always") {
    process_mutex mutex;
    mutex.lock();
    CHECK(test::right_in_child([&] { return refused(mutex) && refused(mutex); }));
    mutex.unlock();
    CHECK_FALSE(refused(mutex));
}

TEST_CASE("one of what stays with its process is refused in every child") {
    process_mutex mutex(true);
    CHECK_FALSE(mutex.left_behind());
    CHECK(test::right_in_child([&] { return mutex.left_behind() && refused(mutex); }));
    CHECK_FALSE(refused(mutex));
}

TEST_CASE("one that the thread has already is refused, and stays locked") {
    process_mutex mutex;
    {
        const std::lock_guard lock(mutex);
        CHECK(test::code_of([&] { mutex.lock(); }) == errc::invalid_argument);
        CHECK_FALSE(mutex.try_lock());
        bool free = true;
        std::thread([&] { free = mutex.try_lock(); }).join();
        CHECK_FALSE(free);
    }
    CHECK(mutex.try_lock());
    mutex.unlock();
}
