// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/vk/command_cache.hpp>

#include <thread>

using namespace pumice;

TEST_CASE("command cache: a buffer comes back when its submit is done") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::command_cache cache(gpu.queue);
    vulkan::commands a = cache.take();
    const VkCommandBuffer first = static_cast<VkCommandBuffer>(a.handle());
    a.begin();
    a.end();
    cache.give(std::move(a), gpu.queue->submitted() + 1);
    vulkan::commands b = cache.take();
    CHECK(static_cast<VkCommandBuffer>(b.handle()) != first);
    b.begin();
    b.end();
    gpu.queue->wait(gpu.queue->submit(b.handle()));
    CHECK(static_cast<VkCommandBuffer>(cache.take().handle()) == first);
    CHECK(gpu.instance->validation_errors() == 0);
}

TEST_CASE("command cache: threads record and submit at the same time, with few buffers") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::memory memory(gpu.queue);
    const auto data = memory.allocate(8 * 4, vulkan::memory_usage::download);
    {
        vulkan::command_cache cache(gpu.queue);
        std::vector<std::thread> threads;
        for (std::uint32_t t = 0; t < 8; ++t)
            threads.emplace_back([&, t] {
                for (std::uint32_t i = 1; i <= 50; ++i) {
                    vulkan::commands c = cache.take();
                    c.begin();
                    c.barrier(vulkan::scope::transfer, vulkan::scope::transfer);
                    c.fill(data, t * 4, 4, t * 1000 + i);
                    c.barrier(vulkan::scope::transfer, vulkan::scope::host);
                    c.end();
                    const std::uint64_t value = gpu.queue->submit(c.handle());
                    cache.give(std::move(c), value);
                    if (i % 5 == 0) gpu.queue->wait(value);
                }
            });
        for (auto& each : threads) each.join();
        gpu.queue->wait(gpu.queue->submitted());
    }
    memory.invalidate(data, 0, data.size);
    for (std::uint32_t t = 0; t < 8; ++t)
        CHECK(static_cast<const std::uint32_t*>(data.mapped)[t] == t * 1000 + 50);
    CHECK(gpu.instance->validation_errors() == 0);
}
