// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A graph of chunks on one thread; tests/threads/scheduler.cpp runs it on many.
#include <pumice/exec/scheduler.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

namespace {
constexpr auto here = [](auto&& next) { next(); };
}  // namespace

TEST_CASE("scheduler: each chunk once, after its predecessors, run after run") {
    // 0 -> 1, 2 -> 3, and 4 beside them
    pm::array_list<pm::chunk> diamond(5);
    diamond[0].dependents = {1, 2};
    diamond[1].dependents = diamond[2].dependents = {3};
    diamond[1].predecessors = diamond[2].predecessors = 1;
    diamond[3].predecessors = 2;
    pm::scheduler s(diamond);
    for (int run = 0; run < 3; ++run) {
        std::vector<std::size_t> order;
        s.run({}, [&](std::size_t i) { order.push_back(i); }, here);
        REQUIRE(order.size() == 5);
        std::vector<std::size_t> place(5, 9);
        for (std::size_t k = 0; k < 5; ++k) place[order[k]] = k;
        CHECK((place[0] < place[1] && place[0] < place[2]));
        CHECK((place[1] < place[3] && place[2] < place[3]));
        CHECK(place[4] < 5);
    }
    pm::scheduler nothing({});
    nothing.run({}, [](std::size_t) { CHECK(false); }, here);
}

TEST_CASE("scheduler: a fault or a stop begins no further chunk, and the next run is whole") {
    const double seconds[] = {1, 1, 1, 1};
    const pm::array_list<pm::chunk> line = pm::cut(seconds, 1);
    pm::scheduler s(line);
    std::size_t begun = 0;
    const auto fails = [&](std::size_t i) {
        ++begun;
        if (i == 1) throw pm::error(pm::errc::out_of_memory, "test", "planned");
    };
    CHECK_THROWS_AS(s.run({}, fails, here), pm::error);
    CHECK(begun == 2);
    std::stop_source stop;
    begun = 0;
    pm::errc code{};
    try {
        s.run(
            stop.get_token(), [&](std::size_t i) { ++begun, i == 2 ? stop.request_stop() : 0; },
            here);
    } catch (const pm::error& e) {
        code = e.code();
    }
    CHECK(code == pm::errc::cancelled);
    CHECK(begun == 3);
    begun = 0;
    s.run({}, [&](std::size_t) { ++begun; }, here);
    CHECK(begun == 4);
    // Nobody spawns: what cannot be passed on is done here.
    pm::array_list<pm::chunk> two(2);
    pm::scheduler beside(two);
    begun = 0;
    beside.run({}, [&](std::size_t) { ++begun; }, [](auto&&) { throw std::bad_alloc(); });
    CHECK(begun == 2);
}
