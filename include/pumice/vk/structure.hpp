// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Vulkan's structures, which say themselves what they are. Vulkan's C API and this table cost the
// compiler 0.1 s, Vulkan-Hpp without all that can be left out of it 1.3 s.
#pragma once

#include <pumice/base/config.hpp>

#include <vulkan/vulkan_core.h>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

namespace detail {

// clang-format off
template <class T>
inline constexpr VkStructureType structure_type = VK_STRUCTURE_TYPE_MAX_ENUM;
template <> inline constexpr auto structure_type<VkApplicationInfo> =
    VK_STRUCTURE_TYPE_APPLICATION_INFO;
template <> inline constexpr auto structure_type<VkBindBufferMemoryInfo> =
    VK_STRUCTURE_TYPE_BIND_BUFFER_MEMORY_INFO;
template <> inline constexpr auto structure_type<VkBufferCreateInfo> =
    VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
template <> inline constexpr auto structure_type<VkBufferDeviceAddressInfo> =
    VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
template <> inline constexpr auto structure_type<VkBufferMemoryBarrier2> =
    VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2;
template <> inline constexpr auto structure_type<VkBufferViewCreateInfo> =
    VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO;
template <> inline constexpr auto structure_type<VkCommandBufferAllocateInfo> =
    VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
template <> inline constexpr auto structure_type<VkCommandBufferBeginInfo> =
    VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
template <> inline constexpr auto structure_type<VkCommandBufferSubmitInfo> =
    VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO;
template <> inline constexpr auto structure_type<VkCommandPoolCreateInfo> =
    VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
template <> inline constexpr auto structure_type<VkComputePipelineCreateInfo> =
    VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
template <> inline constexpr auto structure_type<VkCooperativeMatrixPropertiesKHR> =
    VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
template <> inline constexpr auto structure_type<VkDebugUtilsLabelEXT> =
    VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT;
template <> inline constexpr auto structure_type<VkDependencyInfo> =
    VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
template <> inline constexpr auto structure_type<VkDescriptorSetLayoutCreateInfo> =
    VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
template <> inline constexpr auto structure_type<VkDeviceCreateInfo> =
    VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
template <> inline constexpr auto structure_type<VkDeviceQueueCreateInfo> =
    VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
template <> inline constexpr auto structure_type<VkExportMemoryAllocateInfo> =
    VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO;
template <> inline constexpr auto structure_type<VkExternalMemoryBufferCreateInfo> =
    VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
template <> inline constexpr auto structure_type<VkImageCreateInfo> =
    VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
template <> inline constexpr auto structure_type<VkImageMemoryBarrier2> =
    VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2;
template <> inline constexpr auto structure_type<VkImageViewCreateInfo> =
    VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO;
template <> inline constexpr auto structure_type<VkImportMemoryFdInfoKHR> =
    VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR;
template <> inline constexpr auto structure_type<VkImportMemoryHostPointerInfoEXT> =
    VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
template <> inline constexpr auto structure_type<VkInstanceCreateInfo> =
    VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
template <> inline constexpr auto structure_type<VkMappedMemoryRange> =
    VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE;
template <> inline constexpr auto structure_type<VkMemoryAllocateFlagsInfo> =
    VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
template <> inline constexpr auto structure_type<VkMemoryAllocateInfo> =
    VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
template <> inline constexpr auto structure_type<VkMemoryBarrier2> =
    VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
template <> inline constexpr auto structure_type<VkMemoryDedicatedAllocateInfo> =
    VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO;
template <> inline constexpr auto structure_type<VkMemoryHostPointerPropertiesEXT> =
    VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT;
template <> inline constexpr auto structure_type<VkPhysicalDeviceCooperativeMatrixFeaturesKHR> =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
template <> inline constexpr auto structure_type<VkPhysicalDeviceExternalMemoryHostPropertiesEXT> =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT;
template <> inline constexpr auto structure_type<VkPhysicalDeviceFeatures2> =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
template <> inline constexpr auto structure_type<VkPhysicalDeviceMemoryBudgetPropertiesEXT> =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
template <> inline constexpr auto structure_type<VkPhysicalDeviceMemoryProperties2> =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
template <> inline constexpr auto structure_type<VkPhysicalDeviceProperties2> =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
template <> inline constexpr auto structure_type<VkPhysicalDeviceShaderBfloat16FeaturesKHR> =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR;
template <> inline constexpr auto structure_type<VkPhysicalDeviceVulkan11Features> =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
template <> inline constexpr auto structure_type<VkPhysicalDeviceVulkan11Properties> =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
template <> inline constexpr auto structure_type<VkPhysicalDeviceVulkan12Features> =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
template <> inline constexpr auto structure_type<VkPhysicalDeviceVulkan12Properties> =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
template <> inline constexpr auto structure_type<VkPhysicalDeviceVulkan13Features> =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
template <> inline constexpr auto structure_type<VkPhysicalDeviceVulkan13Properties> =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES;
template <> inline constexpr auto structure_type<VkPipelineCacheCreateInfo> =
    VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
template <> inline constexpr auto structure_type<VkPipelineCreationFeedbackCreateInfo> =
    VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO;
template <> inline constexpr auto structure_type<VkPipelineLayoutCreateInfo> =
    VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
template <> inline constexpr auto structure_type<VkPipelineShaderStageCreateInfo> =
    VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
template <> inline constexpr auto structure_type<VkPipelineShaderStageRequiredSubgroupSizeCreateInfo> =
    VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
template <> inline constexpr auto structure_type<VkQueryPoolCreateInfo> =
    VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
template <> inline constexpr auto structure_type<VkSemaphoreCreateInfo> =
    VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
template <> inline constexpr auto structure_type<VkSemaphoreSignalInfo> =
    VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
template <> inline constexpr auto structure_type<VkSemaphoreSubmitInfo> =
    VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO;
template <> inline constexpr auto structure_type<VkSemaphoreTypeCreateInfo> =
    VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
template <> inline constexpr auto structure_type<VkSemaphoreWaitInfo> =
    VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
template <> inline constexpr auto structure_type<VkShaderModuleCreateInfo> =
    VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
template <> inline constexpr auto structure_type<VkSubmitInfo2> = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
template <> inline constexpr auto structure_type<VkWriteDescriptorSet> =
    VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
#ifdef VK_ARM_data_graph
template <> inline constexpr auto structure_type<VkPhysicalDeviceTensorFeaturesARM> =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TENSOR_FEATURES_ARM;
template <> inline constexpr auto structure_type<VkPhysicalDeviceDataGraphFeaturesARM> =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DATA_GRAPH_FEATURES_ARM;
template <> inline constexpr auto structure_type<VkPhysicalDeviceShaderReplicatedCompositesFeaturesEXT> =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_REPLICATED_COMPOSITES_FEATURES_EXT;
#endif
// clang-format on

}  // namespace detail

/// A structure whose members are 0 but for its sType.
template <class T>
struct structure : T {
    static_assert(detail::structure_type<T> != VK_STRUCTURE_TYPE_MAX_ENUM, "it is in no row above");
    structure() noexcept : T{} { this->sType = detail::structure_type<T>; }
};

}}}  // namespace pumice::PUMICE_ABI::vulkan
