// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Evaluations that share a submit: how many submits they are, who has them submitted, and that
// values are those of a submit each.
#include "../random_programs.hpp"
#include "gate.hpp"

#include <pumice/front.hpp>

#include <future>

namespace pm = pumice;
using test::eval;
using test::gate;
using test::numbers;
using table = test::vulkan::dispatcher;

namespace {

constexpr int long_time = 60'000'000;  // us

/// Of a device whose work is not seen to end while the gate is closed.
std::optional<pm::context> slow(int microseconds = long_time, int kernels = 64,
                                bool staged = false) {
    test::wishes w;
    w.edit = gate::edit();
    w.gathers = true;
    w.staged = staged;
    w.policies.gather = kernels;
    w.policies.gather_us = microseconds;
    return test::open_context(w);
}
std::uint64_t submits(const pm::context& home) { return home.stats().submits; }
float first(const pm::any_tensor& t) { return pm::to_vector<float>(t)[0]; }

/// A context with something at work, of which the end is not seen.
pm::any_tensor start(const pm::context& home) {
    const pm::any_tensor x = numbers(home, 4096, 1);
    eval(x + 1.0);
    static_cast<void>(first(x * 2.0));
    gate::closed = true;
    eval(x + 1.0);
    return x;
}

}  // namespace

TEST_CASE("submitter: a hundred evaluations while the device is at work are few submits") {
    for (const bool staged : {false, true}) {
        CAPTURE(staged);
        const std::optional<pm::context> home = slow(long_time, 64, staged);
        if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
        const pm::any_tensor x = start(*home);
        const std::uint64_t before = submits(*home), dispatches = home->stats().dispatches;
        std::vector<pm::any_tensor> apart;
        pm::any_tensor sum = x;
        for (int i = 0; i < 50; ++i) {
            apart.push_back(x + double(i));
            eval(apart.back());
            sum = sum + 1.0;
            eval(sum);
        }
        CHECK(submits(*home) - before == 1);  // at 64 kernels
        CHECK(home->stats().dispatches - dispatches == 100);
        CHECK(home->stats().evals >= 100);
        gate::closed = false;
        CHECK(first(sum) == 51);
        CHECK(submits(*home) - before <= 3);
        for (int i = 0; i < 50; ++i)
            CHECK(first(apart[static_cast<std::size_t>(i)]) == float(1 + i));
        // Nothing is at work, so nothing is held back.
        const std::uint64_t idle = submits(*home);
        eval(x + 9.0);
        CHECK(submits(*home) - idle == 1);
    }
}

TEST_CASE("submitter: without gathering each evaluation is a submit") {
    test::wishes w;
    w.edit = gate::edit();
    const std::optional<pm::context> home = test::open_context(w);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const pm::any_tensor x = start(*home);
    const std::uint64_t before = submits(*home);
    for (int i = 0; i < 20; ++i) eval(x + double(i));
    CHECK(submits(*home) - before == 20);
    gate::closed = false;
}

TEST_CASE("submitter: what nobody asks for is submitted after its time, by a thread that sleeps") {
    const std::optional<pm::context> home = slow(2000);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const pm::any_tensor x = start(*home), y = x + 2.0;
    for (int round = 0; round < 3; ++round) {
        const std::uint64_t before = submits(*home);
        eval(round == 0 ? y : x + double(round));
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (submits(*home) == before && std::chrono::steady_clock::now() < until)
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        CHECK(submits(*home) == before + 1);
    }
    gate::closed = false;
    CHECK(first(y) == 3);
}

TEST_CASE("submitter: another submit takes along what is held, before it") {
    const std::optional<pm::context> home = slow();
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const pm::executable e =
        pm::compile([](const pm::any_tensor& x) { return x * 3.0; }).get(numbers(*home, 4096, 1));
    const pm::any_tensor x = start(*home), y = x + 4.0;
    const std::uint64_t before = submits(*home);
    eval(y);
    CHECK(submits(*home) == before);
    std::vector<pm::any_tensor> out(1);
    const pm::submission s = e.run_into(out, std::span(&y, 1));
    CHECK(submits(*home) == before + 1);
    std::promise<void> called;
    s.then([&] { called.set_value(); });
    gate::closed = false;
    std::future<void> over = called.get_future();
    CHECK(over.wait_for(std::chrono::seconds(20)) == std::future_status::ready);
    CHECK(first(out[0]) == 15);
}

