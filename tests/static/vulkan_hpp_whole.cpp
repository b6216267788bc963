// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// With PUMICE_WHOLE_VULKAN_HPP a file has all of Vulkan-Hpp in any order of its headers.
#define PUMICE_WHOLE_VULKAN_HPP
#include <pumice.hpp>
#include <vulkan/vulkan.hpp>

std::string whole_named(vk::Result result) { return vk::to_string(result); }
vk::BufferCreateInfo whole_sized(vk::DeviceSize bytes) {
    return vk::BufferCreateInfo().setSize(bytes);
}
vk::UniqueBuffer whole_made(vk::Device device, vk::DeviceSize bytes) {
    return device.createBufferUnique(whole_sized(bytes));
}
