// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/vk/timeline.hpp>

#include <array>
#include <thread>

using namespace pumice;

namespace {

void signal(const test::gpu& gpu, const vulkan::timeline& line, std::uint64_t value) {
    vk::SemaphoreSignalInfo info{};
    info.semaphore = line.handle();
    info.value = value;
    gpu.device->check(gpu.device->handle().signalSemaphore(&info, gpu.device->table()),
                      "vkSignalSemaphore");
}

}  // namespace

TEST_CASE("timeline: waits end when the value is reached, and not before") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    const vulkan::timeline line(gpu.device);
    CHECK(line.completed() == 0);
    CHECK(line.reached(0));
    CHECK_FALSE(line.reached(1));
    line.wait(0);
    CHECK(gpu.device->stats().host_waits == 0);
    std::atomic<std::uint64_t> signalled{0};
    std::atomic<int> early{0};
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            for (std::uint64_t v = 1 + t % 3; v <= 30; v += 1 + t % 4) {
                line.wait(v);
                early += signalled < v;
            }
        });
    for (std::uint64_t v = 1; v <= 30; ++v) {
        if (v % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(15));
        signalled = v;
        signal(gpu, line, v);
    }
    for (auto& each : threads) each.join();
    CHECK(early == 0);
    CHECK(line.known() == 30);
    CHECK(gpu.device->stats().host_waits > 0);
}

TEST_CASE("timeline: waits are polled while they are expected to end, no longer than is allowed") {
    using std::chrono::microseconds;
    const auto after = [](int took, int least, int most) {
        const vulkan::polling p =
            vulkan::polling_after(microseconds(took), microseconds(least), microseconds(most));
        return std::array{p.first.count(), p.from.count(), p.to.count()};
    };
    using times = std::array<std::int64_t, 3>;
    CHECK(after(0, 80, 1000) == times{80, 0, 0});
    CHECK(after(300, 80, 1000) == times{375, 0, 0});
    CHECK(after(1000, 80, 1000) == times{1000, 0, 0});
    CHECK(after(2000, 80, 1000) == times{80, 1750, 2250});
    CHECK(after(80'000, 80, 1000) == times{80, 70'000, 71'000});
    CHECK(after(300, 80, 80) == times{80, 0, 0});
    CHECK(after(2000, 80, 80) == times{80, 1750, 1830});
    CHECK(after(300, 0, 0) == times{0, 0, 0});
    CHECK(after(2000, 0, 0) == times{0, 1750, 1750});
    const vulkan::polling p{microseconds(80), microseconds(1750), microseconds(2250)};
    for (const int t : {0, 79, 1750, 2249}) CHECK(p.at(microseconds(t)));
    for (const int t : {80, 1749, 2250}) CHECK_FALSE(p.at(microseconds(t)));
    CHECK(p.blocks(microseconds(80)).count() == 1670);
    CHECK(p.blocks(microseconds(2250)) == microseconds::max());
}

TEST_CASE("timeline: a loss that another thread meets ends every wait") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    const vulkan::timeline line(gpu.device);
    std::atomic<int> told{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            told += test::code_of([&] { line.wait(1); }) == errc::device_lost;
        });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto start = std::chrono::steady_clock::now();
    gpu.device->note(vk::Result::eErrorDeviceLost);
    for (auto& each : threads) each.join();
    CHECK(told == 4);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
}
