// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/runner/job.hpp>

#include <array>
#include <functional>
#include <future>
#include <string>
#include <thread>

#include <pthread.h>

using namespace test;
using namespace std::chrono_literals;
using pm::run_status;

namespace {

/// A runner whose jobs the test holds back: those with a callback that waits for its word.
struct held_back {
    explicit held_back(pm::runner_options o, const pm::context& where = pm::context())
        : in(counting(16, 1)), out(64, std::vector<float>(16)), r(shifting(where, {16}, o)) {
        x = r.wrap("x", in.data());
    }
    pm::job go(std::size_t i, pm::run_callback f = nullptr) {
        return r.execute_async({x}, {r.wrap("output0", out[i].data())}, std::move(f));
    }
    std::vector<float> in;
    std::vector<std::vector<float>> out;
    pm::runner r;  // ends its jobs before the memory that they use goes
    pm::runner_tensor_view x;
};

/// Blocks callbacks until it is opened.
struct gate {
    std::promise<void> promise;
    std::shared_future<void> opened = promise.get_future().share();
    std::atomic<int> waiting{0};
    pm::run_callback callback() {
        return [this](run_status) {
            ++waiting;
            opened.wait();
        };
    }
    void await(int n) const {
        while (waiting < n) std::this_thread::yield();
    }
};

}  // namespace

TEST_CASE("job: wait tells timeout until it is done, on any thread, and again afterwards") {
    gate closed;
    pm::runner_options o;
    o.async_threads = 1;
    held_back h(o);
    const pm::job j = h.go(0, closed.callback());
    closed.await(1);
    CHECK(j.wait(0s) == run_status::timeout);
    CHECK(j.wait(5ms) == run_status::timeout);
    CHECK_FALSE(j.done());
    std::array<run_status, 3> seen{};
    {
        std::vector<std::jthread> threads;
        for (run_status& s : seen) threads.emplace_back([&s, copy = j] { s = copy.wait(); });
        closed.promise.set_value();
    }
    for (const run_status s : seen) CHECK(s == run_status::ok);
    CHECK(j.wait(0s) == run_status::ok);
    CHECK(j.done());
    CHECK(h.out[0] == shifted(h.in));
    CHECK(pm::job().wait() == run_status::ok);
}

TEST_CASE("job: callbacks come in the order of the calls, or of completion") {
    for (const auto order : {pm::callback_order::as_submitted, pm::callback_order::as_completed}) {
        pm::runner_options o;
        o.async_threads = 2;
        o.order = order;
        held_back h(o);
        gate closed;
        std::mutex mutex;
        std::vector<int> called;
        const auto note = [&](int i) {
            const std::lock_guard lock(mutex);
            called.push_back(i);
        };
        const bool in_order = order == pm::callback_order::as_submitted;
        const std::thread::id caller = std::this_thread::get_id();
        std::atomic<bool> here{false};
        const pm::job first = h.go(0, [&](run_status) {
            here = std::this_thread::get_id() == caller;
            ++closed.waiting;
            closed.opened.wait();
            note(0);
        });
        closed.await(1);  // one thread of the two is in there
        const pm::job second = h.go(1, [&](run_status) { note(1); });
        if (in_order) CHECK(second.wait(20ms) == run_status::timeout);
        else CHECK(second.wait(10s) == run_status::ok);
        closed.promise.set_value();
        CHECK(first.wait() == run_status::ok);
        CHECK(second.wait() == run_status::ok);
        CHECK(called == (in_order ? std::vector{0, 1} : std::vector{1, 0}));
        CHECK_FALSE(here);
    }
    // Many of them, and each is called once.
    pm::runner_options o;
    o.order = pm::callback_order::as_submitted;
    o.async_threads = 4;
    held_back h(o);
    std::vector<int> called;
    std::vector<pm::job> jobs;
    for (int i = 0; i < 60; ++i)
        jobs.push_back(h.go(std::size_t(i), [&called, i](run_status) { called.push_back(i); }));
    for (const pm::job& j : jobs) CHECK(j.wait() == run_status::ok);
    std::vector<int> wanted(60);
    for (int i = 0; i < 60; ++i) wanted[std::size_t(i)] = i;
    CHECK(called == wanted);
}

