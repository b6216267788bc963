// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a run costs beside the executable's own, and which memory it asks for.
#include "support.hpp"

#include <pumice/runner/runner.hpp>

#include <tests/model/allocations.hpp>
#include <tests/support/sanitizer.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace test;
using pm::io_view;
using pm::run_status;

namespace {

/// The least nanoseconds of a call among several stretches of calls.
template <class F>
double cost_of(F&& f) {
    double best = 1e9;
    for (int round = 0; round < 15; ++round) {
        constexpr int calls = 200;
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; ++i) f();
        const std::chrono::duration<double, std::nano> took =
            std::chrono::steady_clock::now() - begin;
        best = std::min(best, took.count() / calls);
    }
    return best;
}

}  // namespace

TEST_CASE(
    "steady runs: no allocation on the host or on a device, and little above the executable") {
    const pm::context home;
    pm::device_info described;
    described.name = "the null device";
    const pm::context null{pm::null_device{described}};
    for (const pm::context& c : {home, null}) {
        pm::runner_options o;
        o.input_view = o.output_view = io_view::hardware;
        const pm::runner r = shifting(c, {64}, o);
        const pm::runner_tensor x = r.allocate("x"), y = r.allocate("output0");
        const pm::runner_tensor_view in[] = {x}, out[] = {y};
        const pm::any_tensor plain_in[] = {pm::zeros(pm::dtype::f32, {64}, c)};
        std::vector<pm::any_tensor> plain_out(1);
        const auto plain = [&] { r.recorded().run_into(plain_out, plain_in).wait(); };
        const auto through = [&] {
            if (r.execute(in, out) != run_status::ok) FAIL(pm::run_message());
        };
        for (int i = 0; i < 5; ++i) plain(), through();
        REQUIRE(r.execute(in, out) == run_status::ok);
        std::uint64_t before = allocations();
        for (int i = 0; i < 100; ++i) plain();
        const std::uint64_t own = allocations() - before;
        before = allocations();
        for (int i = 0; i < 100; ++i) through();
        const std::uint64_t added = allocations() - before;
        const bool quiet = !std::getenv("VK_INSTANCE_LAYERS") && !address_sanitizer;
        if (quiet) CHECK(added <= own);
        const bool vulkan = &c != &null && !on_host(c);
        if (quiet && !on_host(c) && c.get() == home.get()) CHECK(added == 0);
        if (vulkan && c.device().type == pm::device_type::cpu) continue;  // its run is no constant
        const double alone = cost_of(plain), all = cost_of(through);
        std::printf("measured runner on %s: %.0f ns a run, the executable alone %.0f ns\n",
                    c.device().name.c_str(), all, alone);
        if (quiet) CHECK(all - alone < 5000);  // 500 where nobody else uses the processor
    }
}

TEST_CASE("steady runs: tensors that are used again, against new ones") {
    const pm::context home;
    pm::runner_options o;
    o.input_view = o.output_view = io_view::hardware;
    const pm::runner r = shifting(home, {65536}, o);
    const pm::runner_tensor x = r.allocate("x"), y = r.allocate("output0");
    const std::vector<float> values = counting(65536, 1);
    x.write(bytes_of(values));
    const auto time = [&](auto&& f) {
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < 20; ++i) f();
        return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
                   .count() /
               20;
    };
    REQUIRE(r.execute({x}, {y}) == run_status::ok);
    const double again = time([&] { REQUIRE(r.execute({x}, {y}) == run_status::ok); });
    CHECK(values_of<float>(y) == shifted(values));
    const double fresh = time([&] {
        const pm::runner_tensor in = r.allocate("x"), out = r.allocate("output0");
        REQUIRE(r.execute({in}, {out}) == run_status::ok);
    });
    std::printf("measured runner: %.1f us a run over tensors used again, %.1f us over new ones\n",
                again, fresh);
}

TEST_CASE("steady runs: the host's view copies without asking for memory") {
    const pm::context home;
    const pm::runner r = shifting(home, {64});
    std::vector<float> in = counting(64, 1), out(64);
    const pm::runner_tensor_view x[] = {r.wrap("x", in.data())},
                                 y[] = {r.wrap("output0", out.data())};
    for (int i = 0; i < 5; ++i) REQUIRE(r.execute(x, y) == run_status::ok);
    const std::uint64_t before = allocations();
    for (int i = 0; i < 100; ++i) REQUIRE(r.execute(x, y) == run_status::ok);
    if (!std::getenv("VK_INSTANCE_LAYERS") && !address_sanitizer && !on_host(home))
        CHECK(allocations() == before);
    CHECK(r.stats().rooms == 1);
    CHECK(out == shifted(in));
}
