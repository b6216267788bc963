// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Executables handed to the device in pieces: a bound on each submit, and runs that are stopped
// before, while and after they wait for the device.
#include <pumice/exec/adopt.hpp>

#include "../support.hpp"
#include "gate.hpp"

#include <pumice/front.hpp>

#include <tests/graph/support.hpp>
#include <tests/support/skip.hpp>

#include <thread>

namespace pm = pumice;
using pumice_test::text_of_error;
using test::code_of, test::gate;

namespace {

std::vector<float> floats(const pm::any_tensor& t) { return pm::to_vector<float>(t); }

/// Six products: no two of them share a kernel.
pm::any_tensor products(pm::any_tensor x) {
    for (int i = 0; i < 6; ++i) x = pm::matmul(x, x) * 0.25;
    return x;
}
constexpr int kernels = 6;

/// Stored ones: a product that makes them as it reads may be another kernel, whose sums round
/// otherwise.
pm::any_tensor normals(const pm::context& home) {
    const auto x = pm::random::normal(pm::dtype::f32, {40, 40}, pm::random::key(3), 0, 1, home);
    pm::eval(x);
    return x;
}

std::optional<pm::context> open(double budget) {
    test::wishes w;
    w.edit = gate::edit();
    w.policies.submit_budget = budget;
    return test::open_context(w);
}

}  // namespace

TEST_CASE("submit budget: an executable in pieces, the same bits, recorded once") {
    const std::optional<pm::context> home = open(1e-9);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const auto f = pm::compile(products);
    const auto x = normals(*home);
    const auto expected = floats(products(x));
    const pm::executable e = f.get(x);
    CHECK(e.explain().find("chunk") == std::string::npos);
    CHECK(floats(e.run({x})[0]) == expected);  // timed kernel by kernel
    CHECK(floats(e.run({x})[0]) == expected);
    const std::string plan = e.explain();
    CHECK_MESSAGE(plan.find("chunk 5: kernels 5 to 5") != std::string::npos, plan);
    const pm::statistics before = home->stats();
    for (int i = 0; i < 10; ++i) pm::eval(e.run({x}));
    const pm::statistics after = home->stats();
    CHECK(after.submits - before.submits == 10 * kernels);
    CHECK(floats(e.run({x})[0]) == expected);
    std::vector<pm::any_tensor> out = e.run({x});
    floats(out[0]);
    const pm::statistics still = home->stats();
    e.run_into(out, std::span(&x, 1));
    CHECK(home->stats().recordings == still.recordings);
}

TEST_CASE(
    "submit budget: what runs once is submitted kernel by kernel; a wide one changes nothing") {
    for (const double budget : {1e-9, 1e3}) {
        const std::optional<pm::context> home = open(budget);
        if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
        const auto x = normals(*home);
        pm::eval(x);
        pm::statistics before = home->stats();
        const auto y = products(x);
        pm::eval(y);
        CHECK(home->stats().submits - before.submits == kernels);
        const pm::executable e = pm::compile(products).get(x);
        CHECK(floats(e.run({x})[0]) == floats(y));
        before = home->stats();
        CHECK(floats(e.run({x})[0]) == floats(y));
        const auto submits = home->stats().submits - before.submits;
        CHECK(submits >= (budget < 1 ? kernels : 1));
        if (budget > 1) CHECK(submits <= 2);  // one for the read where it is a copy
        const pm::executable nothing = pm::compile([](const pm::any_tensor& t) {
                                           return t + 1.0;
                                       }).get(pm::zeros(pm::dtype::f32, {0}, *home));
        CHECK(floats(nothing.run({pm::zeros(pm::dtype::f32, {0}, *home)})[0]).empty());
    }
}

TEST_CASE("stopped: before its first submit, at any later one, and nothing is lost") {
    const std::optional<pm::context> home = open(1e-9);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const auto x = normals(*home);
    const auto expected = floats(products(x));
    const pm::executable e = pm::compile(products).get(x);
    std::vector<pm::any_tensor> out(1);
    for (int at = 0; at <= kernels; ++at) {  // 0: asked for before the run
        for (int round = 0; round < 2; ++round) {
            std::stop_source stop;
            gate::submits = 0;
            gate::stop_at = &stop;
            gate::stop_number = at;
            if (at == 0) stop.request_stop();
            const auto run = [&] { e.run_into(out, std::span(&x, 1), stop.get_token()); };
            if (at < kernels) {
                CHECK(text_of_error(run).find("stopped") != std::string::npos);
                CHECK(gate::submits.load() == at);
            } else {
                run();  // too late: all is submitted
                CHECK(floats(out[0]) == expected);
            }
            gate::stop_at = nullptr;
        }
        // Whatever was stopped, the next run is whole.
        e.run_into(out, std::span(&x, 1));
        CHECK(floats(out[0]) == expected);
    }
    std::uint64_t bytes[2] = {};
    for (std::uint64_t& held : bytes) {
        for (int i = 0; i < 50; ++i) {
            std::stop_source stop;
            gate::submits = 0;
            gate::stop_at = &stop;
            gate::stop_number = 1 + i % 3;
            CHECK(code_of([&] { e.run({x}, stop.get_token()); }) == pm::errc::cancelled);
            gate::stop_at = nullptr;
        }
        floats(x + 0.0);  // the device is through
        held = home->stats().device_bytes;
    }
    CHECK(bytes[1] <= bytes[0] + 65536);  // places for runs; fifty results would be 320000
}

