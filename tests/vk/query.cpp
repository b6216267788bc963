// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/vk/query.hpp>

using namespace pumice;

TEST_CASE("query: timestamps rise, and differences are nanoseconds across a wrap") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    if (gpu.device->timestamp_bits() == 0) {
        CHECK(test::code_of([&] { vulkan::timestamp_pool(gpu.device, 1); }) == errc::unsupported);
        return;
    }
    {
        vulkan::timestamp_pool pool(gpu.device, 8);
        CHECK(pool.size() == 8);
        vulkan::command_cache cache(gpu.queue);
        vulkan::memory memory(gpu.queue);
        const auto data = memory.allocate(1 << 22, vulkan::memory_usage::device);
        vulkan::commands c = cache.take();
        c.begin();
        c.reset(pool, 0, 8);
        for (std::uint32_t i = 0; i < 8; ++i) {
            c.timestamp(pool, i);
            c.fill(data, 0, data.size, i);
            c.barrier(vulkan::scope::transfer, vulkan::scope::transfer);
        }
        c.end();
        const std::uint64_t value = gpu.queue->submit(c.handle());
        cache.give(std::move(c), value);
        gpu.queue->wait(value);
        std::uint64_t ticks[8] = {};
        pool.read(0, ticks);
        for (int i = 1; i < 8; ++i) {
            CHECK(pool.nanoseconds(ticks[i - 1], ticks[i]) >= 0);
            CHECK(pool.nanoseconds(ticks[i - 1], ticks[i]) < 5e9);
        }
        const std::uint32_t bits = gpu.device->timestamp_bits();
        const std::uint64_t last = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
        CHECK(pool.nanoseconds(last - 9, 10) ==
              doctest::Approx(20 * static_cast<double>(gpu.device->info().timestamp_period)));
        const auto now = vulkan::calibrate(*gpu.device);
        if (now) {
            CHECK(now->nanoseconds > 0);
            CHECK(pool.nanoseconds(ticks[7], now->ticks) < 60e9);
        }
        if (!gpu.device->has("VK_KHR_calibrated_timestamps") &&
            !gpu.device->has("VK_EXT_calibrated_timestamps"))
            CHECK_FALSE(now);
    }
    CHECK(gpu.instance->validation_errors() == 0);
}
