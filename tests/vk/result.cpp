// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/vk/result.hpp>

#include <doctest/doctest.h>

using namespace pumice;

TEST_CASE("result: errors name the call and its result, and have a code to act on") {
    const error lost = vulkan::call_error(VK_ERROR_DEVICE_LOST, "vkQueueSubmit2", "kernel relu");
    CHECK(lost.code() == errc::device_lost);
    CHECK(std::string(lost.what()) ==
          "[vulkan] vkQueueSubmit2 gave VK_ERROR_DEVICE_LOST\n  - kernel relu");
    CHECK(vulkan::call_error(VK_ERROR_OUT_OF_DEVICE_MEMORY, "f").code() == errc::out_of_memory);
    CHECK(vulkan::call_error(VK_ERROR_OUT_OF_HOST_MEMORY, "f").code() == errc::out_of_memory);
    CHECK(vulkan::call_error(VK_ERROR_FEATURE_NOT_PRESENT, "f").code() == errc::vulkan_failed);
    CHECK(vulkan::call_error(static_cast<VkResult>(-12345), "f").message() ==
          "f gave an unknown VkResult (-12345)");
    CHECK_NOTHROW(vulkan::check(VK_SUCCESS, "f"));
    CHECK_THROWS_AS(vulkan::check(VK_TIMEOUT, "f"), error);
}
