// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/vk/commands.hpp>

#include <cstring>
#include <numeric>

using namespace pumice;
namespace vulkan = pumice::vulkan;

TEST_CASE("a kernel runs on data that was uploaded, and its result comes back") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    constexpr std::uint32_t n = 1000;
    const std::uint64_t warnings = gpu.instance->validation_warnings();  // some are about the layer
    {
        vulkan::memory memory(gpu.queue);
        vulkan::pipeline_factory factory(gpu.device);
        vulkan::command_cache cache(gpu.queue);
        const auto kernel = factory.create(test::scale_kernel, "scale");
        const auto up = memory.allocate(n * 4, vulkan::memory_usage::upload);
        const auto data = memory.allocate(n * 4, vulkan::memory_usage::device);
        const auto down = memory.allocate(n * 4, vulkan::memory_usage::download);
        const auto block =
            memory.allocate(sizeof(test::scale_parameters), vulkan::memory_usage::parameters);
        std::iota(static_cast<std::uint32_t*>(up.mapped),
                  static_cast<std::uint32_t*>(up.mapped) + n, 0u);
        memory.flush(up, 0, up.size);
        const test::scale_parameters parameters{data.device_address, n, 7};
        std::memcpy(block.mapped, &parameters, sizeof parameters);
        memory.flush(block, 0, block.size);

        vulkan::commands c = cache.take();
        c.begin();
        c.label("test");
        c.copy(up, data, {0, 0, n * 4});
        c.barrier(vulkan::scope::transfer, vulkan::scope::compute);
        c.bind(*kernel);
        c.push(block.device_address);
        c.dispatch((n + 63) / 64);
        c.barrier(vulkan::scope::compute, vulkan::scope::compute);
        c.dispatch((n + 63) / 64);
        c.barrier(vulkan::scope::compute, vulkan::scope::transfer | vulkan::scope::compute);
        c.copy(data, down, {0, 0, n * 4});
        c.barrier(vulkan::scope::transfer, vulkan::scope::host);
        c.end_label();
        c.end();
        const std::uint64_t value = gpu.queue->submit(c.handle());
        cache.give(std::move(c), value);
        gpu.queue->wait(value);
        memory.invalidate(down, 0, down.size);
        bool right = true;
        for (std::uint32_t i = 0; i < n; ++i)
            right =
                right && static_cast<const std::uint32_t*>(down.mapped)[i] == (i * 3 + 7) * 3 + 7;
        CHECK(right);
        for (const auto& a : {up, data, down, block}) memory.free(a, value);
        const auto& counted = gpu.device->stats();
        CHECK(counted.submits == 1);
        CHECK(counted.dispatches == 2);
        CHECK(counted.barriers == 4);
        CHECK(counted.copies == 2);
        CHECK(counted.recordings == 1);
        CHECK(counted.pipelines == 1);
    }
    CHECK(gpu.instance->validation_errors() == 0);
    CHECK(gpu.instance->validation_warnings() == warnings);
}

TEST_CASE("a missing barrier is heard by the validation layer (a canary that must fire)") {
    std::string heard;
    vulkan::instance_options how;
    how.on_message = [&heard](severity level, std::string_view text) {
        if (level == severity::error) heard += text;
    };
    auto gpu = test::open({}, std::move(how));
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::memory memory(gpu.queue);
    vulkan::command_cache cache(gpu.queue);
    const auto data = memory.allocate(4096, vulkan::memory_usage::device);
    const auto two_fills = [&](bool with_barrier) {
        vulkan::commands c = cache.take();
        c.begin();
        c.fill(data, 0, 4096, 1);
        const vulkan::buffer_range range{data.buffer, data.offset, 4096};
        if (with_barrier) c.barrier(vulkan::scope::transfer, vulkan::scope::transfer, {&range, 1});
        c.fill(data, 0, 4096, 2);
        c.end();
        const std::uint64_t value = gpu.queue->submit(c.handle());
        cache.give(std::move(c), value);
        gpu.queue->wait(value);
    };
    two_fills(true);
    INFO(heard);
    CHECK(heard.empty());
    two_fills(false);
    CHECK((heard.find("SYNC-HAZARD-WRITE-AFTER-WRITE") != std::string::npos) == test::validating());
}

TEST_CASE("empty dispatches, copies and barriers record nothing") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    {
        vulkan::memory memory(gpu.queue);
        const auto a = memory.allocate(16, vulkan::memory_usage::device);
        vulkan::commands c(gpu.device);
        c.begin();
        c.dispatch(0);
        c.dispatch(1, 0);
        c.copy(a, a, {0, 8, 0});
        c.copy(a, a, std::span<const vulkan::copy_region>{});
        c.fill(a, 0, 0, 1);
        c.barrier(vulkan::scope::compute, vulkan::scope::compute,
                  std::span<const vulkan::buffer_range>{});
        c.end();
        vulkan::commands other = std::move(c);  // what was moved from may only be destroyed
        CHECK(other.handle());
    }
    const auto& counted = gpu.device->stats();
    CHECK(counted.dispatches == 0);
    CHECK(counted.copies == 0);
    CHECK(counted.fills == 0);
    CHECK(counted.barriers == 0);
    CHECK(gpu.instance->validation_errors() == 0);
}
