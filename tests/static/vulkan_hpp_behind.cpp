// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A file may use Vulkan-Hpp behind Pumice, which includes Vulkan's C headers alone.
#include <pumice.hpp>

#ifdef VULKAN_HPP
#error "Vulkan-Hpp costs each file more than a second"
#endif
#include <vulkan/vulkan.hpp>

std::string behind_named(vk::Result result) { return vk::to_string(result); }
pumice::vulkan_buffer behind_placed(vk::Buffer buffer) { return {buffer, 0}; }
