// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Plans that run once: results take memory in the order of the queue.
#include "../random_programs.hpp"
#include "../support.hpp"

namespace pm = pumice;
using test::eval;
using test::numbers;
using table = test::vulkan::dispatcher;

TEST_CASE(
    "run once: a queue full of large results takes the memory of few, and each order gives the "
    "same") {
    for (const int kind : {0, 1, 2, 3}) {
        CAPTURE(kind);
        test::adversary device;
        test::wishes w;
        w.edit = device.edit();
        w.staged = kind % 2 == 1;
        w.gathers = kind >= 2;
        w.policies.gather_us = 60'000'000;  // no thread but this one submits
        const std::optional<pm::context> home = test::open_context(w);
        if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
        constexpr std::int64_t count = 5 << 20, bytes = 4 * count;
        const pm::any_tensor x = numbers(*home, count, -16);  // up to 0
        pm::eval(x);
        const auto run = [&](test::adversary::order how, int first) {
            device.how = how;
            std::vector<pm::any_tensor> greatest;
            for (int i = 0; i < 8; ++i) {
                const pm::any_tensor y = pm::apply<pm::op::add>(x, double(first + i));
                eval(y);
                greatest.push_back(pm::reduce(pm::reduction::max, y));
                eval(greatest.back());
            }
            CHECK(home->stats().device_bytes_peak < 4 * std::uint64_t(bytes));
            bool right = true;
            for (const pm::any_tensor& g : greatest)
                right &= pm::to_vector<float>(g)[0] == float(first++);
            return right;
        };
        CHECK(run(test::adversary::order::reversed, 0));
        CHECK(run(test::adversary::order::random, 10));
        device.drop_every = 1;
        CHECK_FALSE(run(test::adversary::order::reversed, 20));
    }
}