TEST_CASE("stopped: while the device is at its first piece, and while it is queued for a place") {
    const std::optional<pm::context> home = open(1e-9);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const auto x = normals(*home);
    const auto expected = floats(products(x));
    const pm::executable e = pm::compile(products).get(x);
    CHECK(floats(e.run({x})[0]) == expected);
    gate::closed = true;
    std::stop_source stop;
    std::optional<pm::errc> code;
    gate::submits = 0;
    std::thread running([&] { code = code_of([&] { e.run({x}, stop.get_token()); }); });
    gate::await(gate::waiting, 3);
    CHECK(gate::submits.load() == 2);  // one at work, one behind it
    const pm::any_tensor meanwhile = x + 1.0;
    pm::eval(std::span(&meanwhile, 1));  // the engine is free
    stop.request_stop();
    running.join();
    CHECK(code == pm::errc::cancelled);
    gate::closed = false;
    CHECK(floats(e.run({x})[0]) == expected);

    // Every place is taken by runs that the device does not get through.
    gate::closed = true;
    std::vector<std::vector<pm::any_tensor>> results;
    std::stop_source other;
    for (int i = 0; i < 4; ++i) results.push_back(e.run({x}));
    gate::waiting = 0;
    std::thread queued([&] { code = code_of([&] { e.run({x}, other.get_token()); }); });
    gate::await(gate::waiting, 3);
    code = {};
    other.request_stop();
    queued.join();
    CHECK(code == pm::errc::cancelled);
    gate::closed = false;
    for (const auto& r : results) CHECK(floats(r[0]) == expected);

    // Every place is taken by runs that wait to submit more.
    gate::closed = true;
    gate::waiting = 0;
    gate::submits = 0;
    std::stop_source all, last;
    std::atomic<int> cancelled{0};
    std::vector<std::thread> threads;
    const auto one = [&](std::stop_source& s) {
        threads.emplace_back([&] {
            cancelled += code_of([&] { e.run({x}, s.get_token()); }) == pm::errc::cancelled;
        });
    };
    for (int i = 0; i < 4; ++i) one(all);
    gate::await(gate::submits, 8);
    one(last);
    last.request_stop();
    threads.back().join();
    CHECK(cancelled.load() == 1);
    one(all);
    all.request_stop();
    for (auto& t : threads)
        if (t.joinable()) t.join();
    CHECK(cancelled.load() == 6);
    gate::closed = false;
    CHECK(floats(e.run({x})[0]) == expected);
}

TEST_CASE("stopped: on whatever device there is") {
    const pm::context home;
    const auto x = pm::random::normal(pm::dtype::f32, {8, 8}, pm::random::key(3), 0, 1, home);
    const pm::executable e = pm::compile(products).get(x);
    std::stop_source stop;
    const auto result = e.run({x}, stop.get_token());
    CHECK(floats(result[0]) == floats(products(x)));
    stop.request_stop();
    CHECK(code_of([&] { e.run({x}, stop.get_token()); }) == pm::errc::cancelled);
}

TEST_CASE(
    "an executable that goes while its run is in flight: its constants keep their memory till "
    "then") {
    const std::optional<pm::context> home = open(0);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const std::vector<float> numbers(1 << 12, 3);
    const auto fresh = [&] {
        const auto t =
            pm::from_bytes(pm::dtype::f32, {1 << 12}, std::as_bytes(std::span(numbers)), *home);
        pm::upload(std::span(&t, 1));
        return t;
    };
    const auto place = [](pm::any_tensor t) {
        const pm::vulkan_buffer b = pm::buffer_of(t);
        return std::pair(b.buffer, b.offset);
    };
    pm::any_tensor constant = fresh();
    const pm::any_tensor x = fresh();
    const auto there = place(constant);
    pm::executable e = pm::compile([&](const pm::any_tensor& t) { return t * constant; }).get(x);
    const pm::any_tensor warm = e.run({x})[0];
    CHECK(floats(warm)[5] == 9);
    constant = {};
    gate::closed = true;
    const pm::any_tensor y = e.run({x})[0];
    e = {};
    const pm::any_tensor other = fresh();
    CHECK(place(other) != there);
    gate::closed = false;
    CHECK(floats(y)[5] == 9);
}