TEST_CASE("job: no more are in flight than the bound, the next is told busy or waits") {
    for (const auto full : {pm::when_full::busy, pm::when_full::block}) {
        gate closed;
        pm::runner_options o;
        o.async_threads = 1;
        o.max_in_flight = 2;
        o.full = full;
        held_back h(o);
        // The one thread is in a callback, and two runs wait behind it.
        const pm::job first = h.go(0, closed.callback());
        closed.await(1);
        const pm::job second = h.go(1), third = h.go(2);
        CHECK(third.accepted());
        if (full == pm::when_full::busy) {
            const pm::job fourth = h.go(3);
            CHECK_FALSE(fourth.accepted());
            CHECK(fourth.wait() == run_status::busy);
            CHECK(fourth.cancel() == run_status::busy);
            closed.promise.set_value();
        } else {
            std::atomic<bool> through{false};
            std::jthread late([&] {
                CHECK(h.go(3).wait() == run_status::ok);
                through = true;
            });
            std::this_thread::sleep_for(20ms);
            CHECK_FALSE(through);
            closed.promise.set_value();
        }
        for (const pm::job& j : {first, second, third}) CHECK(j.wait() == run_status::ok);
        if (full == pm::when_full::block) CHECK(h.out[3] == shifted(h.in));
    }
}

TEST_CASE(
    "job: one that has not begun is cancelled, one that has goes on unless it may be stopped") {
    gate closed;
    pm::runner_options o;
    o.async_threads = 1;
    held_back h(o);
    const pm::job first = h.go(0, closed.callback());
    closed.await(1);
    std::atomic<int> told{-1};
    const pm::job second = h.go(1, [&](run_status s) { told = static_cast<int>(s); });
    CHECK(second.cancel() == run_status::ok);
    CHECK(second.cancel() == run_status::ok);
    CHECK(first.cancel() == run_status::busy);  // its run is done, its callback is not
    closed.promise.set_value();
    CHECK(second.wait() == run_status::cancelled);
    CHECK(told == static_cast<int>(run_status::cancelled));
    CHECK(std::string(second.message()).find("before it began") != std::string::npos);
    CHECK(h.out[1] == std::vector<float>(16));
    CHECK(first.wait() == run_status::ok);
    CHECK(first.cancel() == run_status::invalid_argument);

    // A long run that may be stopped ends sooner; what it was to write is anything.
    o.cancel_running = true;
    const pm::context home;
    const pm::tensor_info x = input_of(pm::dtype::f32, {256, 256});
    const pm::runner r(
        home, std::span(&x, 1),
        [](std::span<const pm::any_tensor> in) {
            pm::any_tensor y = in[0];
            for (int i = 0; i < 40; ++i) y = pm::matmul(y, in[0]);
            return std::vector<pm::any_tensor>{y};
        },
        o);
    std::vector<float> in(65536), out(65536);
    const auto from = r.wrap("x", in.data()), to = r.wrap("output0", out.data());
    const pm::job done = r.execute_async({from}, {to});
    CHECK(done.wait() == run_status::ok);
    const pm::job stopped = r.execute_async({from}, {to});
    CHECK(stopped.cancel() == run_status::ok);
    CHECK(stopped.wait(60s) != run_status::timeout);
    CHECK(r.execute_async({from}, {to}).wait() == run_status::ok);  // and the next one is right
    CHECK(out == std::vector<float>(65536));
}

