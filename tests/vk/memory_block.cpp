// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/vk/memory_block.hpp>

using namespace pumice;
using vulkan::memory_usage;
using vulkan::detail::suits;

TEST_CASE(
    "memory types: what each kind takes on a discrete GPU, an old one and an integrated one") {
    constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                    host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                           VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                    cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    device_info discrete, old, integrated;
    discrete.mapped_device_memory = true;
    integrated.mapped_device_memory = integrated.unified_memory = true;
    const auto best = [](memory_usage kind, const device_info& info,
                         std::initializer_list<VkMemoryPropertyFlags> types) {
        VkMemoryPropertyFlags found = ~0u;
        int most = -1;
        for (const auto flags : types)
            if (suits(kind, flags, info) > most) most = suits(kind, found = flags, info);
        return found;
    };
    const auto all = {VkMemoryPropertyFlags{0}, local, host, host | cached, local | host};
    CHECK(best(memory_usage::device, discrete, all) == (local | host));
    CHECK(best(memory_usage::device, old, all) == local);
    CHECK(best(memory_usage::parameters, old, all) ==
          (local | host));  // a small window does for parameters
    CHECK(best(memory_usage::upload, discrete, all) == host);
    CHECK(best(memory_usage::download, discrete, all) == (host | cached));
    CHECK(best(memory_usage::download, integrated, {local, local | host, local | host | cached}) ==
          (local | host | cached));
    CHECK(best(memory_usage::device, integrated, {local, local | host | cached}) ==
          (local | host | cached));
    CHECK(best(memory_usage::parameters, discrete, {local, host}) == host);
    for (const auto kind : {memory_usage::upload, memory_usage::download, memory_usage::parameters})
        CHECK(suits(kind, local, discrete) < 0);
    CHECK(suits(memory_usage::device, host, discrete) < 0);
    CHECK(suits(memory_usage::device, local | VK_MEMORY_PROPERTY_PROTECTED_BIT, discrete) < 0);
    CHECK(suits(memory_usage::device, local | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT, discrete) <
          0);
}

TEST_CASE(
    "memory block: a block of each kind has an address, and is mapped where the host needs it") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    for (const auto kind : {memory_usage::device, memory_usage::upload, memory_usage::download,
                            memory_usage::parameters}) {
        std::vector<std::string> why;
        const auto block = vulkan::detail::memory_block::create(*gpu.device, kind, 65536, why);
        REQUIRE(block);
        CHECK(why.empty());
        CHECK(block->address != 0);
        CHECK(block->address % 256 == 0);
        CHECK((block->mapped != nullptr) ==
              (kind != memory_usage::device || gpu.device->info().mapped_device_memory));
        CHECK(block->room.size() == 256);
    }
    CHECK(gpu.instance->validation_errors() == 0);
}
