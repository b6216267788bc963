// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Vulkan-Hpp as Pumice uses it (pointer overloads, an explicit dispatcher) and its results as
// errors.
#pragma once

#include <pumice/base/error.hpp>
#include <pumice/vk/dispatcher.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

// A call whose C form has a pointer parameter goes through Vulkan-Hpp. One without
// (vkEndCommandBuffer) has no overload whose type stays the same under every VULKAN_HPP_* macro: it
// is called from the table.
/// The enumerator's name. Our own list: VULKAN_HPP_NO_TO_STRING takes Vulkan-Hpp's away.
constexpr std::string_view result_name(vk::Result result) noexcept {
    switch (static_cast<VkResult>(result)) {
        case VK_SUCCESS: return "VK_SUCCESS";
        case VK_NOT_READY: return "VK_NOT_READY";
        case VK_TIMEOUT: return "VK_TIMEOUT";
        case VK_INCOMPLETE: return "VK_INCOMPLETE";
        case VK_PIPELINE_COMPILE_REQUIRED: return "VK_PIPELINE_COMPILE_REQUIRED";
        case VK_ERROR_OUT_OF_HOST_MEMORY: return "VK_ERROR_OUT_OF_HOST_MEMORY";
        case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
        case VK_ERROR_INITIALIZATION_FAILED: return "VK_ERROR_INITIALIZATION_FAILED";
        case VK_ERROR_DEVICE_LOST: return "VK_ERROR_DEVICE_LOST";
        case VK_ERROR_MEMORY_MAP_FAILED: return "VK_ERROR_MEMORY_MAP_FAILED";
        case VK_ERROR_LAYER_NOT_PRESENT: return "VK_ERROR_LAYER_NOT_PRESENT";
        case VK_ERROR_EXTENSION_NOT_PRESENT: return "VK_ERROR_EXTENSION_NOT_PRESENT";
        case VK_ERROR_FEATURE_NOT_PRESENT: return "VK_ERROR_FEATURE_NOT_PRESENT";
        case VK_ERROR_INCOMPATIBLE_DRIVER: return "VK_ERROR_INCOMPATIBLE_DRIVER";
        case VK_ERROR_TOO_MANY_OBJECTS: return "VK_ERROR_TOO_MANY_OBJECTS";
        case VK_ERROR_FORMAT_NOT_SUPPORTED: return "VK_ERROR_FORMAT_NOT_SUPPORTED";
        case VK_ERROR_FRAGMENTED_POOL: return "VK_ERROR_FRAGMENTED_POOL";
        case VK_ERROR_UNKNOWN: return "VK_ERROR_UNKNOWN";
        case VK_ERROR_OUT_OF_POOL_MEMORY: return "VK_ERROR_OUT_OF_POOL_MEMORY";
        case VK_ERROR_INVALID_EXTERNAL_HANDLE: return "VK_ERROR_INVALID_EXTERNAL_HANDLE";
        case VK_ERROR_FRAGMENTATION: return "VK_ERROR_FRAGMENTATION";
        case VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS:
            return "VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS";
        case VK_ERROR_VALIDATION_FAILED_EXT: return "VK_ERROR_VALIDATION_FAILED";
        case VK_ERROR_INVALID_SHADER_NV: return "VK_ERROR_INVALID_SHADER_NV";
        case VK_ERROR_NOT_PERMITTED_KHR: return "VK_ERROR_NOT_PERMITTED";
        default: return "an unknown VkResult";
    }
}

constexpr errc code_of(vk::Result result) noexcept {
    switch (static_cast<VkResult>(result)) {
        case VK_ERROR_DEVICE_LOST: return errc::device_lost;
        case VK_ERROR_OUT_OF_HOST_MEMORY:
        case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        case VK_ERROR_OUT_OF_POOL_MEMORY: return errc::out_of_memory;
        default: return errc::vulkan_failed;
    }
}

/// The error that names the call and its result. `about` is what the call was for, e.g. a kernel.
inline error call_error(vk::Result result, std::string_view call, std::string about = {}) {
    std::string text = cat({call, " gave ", result_name(result)});
    if (code_of(result) == errc::vulkan_failed)
        append_text(text, {" (", static_cast<int>(result), ")"});
    std::vector<std::string> reasons;
    if (!about.empty()) reasons.push_back(std::move(about));
    return error(code_of(result), "vulkan", std::move(text), std::move(reasons));
}

/// Throws unless the call succeeded. Calls on a device go through device::check, which remembers a
/// loss.
inline void check(vk::Result result, std::string_view call) {
    if (result != vk::Result::eSuccess) throw call_error(result, call);
}

}}}  // namespace pumice::PUMICE_ABI::vulkan
