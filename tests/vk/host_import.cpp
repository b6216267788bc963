// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/vk/host_import.hpp>

#include <cstring>
#include <numeric>

using namespace pumice;

TEST_CASE("host import: the device copies from an array in place, wherever it starts") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    {
        vulkan::memory memory(gpu.queue);
        vulkan::command_cache cache(gpu.queue);
        std::vector<std::uint32_t> host(100000);
        std::iota(host.begin(), host.end(), 0u);
        std::string why;
        const std::uint32_t* data = host.data() + 777;
        constexpr std::uint64_t size = 50000 * 4;
        const auto lent = vulkan::host_import::open(gpu.device, data, size, why);
        if (!lent) {
            CHECK_FALSE(why.empty());
            // A driver on the CPU that has the extension takes any memory of the process.
            CHECK_FALSE((gpu.device->has(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME) &&
                         gpu.device->info().type == device_type::cpu));
            return;
        }
        CHECK(lent->piece().size == size);
        const auto down = memory.allocate(size, vulkan::memory_kind::download);
        vulkan::commands c = cache.take();
        c.begin();
        c.copy(lent->piece(), down, {0, 0, size});
        c.barrier(vulkan::scope::transfer, vulkan::scope::host);
        c.end();
        const std::uint64_t value = gpu.queue->submit(c.handle());
        cache.give(std::move(c), value);
        gpu.queue->wait(value);
        memory.invalidate(down, 0, size);
        CHECK(std::memcmp(down.mapped, data, size) == 0);
        CHECK_FALSE(vulkan::host_import::open(gpu.device, nullptr, 5, why));
        CHECK_FALSE(vulkan::host_import::open(gpu.device, data, 0, why));
        CHECK(why == "there is nothing to import");
    }
    CHECK(gpu.instance->validation_errors() == 0);
}
