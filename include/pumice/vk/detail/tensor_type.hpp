// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A tensor of VK_ARM_tensors as pipelines are told of it.
#pragma once

#include <pumice/core/shape.hpp>
#include <pumice/vk/result.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

struct tensor_type {
    VkFormat format = VK_FORMAT_UNDEFINED;
    shape extent;                     // of one axis at least
    std::uint32_t element_bytes = 0;  // of the format
};

}}}  // namespace pumice::PUMICE_ABI::vulkan
