// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Threads that share a context of several devices, and recordings over all of them.
#include <pumice/devices.hpp>
#include <pumice/front.hpp>

#include <tests/exec/random_programs.hpp>
#include <tests/extend/add_backend.hpp>

#include <doctest/doctest.h>

#include <thread>

namespace pm = pumice;

TEST_CASE("devices: random programs at random places, by several threads at once") {
    constexpr std::int64_t room = 1 << 24;
    const auto anywhere = pm::place_steps{[](pm::placement& p) {
        std::mt19937 random(unsigned(p.steps.size()));
        for (int& place : p.at) place = int(random() % p.places.size());
    }};
    const bool vulkan = pm::context().device().type != pm::device_type::host;
    const pm::context home =
        vulkan ? pm::context(pm::devices(pm::vulkan_only{}, mine::on_mine{room}), anywhere)
               : pm::context(pm::devices(mine::on_mine{room}), anywhere);
    const pm::context host(pm::host_only{});
    constexpr unsigned programs = 6;
    std::vector<std::unique_ptr<test::traced_program>> shared;
    std::vector<std::vector<float>> want;
    for (unsigned seed = 0; seed < programs; ++seed) {
        shared.push_back(std::make_unique<test::traced_program>(seed, home));
        test::traced_program there(seed, host);
        want.push_back(test::elements_of(there.recording.run(there.start)));
    }
    std::array<int, 3> wrong{};
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < wrong.size(); ++t)
            threads.emplace_back([&, t] {
                const auto compare = [&](const std::vector<float>& got,
                                         const std::vector<float>& expected) {
                    for (std::size_t i = 0; i < expected.size(); ++i)
                        wrong[t] += !(std::fabs(got[i] - expected[i]) <=
                                          2e-5f * (1 + std::fabs(expected[i])) ||
                                      (std::isnan(got[i]) && std::isnan(expected[i])));
                };
                for (unsigned k = 0; k < programs; ++k) {
                    const auto seed = (k + t) % programs;
                    compare(test::elements_of(shared[seed]->recording.run(shared[seed]->start)),
                            want[seed]);
                    const unsigned other = 10 + unsigned(seed);
                    compare(test::elements_of(test::run(home, other)),
                            test::elements_of(test::run(host, other)));
                }
            });
    }
    CHECK(wrong == std::array<int, 3>{});
}
