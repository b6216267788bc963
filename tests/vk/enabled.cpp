// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/vk/enabled.hpp>

#include <doctest/doctest.h>

namespace vulkan = pumice::vulkan;

TEST_CASE("enabled: structures of versions, of single features, and the core's, together") {
    VkPhysicalDeviceVulkan12Features v12{};
    v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    v12.timelineSemaphore = VK_TRUE;
    VkPhysicalDeviceSynchronization2Features synchronization{};
    synchronization.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES;
    synchronization.synchronization2 = VK_TRUE;
    synchronization.pNext = &v12;
    VkPhysicalDevice16BitStorageFeatures storage{};
    storage.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
    storage.storageBuffer16BitAccess = VK_TRUE;
    storage.pNext = &synchronization;
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices{};
    matrices.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
    matrices.cooperativeMatrix = VK_TRUE;
    matrices.pNext = &storage;
    VkPhysicalDeviceFeatures core{};
    core.shaderFloat64 = VK_TRUE;
    const char* extensions[] = {"VK_KHR_cooperative_matrix", "VK_EXT_other"};
    VkDeviceCreateInfo made{};
    made.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    made.pNext = &matrices;
    made.pEnabledFeatures = &core;
    made.enabledExtensionCount = 2;
    made.ppEnabledExtensionNames = extensions;
    const vulkan::features on = vulkan::enabled_features(made);
    CHECK(on.core.features.shaderFloat64);
    CHECK_FALSE(on.core.features.shaderInt64);
    CHECK(on.v12.timelineSemaphore);
    CHECK_FALSE(on.v12.bufferDeviceAddress);
    CHECK(on.v13.synchronization2);
    CHECK(on.v11.storageBuffer16BitAccess);
    CHECK_FALSE(on.v11.uniformAndStorageBuffer16BitAccess);
    CHECK(on.cooperative.cooperativeMatrix);
    CHECK(on.v12.pNext == nullptr);
    CHECK(vulkan::enabled_extensions(made).has("VK_EXT_other"));
    CHECK_FALSE(vulkan::enabled_extensions(made).has("VK_KHR_shader_bfloat16"));
}

TEST_CASE("enabled: features in a VkPhysicalDeviceFeatures2, and nothing at all") {
    VkPhysicalDeviceFeatures2 head{};
    head.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    head.features.shaderInt16 = VK_TRUE;
    VkDeviceCreateInfo made{};
    made.pNext = &head;
    CHECK(vulkan::enabled_features(made).core.features.shaderInt16);
    made.pNext = nullptr;
    CHECK_FALSE(vulkan::enabled_features(made).core.features.shaderInt16);
}