TEST_CASE(
    "job: a runner goes while runs are waiting, at work and in callbacks, its own thread too") {
    std::vector<pm::job> jobs;
    std::atomic<int> called{0};
    std::vector<float> in = counting(16, 1), out(16);
    std::vector<std::vector<float>> outs(30, out);
    const pm::context home;
    {
        pm::runner_options o;
        o.async_threads = 2;
        o.max_in_flight = 40;
        const pm::runner r = shifting(home, {16}, o);
        for (std::vector<float>& each : outs)
            jobs.push_back(r.execute_async({r.wrap("x", in.data())},
                                           {r.wrap("output0", each.data())},
                                           [&](run_status) { ++called; }));
    }
    CHECK(called == 30);
    int ok = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {  // handles outlive their runner
        const run_status s = jobs[i].wait();
        CHECK((s == run_status::ok || s == run_status::cancelled));
        if (s == run_status::ok) CHECK(outs[i] == shifted(in));
        ok += s == run_status::ok;
    }
    CHECK(ok <= 30);
    // The last copy goes in a callback.
    std::promise<void> gone;
    auto r = std::make_shared<pm::runner>(shifting(home, {16}));
    const auto x = r->wrap("x", in.data()), y = r->wrap("output0", out.data());
    auto held = std::make_shared<std::shared_ptr<pm::runner>>(r);
    const pm::job last = r->execute_async({x}, {y}, [held, &gone](run_status) {
        while (held->use_count() > 1) std::this_thread::yield();
        held->reset();
        gone.set_value();
    });
    r.reset();
    gone.get_future().wait();
    CHECK(last.wait() == run_status::ok);
}

TEST_CASE("job: what a callback throws goes to the log, and the next one is called") {
    const captured_log log;
    for (const auto order : {pm::callback_order::as_submitted, pm::callback_order::as_completed}) {
        pm::runner_options o;
        o.order = order;
        held_back h(o);
        int called = 0;
        CHECK(h.go(0, [](run_status) { throw std::runtime_error("mine"); }).wait() ==
              run_status::ok);
        CHECK(h.go(1, [](run_status) { throw 5; }).wait() == run_status::ok);
        CHECK(h.go(2, [&](run_status) { ++called; }).wait() == run_status::ok);
        CHECK(called == 1);
    }
    CHECK(log.with("callback of a run threw").size() == 4);
}

TEST_CASE("job: callbacks run, wait and are told busy, and none waits for itself") {
    pm::runner_options o;
    o.async_threads = 1;
    o.max_in_flight = 1;
    held_back h(o);
    run_status within = run_status::failed;
    std::array<run_status, 2> next{};
    const pm::job j = h.go(0, [&](run_status) {
        within = h.r.execute({h.x}, {h.r.wrap("output0", h.out[1].data())});
        next[0] = h.go(2).accepted() ? run_status::ok : run_status::busy;
        const pm::job more = h.go(3);
        next[1] = more.accepted() ? run_status::ok : more.wait();
    });
    CHECK(j.wait() == run_status::ok);
    CHECK(within == run_status::ok);
    CHECK(next == std::array{run_status::ok, run_status::busy});
    CHECK(h.out[1] == shifted(h.in));
}

TEST_CASE("job: a callback waits for runs that come later, of its own and of others") {
    for (const int threads : {1, 2, 4})
        for (const auto order :
             {pm::callback_order::as_submitted, pm::callback_order::as_completed}) {
            CAPTURE(threads);
            pm::runner_options o;
            o.async_threads = threads;
            o.order = order;
            held_back h(o);
            for (int round = 0; round < 50; ++round) {
                std::promise<pm::job> given;
                run_status later = run_status::failed, own = run_status::failed;
                const pm::job first = h.go(0, [&](run_status) {
                    later = given.get_future().get().wait(60s);
                    own = h.go(2).wait(60s);
                });
                const pm::job second = h.go(1);
                given.set_value(second);
                CHECK(first.wait() == run_status::ok);
                CHECK(second.wait() == run_status::ok);
                CHECK(later == run_status::ok);
                CHECK(own == run_status::ok);
                if (later != run_status::ok || own != run_status::ok) break;
            }
            CHECK(h.out[2] == shifted(h.in));
        }
}

