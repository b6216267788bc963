// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What holds up whom: nobody who waits for the device holds up one who plans, evaluates or looks.
// And what a lane counts.
#include "gate.hpp"

#include <pumice/front.hpp>

#include <future>

namespace pm = pumice;
using test::gate;

namespace {

constexpr std::int64_t count = 4096;

pm::any_tensor ones(const pm::context& home) {
    const std::vector<float> v(count, 1.0f);
    return pm::from_bytes(pm::dtype::f32, {count}, std::as_bytes(std::span(v)), home);
}

/// While one thread waits in `wait` for what `start` gives the device: true where another can do
/// `work`, and nobody else has to let it.
template <class Start, class Wait, class Work>
bool goes_on_beside(Start&& start, Wait&& wait, Work&& work) {
    gate::closed = true;
    start();
    gate::waiting = 0;
    std::jthread waits([&] { wait(); });
    gate::await(gate::waiting, 1);
    const std::future<void> other = std::async(std::launch::async, [&] { work(); });
    const bool done = other.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
    gate::closed = false;
    return done;
}

std::optional<pm::context> open(bool staged = false) {
    test::wishes w;
    w.edit = gate::edit();
    w.staged = staged;
    return test::open_context(w);
}

}  // namespace

TEST_CASE("lane: who waits for a long kernel holds up nobody who plans, evaluates or counts") {
    for (const bool staged : {false, true}) {
        CAPTURE(staged);
        const std::optional<pm::context> home = open(staged);
        if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
        const pm::any_tensor x = ones(*home), known = x + 1.0;
        // What is compiled first is no part of the question.
        pm::eval(std::vector<pm::any_tensor>{known, pm::sqrt(known) * 3.0 - x, x * 2.0, x * 5.0});
        const auto others = [&] {
            const std::uint64_t plans = home->stats().plans;
            const pm::any_tensor z = pm::sqrt(known) * 3.0 + x;
            CHECK(home.value().get()->explain(z.get()).find("planned") == std::string::npos);
            pm::eval(z);
            CHECK(home->stats().plans == plans + 1);
        };
        const pm::any_tensor y = x + 2.0;
        CHECK(goes_on_beside([&] { pm::eval(y); }, [&] { CHECK(pm::to_vector<float>(y)[7] == 3); },
                             others));

        pm::any_tensor mine = x * 2.0;
        const float seven = 7;
        CHECK(goes_on_beside([&] { pm::eval(mine); },
                             [&] {
                                 home->get()->write(mine.get(), 4,
                                                    std::as_bytes(std::span(&seven, 1)));
                             },
                             [&] { pm::eval(pm::sqrt(known) * 4.0 + x); }));
        CHECK(pm::to_vector<float>(mine)[1] == 7);
        CHECK(pm::to_vector<float>(mine)[2] == 2);

        pm::profiler profiler(*home);
        CHECK(goes_on_beside([&] { pm::eval(x * 5.0); },
                             [&] { CHECK(!profiler.finish().events.empty()); },
                             [&] { pm::eval(pm::sqrt(known) * 5.0 + x); }));
    }
}

TEST_CASE("lane: a dispatch of a recording counts in each run, and a recording once") {
    const std::optional<pm::context> home = test::open_context();
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const auto f = pm::compile([](const pm::any_tensor& x) {
        return pm::reduce(pm::reduction::max, pm::matmul(x, x)) + 1.0;
    });
    const pm::any_tensor x = pm::reshape(ones(*home), {64, 64});
    pm::eval(x);
    const pm::executable e = f.get(x);
    const pm::statistics before = home->stats();
    std::vector<pm::any_tensor> out(1);
    e.run_into(out, std::span(&x, 1)).wait();
    const pm::statistics once = home->stats();
    const std::uint64_t kernels = once.dispatches - before.dispatches;
    CHECK(kernels >= 2);
    for (int i = 0; i < 5; ++i) e.run_into(out, std::span(&x, 1)).wait();
    const pm::statistics after = home->stats();
    CHECK(after.dispatches - once.dispatches == 5 * kernels);
    CHECK(after.recordings == once.recordings);
    CHECK(after.evals - once.evals == 5);
    CHECK(after.submits - once.submits == 5);
}
