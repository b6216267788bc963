// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a device that somebody else made has switched on, from what vkCreateDevice was given.
#pragma once

#include <pumice/vk/features.hpp>

#include <cstring>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

inline extension_list enabled_extensions(const VkDeviceCreateInfo& made) {
    extension_list list;
    for (std::uint32_t i = 0; i < made.enabledExtensionCount; ++i)
        list.names.push_back(std::string(made.ppEnabledExtensionNames[i]));
    return list;
}

/// Reads the structures of whole versions and those of the single features that Pumice asks for.
inline features enabled_features(const VkDeviceCreateInfo& made) {
    features on;
    const auto copy = [](auto& to, const void* from) {
        std::memcpy(static_cast<void*>(&to), from, sizeof to);
        to.pNext = nullptr;
    };
    if (made.pEnabledFeatures)
        std::memcpy(static_cast<void*>(&on.core.features), made.pEnabledFeatures,
                    sizeof on.core.features);
    for (auto* each = static_cast<const VkBaseInStructure*>(made.pNext); each; each = each->pNext) {
        switch (each->sType) {
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2: copy(on.core, each); break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES: copy(on.v11, each); break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES: copy(on.v12, each); break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES: copy(on.v13, each); break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR:
                copy(on.cooperative, each);
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR:
                copy(on.bfloat16, each);
                break;
#ifdef VK_ARM_data_graph
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TENSOR_FEATURES_ARM:
                copy(on.tensors, each);
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DATA_GRAPH_FEATURES_ARM:
                copy(on.graphs, each);
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_REPLICATED_COMPOSITES_FEATURES_EXT:
                copy(on.composites, each);
                break;
#endif
            default: break;
        }
        // What also has a structure of its own.
        const auto single = [each]<class T>(VkStructureType type, VkBool32 T::* member,
                                            vk::Bool32& to) {
            if (each->sType == type) to |= reinterpret_cast<const T*>(each)->*member;
        };
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES,
               &VkPhysicalDeviceBufferDeviceAddressFeatures::bufferDeviceAddress,
               on.v12.bufferDeviceAddress);
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
               &VkPhysicalDeviceTimelineSemaphoreFeatures::timelineSemaphore,
               on.v12.timelineSemaphore);
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SCALAR_BLOCK_LAYOUT_FEATURES,
               &VkPhysicalDeviceScalarBlockLayoutFeatures::scalarBlockLayout,
               on.v12.scalarBlockLayout);
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES,
               &VkPhysicalDeviceSynchronization2Features::synchronization2,
               on.v13.synchronization2);
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
               &VkPhysicalDevice16BitStorageFeatures::storageBuffer16BitAccess,
               on.v11.storageBuffer16BitAccess);
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
               &VkPhysicalDevice16BitStorageFeatures::uniformAndStorageBuffer16BitAccess,
               on.v11.uniformAndStorageBuffer16BitAccess);
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES,
               &VkPhysicalDevice8BitStorageFeatures::storageBuffer8BitAccess,
               on.v12.storageBuffer8BitAccess);
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES,
               &VkPhysicalDevice8BitStorageFeatures::uniformAndStorageBuffer8BitAccess,
               on.v12.uniformAndStorageBuffer8BitAccess);
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
               &VkPhysicalDeviceShaderFloat16Int8Features::shaderFloat16, on.v12.shaderFloat16);
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
               &VkPhysicalDeviceShaderFloat16Int8Features::shaderInt8, on.v12.shaderInt8);
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES,
               &VkPhysicalDeviceShaderAtomicInt64Features::shaderBufferInt64Atomics,
               on.v12.shaderBufferInt64Atomics);
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES,
               &VkPhysicalDeviceShaderAtomicInt64Features::shaderSharedInt64Atomics,
               on.v12.shaderSharedInt64Atomics);
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES,
               &VkPhysicalDeviceShaderIntegerDotProductFeatures::shaderIntegerDotProduct,
               on.v13.shaderIntegerDotProduct);
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES,
               &VkPhysicalDeviceVulkanMemoryModelFeatures::vulkanMemoryModel,
               on.v12.vulkanMemoryModel);
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES,
               &VkPhysicalDeviceVulkanMemoryModelFeatures::vulkanMemoryModelDeviceScope,
               on.v12.vulkanMemoryModelDeviceScope);
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES,
               &VkPhysicalDeviceSubgroupSizeControlFeatures::subgroupSizeControl,
               on.v13.subgroupSizeControl);
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES,
               &VkPhysicalDeviceSubgroupSizeControlFeatures::computeFullSubgroups,
               on.v13.computeFullSubgroups);
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VARIABLE_POINTERS_FEATURES,
               &VkPhysicalDeviceVariablePointersFeatures::variablePointers,
               on.v11.variablePointers);
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VARIABLE_POINTERS_FEATURES,
               &VkPhysicalDeviceVariablePointersFeatures::variablePointersStorageBuffer,
               on.v11.variablePointersStorageBuffer);
        single(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES,
               &VkPhysicalDeviceMaintenance4Features::maintenance4, on.v13.maintenance4);
    }
    return on;
}

}}}  // namespace pumice::PUMICE_ABI::vulkan