TEST_CASE("submitter: the host's writes and what is held do not meet") {
    for (const bool staged : {false, true}) {
        CAPTURE(staged);
        const std::optional<pm::context> home = slow(long_time, 64, staged);
        if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
        pm::any_tensor x = numbers(*home, 4096, 1);
        static_cast<void>(start(*home));
        const pm::any_tensor old = x + 1.0;
        eval(old);  // held
        const std::vector<float> fresh(4096, 7.0f);
        pm::write(x, std::as_bytes(std::span(fresh)));
        const pm::any_tensor now = x + 1.0;
        eval(now);
        gate::closed = false;
        CHECK(first(old) == 2);
        CHECK(first(now) == 8);
        pm::any_tensor sum = now;
        for (int i = 0; i < 5; ++i) {
            sum = sum + x;
            eval(sum);
            pm::write(x, std::as_bytes(std::span(fresh)));
        }
        CHECK(first(sum) == 43);
    }
}

TEST_CASE("submitter: memory that what is held keeps is had by submitting it") {
    test::wishes w;
    w.gathers = true;
    w.policies.gather_us = long_time;
    w.policies.memory_limit = 48 << 20;
    const std::optional<pm::context> home = test::open_context(w);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const pm::any_tensor x = numbers(*home, 1 << 20, 1);  // 4 MiB
    pm::any_tensor y = x;
    for (int i = 0; i < 64; ++i) {
        y = pm::any_tensor(y + 1.0);
        eval(y);
    }
    CHECK(first(y) == 65);
}

TEST_CASE("submitter: a submit that fails loses nothing, and is tried again") {
    test::wishes w;
    w.gathers = true;
    w.policies.gather_us = long_time;
    w.edit = [](table& t) {
        gate::edit()(t);
        test::intercept<&table::vkQueueSubmit2, &table::vkEndCommandBuffer>(t);
    };
    const std::optional<pm::context> home = test::open_context(w);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const pm::any_tensor x = start(*home);
    const pm::any_tensor y = x + 5.0, z = y * 2.0;
    eval(y);
    eval(z);
    gate::closed = false;
    for (int i = 0; i < 2; ++i) {
        test::faults::arm(0, VK_ERROR_OUT_OF_HOST_MEMORY);
        CHECK(test::code_of([&] { first(z); }) == pm::errc::out_of_memory);
        test::faults::disarm();
    }
    CHECK(first(z) == 12);
    CHECK(first(y) == 6);
    // At once: the evaluation itself throws, and its tensor stays lazy.
    const pm::any_tensor u = x + 6.0;
    test::faults::arm(0, VK_ERROR_OUT_OF_HOST_MEMORY);
    CHECK(test::code_of([&] { eval(u); }) == pm::errc::out_of_memory);
    test::faults::disarm();
    CHECK_FALSE(u.get()->realised());
    CHECK(first(u) == 7);
}

TEST_CASE("submitter: what is held on a device that is lost is told to whoever reads it") {
    test::wishes w;
    w.gathers = true;
    w.policies.gather_us = long_time;
    w.edit = [](table& t) {
        gate::edit()(t);
        test::intercept<&table::vkQueueSubmit2>(t);
    };
    const std::optional<pm::context> home = test::open_context(w);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const pm::any_tensor x = start(*home), y = x + 5.0, z = x + 6.0;
    eval(y);
    eval(z);
    gate::closed = false;
    test::faults::arm(0, VK_ERROR_DEVICE_LOST);
    CHECK(test::code_of([&] { first(y); }) == pm::errc::device_lost);
    test::faults::disarm();
    CHECK(test::code_of([&] { first(z); }) == pm::errc::device_lost);
    CHECK(test::code_of([&] { first(x + 7.0); }) == pm::errc::device_lost);
}

TEST_CASE("submitter: a context that goes takes along what nobody can see any more") {
    for (const int microseconds : {long_time, 1}) {
        const std::optional<pm::context> home = slow(microseconds);
        if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
        {
            const pm::any_tensor x = start(*home);
            for (int i = 0; i < 10; ++i) eval(x + double(i));
            CHECK(home->stats().evals >= 10);
        }
        gate::closed = false;
    }
}

TEST_CASE("submitter: threads evaluate and read side by side") {
    const pm::context home{pm::gathering::up_to{16, 20}};
    const pm::any_tensor x = numbers(home, 4096, 1);
    eval(x);
    std::atomic<int> wrong{0};
    {
        std::vector<std::jthread> list;
        for (int t = 0; t < 4; ++t)
            list.emplace_back([&, t] {
                for (int round = 0; round < 10; ++round) {
                    pm::any_tensor sum = x;
                    for (int i = 0; i < 20; ++i) {
                        sum = sum + double(t);
                        eval(sum);
                    }
                    if (first(sum) != float(1 + 20 * t)) ++wrong;
                }
            });
    }
    CHECK(wrong == 0);
}
