// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/vk/allocation.hpp>

#include <type_traits>

TEST_CASE("allocation: a plain handle; an empty one is none and may be freed") {
    static_assert(std::is_trivially_copyable_v<pumice::vulkan::allocation>);
    CHECK_FALSE(pumice::vulkan::allocation{});
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    pumice::vulkan::memory memory(gpu.queue);
    memory.free({});
    CHECK(memory.stats().allocations == 0);
}
