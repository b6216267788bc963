// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Loops that are evaluated by several threads: nobody waits for another's loop, but for its values.
#include <pumice/front.hpp>
#include <pumice/tensor/control.hpp>

#include <doctest/doctest.h>

#include <thread>

namespace pm = pumice;

namespace {

/// x = x + 1 while x[0] < least.
pm::vector<float> counted_to(float least, const pm::vector<float>& x) {
    return pm::while_loop([&](const pm::vector<float>& v) { return pm::max(v) < least; },
                          [](const pm::vector<float>& v) { return v + 1.0f; }, x);
}

}  // namespace

TEST_CASE("decisions: while loops run, another thread's work is planned and run") {
    for (const bool on_host : {false, true}) {
        const pm::context home = on_host ? pm::context(pm::host_only{}) : pm::context();
        const auto small_sum = [](const pm::vector<float>& v, int k) {
            return pm::sum(pm::matrix<float>(pm::reshape_to(v, std::int64_t{16}, std::int64_t{16}) +
                                             float(k)),
                           pm::axis<1>)
                .to_vector()[15];
        };
        {  // compiled in another context: a GPU's loops would end before Slang does
            const pm::context earlier = on_host ? pm::context(pm::host_only{}) : pm::context();
            const pm::vector<float> v = pm::zeros<float>({256}, earlier);
            CHECK(small_sum(v, 1) == 16);
            CHECK(counted_to(3, v).to_vector()[0] == 3);
        }
        const pm::vector<float> x = pm::zeros<float>({256}, home);
        pm::eval(x);
        std::atomic<bool> begun{false};
        std::atomic<int> ended{0};
        std::vector<float> got(2);
        std::vector<std::jthread> loops;
        for (std::size_t i = 0; i < got.size(); ++i)
            loops.emplace_back([&, i] {
                const pm::vector<float> from = x + float(i);
                begun = true;
                got[i] = counted_to(1500.0f + float(i), from).to_vector()[255];
                ++ended;
            });
        while (!begun) std::this_thread::yield();
        int meanwhile = 0;
        for (int k = 0; k < 20; ++k) {
            CHECK(small_sum(x, k) == float(16 * k));
            if (ended == 0) ++meanwhile;
        }
        loops.clear();
        CHECK(got == std::vector<float>{1500, 1501});
        CHECK(meanwhile >= 10);
    }
}

TEST_CASE("decisions: two threads that ask for one loop's result have it computed once") {
    const pm::context home;
    const pm::vector<float> x = pm::zeros<float>({64}, home);
    pm::eval(x);
    CHECK(counted_to(400, x).to_vector()[0] == 400);
    const std::uint64_t before = home.stats().dispatches;
    const pm::vector<float> y = counted_to(400, x);
    std::vector<float> got(3);
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < got.size(); ++i)
            threads.emplace_back([&, i] {
                got[i] = i == 2 ? pm::vector<float>(y + 1.0f).to_vector()[63] : y.to_vector()[63];
            });
    }
    CHECK(got == std::vector<float>{400, 400, 401});
    CHECK(home.stats().dispatches - before < 2 * 2 * 400);
}
