// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Submissions: what becomes of a run is asked of it, or told by a call, whatever else is gone.
#include "gate.hpp"

#include <pumice/front.hpp>

#include <tests/support/skip.hpp>

#include <future>

namespace pm = pumice;
using table = test::vulkan::dispatcher;
using test::gate;

namespace {

pm::any_tensor ones(const pm::context& home) {
    const std::vector<float> v(64 * 64, 1.0f);
    return pm::from_bytes(pm::dtype::f32, {64, 64}, std::as_bytes(std::span(v)), home);
}
pm::any_tensor work(const pm::any_tensor& x) { return pm::matmul(x, x) * 0.5; }

std::optional<pm::context> open(auto&& edit) {
    test::wishes w;
    w.edit = edit;
    return test::open_context(w);
}
std::optional<pm::context> slow() { return open(gate::edit()); }

/// True where it comes in time.
bool comes(std::future<void>& f) {
    return f.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
}

}  // namespace

TEST_CASE("submission: of nothing, and of an engine that is done at once") {
    int called = 0;
    const pm::submission none;
    CHECK(none.done());
    none.wait();
    none.then([&] { ++called; });
    CHECK(called == 1);
    const pm::context host{pm::host_only{}};
    const pm::any_tensor x = ones(host);
    std::vector<pm::any_tensor> out(1);
    const pm::submission s = pm::compile(work).get(x).run_into(out, std::span(&x, 1));
    CHECK(s.done());
    s.then([&] { ++called; });
    CHECK(called == 2);
}

TEST_CASE("submission: done when the device is, and the calls come in order on a thread apart") {
    const std::optional<pm::context> home = slow();
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const pm::any_tensor x = ones(*home);
    const pm::executable e = pm::compile(work).get(x);
    std::vector<pm::any_tensor> out(1);
    e.run_into(out, std::span(&x, 1)).wait();
    gate::closed = true;
    const pm::submission first = e.run_into(out, std::span(&x, 1));
    std::vector<pm::any_tensor> more(1);
    const pm::submission second = e.run_into(more, std::span(&x, 1));
    CHECK_FALSE(first.done());
    std::vector<int> order;
    std::thread::id where;
    std::promise<void> last;
    first.then([&] {
        order.push_back(1);
        where = std::this_thread::get_id();
        throw 1;  // goes to the log
    });
    second.then([&] {
        order.push_back(2);
        second.wait();  // whoever is called may ask, read and run
        CHECK(pm::to_vector<float>(more[0])[5] == 32);
        e.run_into(more, std::span(&x, 1)).wait();
        last.set_value();
    });
    CHECK(order.empty());
    gate::closed = false;
    std::future<void> over = last.get_future();
    REQUIRE(comes(over));
    first.wait();
    CHECK(order == std::vector<int>{1, 2});
    CHECK(where != std::this_thread::get_id());
    CHECK(first.done());
}

TEST_CASE("submission: it outlives the executable and the context, or is dropped at once") {
    for (const bool kept : {true, false}) {
        CAPTURE(kept);
        std::optional<pm::context> home = slow();
        if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
        std::promise<void> called;
        pm::submission s;
        {
            const pm::any_tensor x = ones(*home);
            std::vector<pm::any_tensor> out(1);
            s = pm::compile(work).get(x).run_into(out, std::span(&x, 1));
        }
        s.then([&] { called.set_value(); });
        home.reset();
        if (kept) s.wait();
        s = {};  // the engine's last owner
        std::future<void> over = called.get_future();
        CHECK(comes(over));
    }
}

TEST_CASE("submission: the call may be what lets go of the engine last") {
    std::optional<pm::context> home = slow();
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    gate::closed = true;
    std::promise<void> called;
    {
        const pm::any_tensor x = ones(*home);
        std::vector<pm::any_tensor> out(1);
        const pm::submission s = pm::compile(work).get(x).run_into(out, std::span(&x, 1));
        s.then([&called, all = out, s] { called.set_value(); });
    }
    home.reset();
    gate::closed = false;
    std::future<void> over = called.get_future();
    CHECK(comes(over));
}

TEST_CASE("submission: what goes wrong reaches wait(), and the call comes all the same") {
    const auto home = open([](table& t) {
        test::intercept<&table::vkWaitSemaphores, &table::vkGetSemaphoreCounterValue>(t);
    });
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const pm::any_tensor x = ones(*home);
    const pm::executable e = pm::compile(work).get(x);
    std::vector<pm::any_tensor> out(1);
    const pm::submission s = e.run_into(out, std::span(&x, 1));
    test::faults::arm(0, VK_ERROR_DEVICE_LOST);
    CHECK(test::code_of([&] { s.wait(); }) == pm::errc::device_lost);
    test::faults::disarm();
    CHECK(test::code_of([&] { e.run_into(out, std::span(&x, 1)).wait(); }) ==
          pm::errc::device_lost);
    std::promise<void> called;
    s.then([&] { called.set_value(); });
    std::future<void> over = called.get_future();
    CHECK(comes(over));
}

TEST_CASE("submission: eight threads run one executable and are called back for each run") {
    const pm::context home;
    const pm::any_tensor x = ones(home);
    const pm::executable e = pm::compile(work).get(x);
    std::atomic<int> called{0}, wrong{0};
    constexpr int threads = 8, runs = 25;
    {
        std::vector<std::jthread> list;
        for (int t = 0; t < threads; ++t)
            list.emplace_back([&] {
                for (int i = 0; i < runs; ++i) {
                    std::vector<pm::any_tensor> out(1);
                    const pm::submission s = e.run_into(out, std::span(&x, 1));
                    s.then([&, result = out[0]] {
                        if (pm::to_vector<float>(result)[7] != 32) ++wrong;
                        ++called;
                    });
                    if (i % 3 == 0) s.wait();
                }
            });
    }
    while (called < threads * runs) std::this_thread::yield();
    CHECK(wrong == 0);
}
