// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/vk/queue.hpp>

#include <thread>

using namespace pumice;

namespace {

vulkan::device_options with_faults() {
    vulkan::device_options options;
    options.edit_dispatcher = [](vulkan::dispatcher& table) {
        test::intercept<&vulkan::dispatcher::vkQueueSubmit2, &vulkan::dispatcher::vkWaitSemaphores,
                        &vulkan::dispatcher::vkGetSemaphoreCounterValue,
                        &vulkan::dispatcher::vkQueueWaitIdle>(table);
    };
    return options;
}

std::uint64_t tick(const test::gpu& gpu) {
    return gpu.queue->submit(std::span<const vk::CommandBuffer>{});
}

}  // namespace

TEST_CASE("queue: values rise by one, threads submit and wait at the same time") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    CHECK(gpu.queue->submitted() == 0);
    CHECK(tick(gpu) == 1);
    CHECK(tick(gpu) == 2);
    gpu.queue->wait(2);
    gpu.queue->wait(1);
    CHECK(gpu.queue->reached(2));
    std::vector<std::thread> threads;
    std::atomic<std::uint64_t> sum{0};
    for (int t = 0; t < 16; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 50; ++i) {
                const std::uint64_t value = tick(gpu);
                sum += value;
                if (i % 3 == 0) gpu.queue->wait(value);
            }
        });
    for (auto& each : threads) each.join();
    CHECK(gpu.queue->submitted() == 802);
    CHECK(sum == 802 * 803 / 2 - 3);
    gpu.queue->wait(802);
    CHECK(gpu.queue->completed() == 802);
    CHECK(gpu.device->stats().submits == 802);
    CHECK(gpu.instance->validation_errors() == 0);
}

TEST_CASE("queue: a wait for what nobody submitted is refused") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    CHECK(test::code_of([&] { gpu.queue->wait(1); }) == errc::invalid_argument);
    CHECK_FALSE(gpu.queue->reached(1));
}

TEST_CASE("queue: a submit waits for and signals other semaphores") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    const vulkan::timeline first(gpu.device), second(gpu.device);
    const vulkan::semaphore_point wait{first.handle(), 5}, signal{second.handle(), 9};
    const std::uint64_t value = gpu.queue->submit({}, {&wait, 1}, {&signal, 1});
    CHECK_FALSE(gpu.queue->reached(value));
    CHECK(second.completed() == 0);
    vk::SemaphoreSignalInfo info{};
    info.semaphore = first.handle();
    info.value = 5;
    gpu.device->check(gpu.device->handle().signalSemaphore(&info, gpu.device->table()),
                      "vkSignalSemaphore");
    gpu.queue->wait(value);
    second.wait(9);  // a driver may signal one after the other
    CHECK(second.completed() == 9);
}

TEST_CASE("queue: a submit that fails changes nothing") {
    auto gpu = test::open(with_faults());
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    test::faults::arm(0, VK_ERROR_OUT_OF_HOST_MEMORY);
    CHECK(test::code_of([&] { tick(gpu); }) == errc::out_of_memory);
    test::faults::disarm();
    CHECK(gpu.queue->submitted() == 0);
    CHECK(tick(gpu) == 1);
    gpu.queue->wait(1);
}

TEST_CASE("queue: after a loss at a submit or a wait, everything says so at once") {
    for (const int at : {0, 1, 2}) {
        auto gpu = test::open(with_faults());
        if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
        test::faults::arm(at, VK_ERROR_DEVICE_LOST, true);
        CHECK(test::code_of([&] { gpu.queue->wait(tick(gpu)); }).value_or(errc::device_lost) ==
              errc::device_lost);
        // The value may have been there before the loss was met: the next submit meets it.
        CHECK(test::code_of([&] { tick(gpu); }) == errc::device_lost);
        test::faults::disarm();
        CHECK(gpu.device->lost());
        CHECK(test::code_of([&] { tick(gpu); }) == errc::device_lost);
        CHECK(gpu.instance->validation_errors() == 0);
    }
}

TEST_CASE("queue: what cannot be waited for is in use until somebody can tell") {
    auto gpu = test::open(with_faults());
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    const vulkan::timeline gate(gpu.device);
    const vulkan::semaphore_point opened{gate.handle(), 1};
    gpu.queue->submit(std::span<const vk::CommandBuffer>{}, {&opened, 1});
    std::atomic<bool> open{false};
    test::faults::arm(0, VK_ERROR_OUT_OF_HOST_MEMORY, true);
    std::jthread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        test::faults::disarm();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        open = true;
        vk::SemaphoreSignalInfo info{};
        info.semaphore = gate.handle();
        info.value = 1;
        gpu.device->check(gpu.device->handle().signalSemaphore(&info, gpu.device->table()),
                          "vkSignalSemaphore");
    });
    gpu.queue->wait_idle();
    CHECK(open);
    CHECK_FALSE(gpu.device->lost());
    CHECK(gpu.queue->reached(1));
}

TEST_CASE("queue: a device that can never tell counts as lost, and nobody waits for it for good") {
    auto gpu = test::open(with_faults());
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    tick(gpu);
    test::faults::arm(0, VK_ERROR_OUT_OF_HOST_MEMORY, true);
    const auto start = std::chrono::steady_clock::now();
    gpu.queue->wait_idle();
    test::faults::disarm();
    CHECK(gpu.device->lost());
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}
