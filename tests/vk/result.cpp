// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/vk/result.hpp>

#include <doctest/doctest.h>

using namespace pumice;

TEST_CASE("result: errors name the call and its result, and have a code to act on") {
    const error lost =
        vulkan::call_error(vk::Result::eErrorDeviceLost, "vkQueueSubmit2", "kernel relu");
    CHECK(lost.code() == errc::device_lost);
    CHECK(std::string(lost.what()) ==
          "[vulkan] vkQueueSubmit2 gave VK_ERROR_DEVICE_LOST\n  - kernel relu");
    CHECK(vulkan::call_error(vk::Result::eErrorOutOfDeviceMemory, "f").code() ==
          errc::out_of_memory);
    CHECK(vulkan::call_error(vk::Result::eErrorOutOfHostMemory, "f").code() == errc::out_of_memory);
    CHECK(vulkan::call_error(vk::Result::eErrorFeatureNotPresent, "f").code() ==
          errc::vulkan_failed);
    CHECK(vulkan::call_error(vk::Result(-12345), "f").message() ==
          "f gave an unknown VkResult (-12345)");
    CHECK_NOTHROW(vulkan::check(vk::Result::eSuccess, "f"));
    CHECK_THROWS_AS(vulkan::check(vk::Result::eTimeout, "f"), error);
}
