// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A file that includes Vulkan-Hpp before Pumice has all of it.
#include <vulkan/vulkan.hpp>

#include <pumice.hpp>

std::string named(vk::Result result) { return vk::to_string(result); }
vk::BufferCreateInfo sized(vk::DeviceSize bytes) { return vk::BufferCreateInfo().setSize(bytes); }
vk::UniqueBuffer made(vk::Device device, vk::DeviceSize bytes) {
    return device.createBufferUnique(sized(bytes));
}
