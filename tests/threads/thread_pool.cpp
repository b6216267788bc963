// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/thread_pool.hpp>

#include <doctest/doctest.h>

#include <set>
#include <stdexcept>
#include <vector>

#if defined(__unix__)
#include <sys/wait.h>
#include <unistd.h>
#endif

using pumice::thread_pool;

TEST_CASE("each part is done once, whatever the number of threads and parts") {
    for (const unsigned count : {0u, 1u, 2u, 5u}) {
        thread_pool threads(count);
        CHECK(threads.count() == std::max(count, 1u));
        for (const std::int64_t parts : {0, 1, 2, 7, 1000}) {
            std::vector<std::atomic<int>> done(static_cast<std::size_t>(parts));
            threads.run(parts, 1 + parts % 3,
                        [&](std::int64_t i) { ++done[static_cast<std::size_t>(i)]; });
            bool once = true;
            for (const std::atomic<int>& d : done) once = once && d == 1;
            CHECK(once);
        }
    }
}

TEST_CASE(
    "what a part throws reaches the caller, after all threads have left; then the next job runs") {
    thread_pool threads(3);
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> inside{0};
        CHECK_THROWS_AS(threads.run(50, 1,
                                    [&](std::int64_t i) {
                                        ++inside;
                                        if (i == 20) {
                                            --inside;
                                            throw std::runtime_error("part 20");
                                        }
                                        --inside;
                                    }),
                        std::runtime_error);
        CHECK(inside == 0);
    }
    std::atomic<int> n{0};
    threads.run(10, 4, [&](std::int64_t) { ++n; });
    CHECK(n == 10);
}

TEST_CASE("threads stay for the next job, and end with the pool") {
    std::mutex mutex;
    std::set<std::thread::id> seen;
    {
        thread_pool threads(3);
        for (int job = 0; job < 50; ++job)
            threads.run(30, 1, [&](std::int64_t) {
                const std::lock_guard lock(mutex);
                seen.insert(std::this_thread::get_id());
            });
    }
    CHECK(seen.size() <= 3);
    for (int round = 0; round < 100; ++round) thread_pool(4).run(8, 1, [](std::int64_t) {});
}

TEST_CASE("a job within a job, and jobs of several threads at once, are each done whole") {
    const thread_pool threads(3);
    std::atomic<int> done{0};
    const auto job = [&] {
        for (int round = 0; round < 50; ++round)
            threads.run(10, 1,
                        [&](std::int64_t) { threads.run(3, 1, [&](std::int64_t) { ++done; }); });
    };
    {
        std::jthread others[3];
        for (std::jthread& t : others) t = std::jthread(job);
        job();
    }
    CHECK(done == 4 * 50 * 10 * 3);
}

#if defined(__unix__)
TEST_CASE("a child of the process does its jobs alone, and ends") {
    const auto threads = std::make_unique<thread_pool>(3);
    threads->run(10, 1, [](std::int64_t) {});
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        int n = 0;
        threads->run(10, 1, [&](std::int64_t) { ++n; });
        std::unique_ptr<thread_pool> mine(threads.get());
        mine.reset();
        ::_exit(n == 10 ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}
#endif

TEST_CASE("as many threads as the process may use") {
    const unsigned count = pumice::usable_processors();
    CHECK(count >= 1);
    CHECK(count <= std::max(1u, std::thread::hardware_concurrency()));
}
