// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/exec/host_threads.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

using pumice::host_threads;

TEST_CASE("each part is done once, whatever the number of threads and parts") {
    for (const unsigned count : {0u, 1u, 2u, 5u}) {
        host_threads threads(count);
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
    host_threads threads(3);
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