TEST_CASE("job: callbacks that wait for one another's runs, each within the one before") {
    pm::runner_options o;
    o.async_threads = 2;
    o.max_in_flight = 16;
    o.order = pm::callback_order::as_completed;
    held_back h(o);
    std::atomic<int> called{0}, right{0};
    std::function<void(std::size_t)> nest = [&](std::size_t depth) {
        const pm::job j = h.go(depth, [&, depth](run_status) {
            ++called;
            if (depth < 10) nest(depth + 1);
        });
        right += j.wait(60s) == run_status::ok;
    };
    nest(0);
    CHECK(called == 11);
    CHECK(right == 11);
}

TEST_CASE("job: a wait for what ends only after the callback that waits is told busy") {
    for (const auto order : {pm::callback_order::as_submitted, pm::callback_order::as_completed}) {
        pm::runner_options o;
        o.order = order;
        held_back h(o);
        std::promise<pm::job> given, next;
        run_status own = run_status::failed, behind = run_status::failed;
        std::string why;
        const pm::job first = h.go(0, [&](run_status) {
            own = given.get_future().get().wait();
            why = pm::run_message();
            behind = next.get_future().get().wait(60s);
        });
        given.set_value(first);
        next.set_value(h.go(1, [](run_status) {}));
        CHECK(first.wait() == run_status::ok);
        CHECK(own == run_status::busy);
        CHECK(why == "the run is done only after the callback that waits");
        CHECK(behind ==
              (order == pm::callback_order::as_submitted ? run_status::busy : run_status::ok));
    }
}

#if defined(__GLIBC__)
TEST_CASE("job: where the system gives no thread the run says so, and goes once it does") {
    const pm::context home;
    const pm::runner r = shifting(home, {8});
    std::vector<float> in = counting(8, 0), out(8);
    const auto x = r.wrap("x", in.data()), y = r.wrap("output0", out.data());
    pthread_attr_t usual, huge;
    REQUIRE(::pthread_getattr_default_np(&usual) == 0);
    REQUIRE(::pthread_getattr_default_np(&huge) == 0);
    REQUIRE(::pthread_attr_setstacksize(&huge, std::size_t{1} << 48) == 0);
    REQUIRE(::pthread_setattr_default_np(&huge) == 0);
    const pm::job refused = r.execute_async({x}, {y});
    ::pthread_setattr_default_np(&usual);
    CHECK_FALSE(refused.accepted());
    CHECK(refused.wait() == run_status::failed);
    const std::string text = pm::run_message();
    CHECK(text.find("[runner] no thread can be started") == 0);
    CHECK(text.find("or use execute") != std::string::npos);
    CHECK(r.execute_async({x}, {y}).wait() == run_status::ok);
    CHECK(out == shifted(in));
}
#endif

TEST_CASE("job: none is lost where more threads than processors take them") {
    const pm::context home(pm::host_only{});
    pm::runner_options o;
    o.input_view = o.output_view = pm::io_view::hardware;
    o.async_threads = 6;
    o.max_in_flight = 2;
    const pm::runner r = shifting(home, {1}, o);
    std::vector<pm::runner_tensor> x, y;
    for (int i = 0; i < 2; ++i) x.push_back(r.allocate("x")), y.push_back(r.allocate("output0"));
    constexpr int runs = 20'000;
    std::atomic<int> called{0};
    for (int i = 0; i < runs; ++i) {
        const auto at = static_cast<std::size_t>(i % 2);
        r.execute_async({x[at]}, {y[at]}, [&](run_status) { ++called; });
    }
    for (int i = 0; i < 1000 && called < runs; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    CHECK(called == runs);
}
