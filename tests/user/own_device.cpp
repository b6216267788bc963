// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A program with a Vulkan device of its own lets Pumice compute on it.
#include "check.hpp"

#include <pumice/exec/adopt.hpp>

#include <tests/support/skip.hpp>

#include <dlfcn.h>

namespace pm = pumice;

TEST_CASE("user: Pumice computes on the program's own device") {
    void* const library = dlopen("libvulkan.so.1", RTLD_NOW);
    if (!library) PUMICE_SKIP("vulkan-device", "no Vulkan loader");
    const auto get =
        reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
    const auto create_instance =
        reinterpret_cast<PFN_vkCreateInstance>(get(nullptr, "vkCreateInstance"));
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_3;
    VkInstanceCreateInfo instance_info{};
    instance_info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    instance_info.pApplicationInfo = &application;
    VkInstance instance = VK_NULL_HANDLE;
    if (create_instance(&instance_info, nullptr, &instance) != VK_SUCCESS)
        PUMICE_SKIP("vulkan-device", "no Vulkan instance");
#define LOOK_UP(name) const auto name = reinterpret_cast<PFN_##name>(get(instance, #name))
    LOOK_UP(vkEnumeratePhysicalDevices);
    LOOK_UP(vkCreateDevice);
    LOOK_UP(vkGetDeviceQueue);
    LOOK_UP(vkDestroyDevice);
    LOOK_UP(vkDestroyInstance);
#undef LOOK_UP
    std::uint32_t count = 1;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    vkEnumeratePhysicalDevices(instance, &count, &physical);
    if (count == 0) PUMICE_SKIP("vulkan-device", "no Vulkan device");

    // What docs/20_running.md says that Pumice needs.
    VkPhysicalDeviceVulkan12Features features12{};
    features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    features12.bufferDeviceAddress = features12.timelineSemaphore = VK_TRUE;
    features12.scalarBlockLayout = VK_TRUE;
    VkPhysicalDeviceVulkan13Features features13{};
    features13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
    features13.pNext = &features12;
    features13.synchronization2 = VK_TRUE;
    VkPhysicalDeviceFeatures2 features{};
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    features.pNext = &features13;
    features.features.shaderInt64 = VK_TRUE;
    const float priority = 1;
    VkDeviceQueueCreateInfo queue_info{};
    queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue_info.queueCount = 1;
    queue_info.pQueuePriorities = &priority;
    VkDeviceCreateInfo device_info{};
    device_info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    device_info.pNext = &features;
    device_info.queueCreateInfoCount = 1;
    device_info.pQueueCreateInfos = &queue_info;

    pm::vulkan_handles mine{.get_instance_proc_addr = get,
                            .instance = instance,
                            .physical_device = physical,
                            .created_with = &device_info};
    REQUIRE(vkCreateDevice(physical, &device_info, nullptr, &mine.device) == VK_SUCCESS);
    vkGetDeviceQueue(mine.device, 0, 0, &mine.queue);
    {
        const pm::context home = pm::context::adopt(mine);
        const pm::vector<float> x = pm::arange<float>(0, 1000, 1, home);
        std::vector<float> plain;
        for (int i = 0; i < 1000; ++i) plain.push_back(2.0f * float(i) + 1.0f);
        CHECK(pumice_test::worst((x * 2.0f + 1.0f).to_vector(), plain) == 0);
        CHECK(pm::sum(x).item() == 499500.0f);
    }
    vkDestroyDevice(mine.device, nullptr);
    vkDestroyInstance(instance, nullptr);
}
