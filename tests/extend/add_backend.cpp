// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The backend of add_backend.hpp at work.
#include "add_backend.hpp"

#include <pumice/exec/plan/verify.hpp>
#include <pumice/policy/placement.hpp>

#include <tests/exec/crossings.hpp>
#include <tests/exec/random_programs.hpp>

#include <doctest/doctest.h>

TEST_CASE("extend: a backend of one's own runs plans; random programs agree with the host") {
    const pm::context home(mine::on_mine{1 << 24}), host(pm::host_only{});
    for (unsigned seed = 0; seed < 200; ++seed)
        CHECK_MESSAGE(test::differences(test::run(home, seed), test::run(host, seed)) == 0,
                      "seed " << seed);
    CHECK(home.stats().dispatches > 500);
}

TEST_CASE("extend: steps at random places of it, evaluated and recorded, give the bits of one") {
    const pm::context one(mine::on_mine{1 << 24});
    int crossed = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
        const pm::context home(mine::on_mine{1 << 24}, pm::place_steps{[seed](pm::placement& p) {
                                   std::mt19937 random(seed);
                                   for (int& place : p.at) place = int(random() % 3);
                               }});
        CHECK(test::same_bits(test::elements_of(test::run(home, seed)),
                              test::elements_of(test::run(one, seed))));
        test::traced_program here(seed, home), there(seed, one);
        const pm::plan& p = here.recording.planned();
        CHECK(pm::find_faults(p).empty());
        const test::crossings across(p);
        CHECK(across.again == 0);
        crossed += across.all;
        for (int i = 0; i < 2; ++i) {
            const std::uint64_t before = home.stats().dispatches;
            const test::variables got = here.recording.run(here.start);
            CHECK(home.stats().dispatches - before == p.steps.size());  // each once, copies too
            CHECK(test::same_bits(test::elements_of(got),
                                  test::elements_of(there.recording.run(there.start))));
        }
    }
    CHECK(crossed > 300);
}

TEST_CASE("extend: and functions that are compiled, several backends at once") {
    const auto work = [](std::int64_t bytes) {
        const pm::context home(mine::on_mine{bytes});
        const auto f = pm::compile([](const pm::any_tensor& x, const pm::any_tensor& y) {
            return pm::softmax(pm::matmul(x, y) * 0.25 + x, 1);
        });
        pm::any_tensor x = pm::full(pm::dtype::f32, {8, 8}, 0.5, home);
        for (int i = 0; i < 20; ++i) x = f(x, x);
        return pm::to_vector<float>(x);
    };
    std::vector<float> results[4];
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&, i] { results[i] = work((1 << 20) << i); });
    }
    for (const std::vector<float>& r : results) CHECK(r == std::vector<float>(64, 0.125f));
}

TEST_CASE("extend: what fails leaves everything as it was, and the next try does it") {
    const pm::context home(mine::on_mine{4096});
    const pm::any_tensor x = pm::full(pm::dtype::f32, {256}, 2, home);
    pm::eval(std::span(&x, 1));
    const pm::any_tensor y = x * 3.0, large = pm::full(pm::dtype::f32, {4096}, 1, home);
    const pm::any_tensor both[] = {y, large};
    CHECK_THROWS_AS(pm::eval(both), pm::error);
    CHECK_FALSE(y.get()->realised());
    mine::engine_of(home).fail_in = 0;
    CHECK_THROWS_AS(pm::eval(std::span(&y, 1)), pm::error);
    CHECK_FALSE(y.get()->realised());
    CHECK(pm::to_vector<float>(y) == std::vector<float>(256, 6.0f));
    CHECK(pm::explain(y).starts_with("mine/elementwise (256,)"));
    while (mine::engine_of(home).completed < 2) std::this_thread::yield();
}
