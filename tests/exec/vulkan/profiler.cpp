// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What timestamps say of a Vulkan device, and that without a profile none is written.
#include "../support.hpp"

#include <pumice/exec/vulkan/profiler.hpp>
#include <pumice/front.hpp>

namespace pm = pumice;
using table = test::vulkan::dispatcher;

namespace {

/// A context that counts timestamps.
std::optional<pm::context> counted(bool staged = false) {
    test::wishes w;
    w.staged = staged;
    w.policies.fusion = false;
    w.edit = [](table& t) {
        test::count_calls<&table::vkCmdWriteTimestamp2, &table::vkCmdResetQueryPool,
                          &table::vkCreateQueryPool>(t);
    };
    return test::open_context(w);
}

int count_of(const pm::profile& p, const std::string& name) {
    int n = 0;
    for (const pm::profile_event& e : p.events) n += e.name == name;
    return n;
}

}  // namespace

TEST_CASE("vulkan profiler: without a profile no query is made, written or reset") {
    const auto home = counted(true);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const auto run = [&] {
        pm::vector<float> x = pm::from_span<float>({3}, std::vector<float>{1, 2, 3}, *home);
        for (int i = 0; i < 5; ++i) x = x + 1.0f;
        CHECK(x.to_vector() == std::vector<float>{6, 7, 8});
    };
    run();
    CHECK(test::calls<&table::vkCreateQueryPool>() == 0);
    CHECK(test::calls<&table::vkCmdResetQueryPool>() == 0);
    CHECK(test::calls<&table::vkCmdWriteTimestamp2>() == 0);
    pm::profiler profiler(*home);
    run();
    const pm::profile p = profiler.finish();
    INFO(p.table());
    CHECK(test::calls<&table::vkCreateQueryPool>() == 1);
    CHECK(test::calls<&table::vkCmdResetQueryPool>() == 2);
    CHECK(test::calls<&table::vkCmdWriteTimestamp2>() == 2 * (1 + 5 + 1));
    CHECK(count_of(p, "upload") == 1);
    CHECK(count_of(p, "download") == 1);
    CHECK(count_of(p, "elementwise/vectors: add") + count_of(p, "elementwise/strided: add") == 5);
    for (const char* name : {"choosing", "compiling", "preparing", "recording"})
        CHECK(count_of(p, name) == 1);
    CHECK(count_of(p, "submitting") == 2);
    CHECK(count_of(p, "waiting") == 1);  // for the download, which is behind the kernels
    run();
    CHECK(test::calls<&table::vkCmdWriteTimestamp2>() == 2 * (1 + 5 + 1));
}

TEST_CASE("vulkan profiler: kernels come one after the other, within the host's start and finish") {
    const auto home = counted();
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    pm::matrix<float> x = pm::ones<float>({1024, 1024}, *home);
    const pm::matrix<float> step = pm::ones<float>({1024, 1024}, *home);
    pm::eval(x, pm::matrix<float>(x + step));
    // On a GPU kernels are so short that the barriers between them count. A wrong unit of the
    // timestamps is wrong by more than this; how full the span is, is the machine's affair.
    const double least = home->device().type == pm::device_type::cpu ? 0.5 : 0;
    double best = -1;
    for (int round = 0; round < 20 && best < least; ++round) {  // a busy machine makes gaps
        using clock = std::chrono::steady_clock;
        const auto begin = clock::now();
        pm::profiler profiler(*home);
        for (int i = 0; i < 40; ++i) x = x + step;
        CHECK(x.to_vector()[5] == float(1 + 40 * (round + 1)));
        const pm::profile p = profiler.finish();
        const double whole =
            std::chrono::duration<double, std::micro>(clock::now() - begin).count();
        double sum = 0, first = -1, end = 0;
        int count = 0;
        for (const pm::profile_event& e : p.events) {
            if (!e.name.starts_with("elementwise")) continue;
            CHECK(e.bytes == 3 * 4 * 1024 * 1024);
            if (first < 0) first = e.begin_us;
            else CHECK(e.begin_us >= end - 0.1);
            end = e.begin_us + e.duration_us;
            sum += e.duration_us;
            ++count;
        }
        INFO(p.table());
        CHECK(count == 40);
        CHECK(first >= 0);
        CHECK(end <= whole);
        CHECK(sum <= (end - first) * 1.001);
        best = std::max(best, sum / (end - first));
    }
    MESSAGE("kernels fill ", best, " of their span");
    CHECK(best >= least);
}

TEST_CASE("vulkan profiler: what could not be submitted is no part of the profile") {
    test::wishes w;
    w.edit = [](table& t) { test::intercept<&table::vkQueueSubmit2>(t); };
    const auto home = test::open_context(w);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const pm::vector<float> x = pm::ones<float>({100}, *home);
    pm::eval(pm::vector<float>(x * 2.0f));
    pm::profiler profiler(*home);
    pm::vector<float> y = pm::exp(x), z = x - 1.0f;
    test::faults::arm(0, VK_ERROR_OUT_OF_HOST_MEMORY);
    CHECK(test::code_of([&] { pm::eval(y); }) == pm::errc::out_of_memory);
    test::faults::disarm();
    CHECK(z.to_vector()[7] == 0);
    const pm::profile p = profiler.finish();
    INFO(p.table());
    CHECK(p.table().find("exp") == std::string::npos);
    CHECK(p.table().find("subtract") != std::string::npos);
}

TEST_CASE("vulkan profiler: a profile's timestamps are bounded, and used once") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    if (gpu.device->timestamp_bits() == 0) {
        CHECK(test::code_of([&] { pm::vulkan_profiler(gpu.queue); }) == pm::errc::unsupported);
        return;
    }
    pm::vulkan_profiler p(gpu.queue);
    const auto any = [](std::size_t) { return pm::vulkan_profiler::timed{"any", 1}; };
    const pm::timestamps one = p.reserve(10, any);
    CHECK(one.count == 10);
    const pm::timestamps again = p.reserve(5, any);  // the ten were never submitted
    CHECK(again.pool == one.pool);
    CHECK(again.first == one.first);
    p.submitted();
    CHECK(p.reserve(1, any).first == one.first + 10);
    const pm::timestamps many = p.reserve(pm::profile_recorder::most - 10, any);
    CHECK(many.count == pm::profile_recorder::most - 10);
    CHECK(many.pool != one.pool);
    p.submitted();
    CHECK(p.reserve(20, any).count == 5);
    p.submitted();
    CHECK(p.reserve(20, any).count == 0);
}
