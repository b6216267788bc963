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

TEST_CASE("run once: a long chain that was never evaluated takes the memory of few values") {
    test::adversary device;
    test::wishes w;
    w.edit = device.edit();
    w.policies.run_ahead = 8 << 20;
    const std::optional<pm::context> home = test::open_context(w);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    constexpr std::int64_t rows = 512, columns = 1024, bytes = 4 * rows * columns;
    const pm::any_tensor start = pm::reshape(numbers(*home, rows * columns, 0), {rows, columns});
    pm::eval(start);
    const auto chain = [&](bool each, std::vector<pm::any_tensor>* held) {
        pm::any_tensor x = start;
        for (int i = 0; i < 30; ++i) {
            // Two that cross: what the first reads lives longer than what it makes.
            const pm::any_tensor sums = pm::reduce(pm::reduction::sum, x, {1}, true);
            x = pm::roll(x / sums, 1 + i, i % 2) + pm::softmax(x, i % 2);
            if (each) pm::eval(x);
            if (held && i % 10 == 3) held->push_back(x);
        }
        pm::eval(x);
        return x;
    };
    std::vector<pm::any_tensor> kept, held;
    const std::vector<float> wanted = pm::to_vector<float>(chain(true, &kept));
    for (const auto how : {test::adversary::order::reversed, test::adversary::order::random}) {
        device.how = how;
        held.clear();
        CHECK(pm::to_vector<float>(chain(false, &held)) == wanted);
        for (std::size_t i = 0; i < kept.size(); ++i)  // these have memory of their own
            CHECK(pm::to_vector<float>(held[i]) == pm::to_vector<float>(kept[i]));
    }
    // 60 values that are stored, 120 softmax and sums counted.
    CHECK(home->stats().device_bytes_peak < 20u * bytes);
}
