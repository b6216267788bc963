// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/vk/features.hpp>

using namespace pumice;

TEST_CASE("features: only structures that the device knows are chained") {
    vulkan::features f;
    const auto length = [&f](const vulkan::extension_list& extensions) {
        int n = 0;
        for (auto* at = reinterpret_cast<VkBaseOutStructure*>(f.link(extensions)); at;
             at = at->pNext)
            ++n;
        return n;
    };
    CHECK(length({}) == 4);
    CHECK(length({{"VK_KHR_cooperative_matrix"}}) == 5);
    CHECK(length({{"VK_KHR_shader_bfloat16"}}) == 5);
    CHECK(length({{"VK_KHR_shader_bfloat16", "VK_KHR_cooperative_matrix",
                   "VK_EXT_memory_budget"}}) == 6);
    CHECK(length({}) == 4);  // linking again starts afresh
}

TEST_CASE("features: nothing is switched on that is not offered, and robustness only on request") {
    vulkan::features offered;
    CHECK_FALSE(vulkan::wanted_features(offered, true).core.features.robustBufferAccess);
    CHECK_FALSE(vulkan::wanted_features(offered, true).v12.timelineSemaphore);
    offered.core.features.robustBufferAccess = VK_TRUE;
    offered.core.features.geometryShader = VK_TRUE;
    offered.v12.timelineSemaphore = VK_TRUE;
    const vulkan::features on = vulkan::wanted_features(offered, false);
    CHECK_FALSE(on.core.features.robustBufferAccess);
    CHECK_FALSE(on.core.features.geometryShader);
    CHECK(on.v12.timelineSemaphore);
    CHECK(vulkan::wanted_features(offered, true).core.features.robustBufferAccess);
}
