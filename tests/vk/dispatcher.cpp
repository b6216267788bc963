// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/vk/dispatcher.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace pumice;

namespace {

std::vector<std::string> asked;

VKAPI_ATTR void VKAPI_CALL first() {}
VKAPI_ATTR void VKAPI_CALL second() {}

/// Answers every name but one, by the level at which it is asked.
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_door(VkDevice, const char* name) {
    asked.push_back(name);
    return std::string_view(name) == "vkSignalSemaphore" ? nullptr : &second;
}
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_door(VkInstance, const char* name) {
    asked.push_back(name);
    if (std::string_view(name) == "vkGetDeviceProcAddr")
        return reinterpret_cast<PFN_vkVoidFunction>(&device_door);
    return &first;
}

template <class Function>
PFN_vkVoidFunction plain(Function f) {
    return reinterpret_cast<PFN_vkVoidFunction>(f);
}

}  // namespace

TEST_CASE("each function is looked up at its level and put under its name") {
    vulkan::dispatcher table;
    asked.clear();
    table.init(&instance_door);
    CHECK(asked == std::vector<std::string>{"vkCreateInstance",
                                            "vkEnumerateInstanceExtensionProperties",
                                            "vkEnumerateInstanceVersion"});
    CHECK((plain(table.vkEnumerateInstanceVersion) == &first));
    CHECK((table.vkCreateDevice == nullptr));

    table.init(vulkan::vk::Instance());
    CHECK((table.vkGetDeviceProcAddr == &device_door));
    CHECK((plain(table.vkGetPhysicalDeviceQueueFamilyProperties) == &first));
    CHECK((plain(table.vkAllocateCommandBuffers) == &first));
    CHECK((plain(table.vkWaitSemaphores) == &first));

    asked.clear();
    table.init(vulkan::vk::Device());
    CHECK(asked.front() == "vkAllocateCommandBuffers");
    CHECK(std::count(asked.begin(), asked.end(), "vkWaitSemaphores") == 1);
    CHECK((plain(table.vkAllocateCommandBuffers) == &second));
    CHECK((plain(table.vkWaitSemaphores) == &second));
    CHECK((table.vkSignalSemaphore == nullptr));  // the device lacks it
    CHECK((plain(table.vkCreateInstance) == &first));
    CHECK((plain(table.vkGetPhysicalDeviceQueueFamilyProperties) == &first));
}

TEST_CASE("without a driver every function is there, does nothing, and reports the loss") {
    const vulkan::dispatcher& none = vulkan::dispatcher::without_driver();
    const auto* const first = reinterpret_cast<const std::byte*>(&none) + sizeof(void*);
    for (std::size_t i = 0; i < sizeof none / sizeof(void*) - 1; ++i) {
        PFN_vkVoidFunction each = nullptr;
        std::memcpy(&each, first + i * sizeof each, sizeof each);
        CHECK(bool(each));
    }
    none.vkDestroyDevice(nullptr, nullptr);
    CHECK(none.vkQueueWaitIdle(nullptr) == VK_ERROR_DEVICE_LOST);
    CHECK(none.vkGetBufferDeviceAddress(nullptr, nullptr) == 0);
}
