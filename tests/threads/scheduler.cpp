// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Random graphs of chunks on a pool of threads, whoever finishes one submitting the next.
#include <pumice/exec/scheduler.hpp>

#include <doctest/doctest.h>
#include <BS_thread_pool.hpp>

#include <random>

namespace pm = pumice;

TEST_CASE("a thousand random graphs of chunks: every edge is respected, every fault comes out") {
    BS::thread_pool pool(4);
    const auto spawn = [&](auto&& next) { pool.detach_task(next); };
    std::mt19937 random(7);
    int wrong = 0, faults = 0;
    for (int round = 0; round < 1000; ++round) {
        pm::array_list<pm::chunk> graph(1 + random() % 24);
        std::vector<std::vector<std::size_t>> before(graph.size());
        for (std::size_t to = 1; to < graph.size(); ++to)
            for (std::size_t from = 0; from < to; ++from)
                if (random() % 5 == 0) {
                    graph[from].dependents.push_back(std::uint32_t(to));
                    ++graph[to].predecessors;
                    before[to].push_back(from);
                }
        pm::scheduler s(graph);
        for (int run = 0; run < 2; ++run) {
            // Plain values: an edge that orders nothing is a race that the thread sanitizer sees.
            std::vector<int> done(graph.size(), 0);
            const std::size_t bad = random() % (4 * graph.size());
            const auto work = [&](std::size_t i) {
                for (const std::size_t b : before[i]) done[i] -= done[b] == 0;
                if (i == bad) throw pm::error(pm::errc::unsupported, "test", "planned");
                done[i] += 1;
            };
            bool threw = false;
            try {
                s.run({}, work, spawn);
            } catch (const pm::error&) {
                threw = true;
            }
            wrong += threw != (bad < graph.size());
            faults += threw;
            if (!threw)
                for (const int d : done) wrong += d != 1;
        }
    }
    CHECK(wrong == 0);
    CHECK(faults > 100);
}
