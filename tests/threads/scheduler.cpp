// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Random graphs of chunks on threads, whoever finishes one submitting the next.
#include <pumice/exec/scheduler.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <random>
#include <thread>
#include <vector>

namespace pm = pumice;

namespace {

/// Threads that take tasks from one list.
class workers {
public:
    explicit workers(int count) {
        for (int i = 0; i < count; ++i)
            threads_.emplace_back([this](const std::stop_token& stop) {
                std::unique_lock lock(mutex_);
                while (added_.wait(lock, stop, [this] { return !tasks_.empty(); })) {
                    const std::function<void()> task = std::move(tasks_.back());
                    tasks_.pop_back();
                    lock.unlock();
                    task();
                    lock.lock();
                }
            });
    }
    void add(std::function<void()> task) {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
        added_.notify_one();
    }

private:
    std::mutex mutex_;
    std::condition_variable_any added_;
    std::vector<std::function<void()>> tasks_;
    std::vector<std::jthread> threads_;
};

}  // namespace

TEST_CASE("a thousand random graphs of chunks: every edge is respected, every fault comes out") {
    workers others(4);
    const auto spawn = [&](auto&& next) { others.add(next); };
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
