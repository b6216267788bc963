// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The feature structures that Pumice reads from a device, and the part of them that it switches on.
#pragma once

#include <pumice/vk/result.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// Names of a device's extensions, sorted by nothing; devices have a few hundred at most.
struct extension_list {
    std::vector<std::string> names;

    bool has(std::string_view name) const noexcept {
        for (const std::string& each : names)
            if (each == name) return true;
        return false;
    }
};

/// Extensions that are switched on wherever they are offered.
inline constexpr const char* wanted_extensions[] = {
    VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME,
    VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME,
    VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME,
#ifdef VK_ARM_data_graph
    VK_ARM_TENSORS_EXTENSION_NAME,
    VK_ARM_DATA_GRAPH_EXTENSION_NAME,
#endif
    VK_EXT_MEMORY_BUDGET_EXTENSION_NAME,
    VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME,
    VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
    VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME,
    VK_KHR_CALIBRATED_TIMESTAMPS_EXTENSION_NAME,
    VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME,  // the same under its older name
    // must be enabled where offered (a beta header declares the macro)
    "VK_KHR_portability_subset",
};

/// Those that VK_ARM_data_graph stands on, and one that Arm's converter writes modules for:
/// switched on for data graphs alone.
inline constexpr const char* data_graph_extensions[] = {
    VK_KHR_MAINTENANCE_5_EXTENSION_NAME, VK_KHR_DEFERRED_HOST_OPERATIONS_EXTENSION_NAME,
    "VK_EXT_shader_replicated_composites"};

/// A chain for vkGetPhysicalDeviceFeatures2 and vkCreateDevice. `link` before use; a copy is
/// unlinked.
struct features {
    vk::PhysicalDeviceFeatures2 core{};
    vk::PhysicalDeviceVulkan11Features v11{};
    vk::PhysicalDeviceVulkan12Features v12{};
    vk::PhysicalDeviceVulkan13Features v13{};
    vk::PhysicalDeviceCooperativeMatrixFeaturesKHR cooperative{};
    vk::PhysicalDeviceShaderBfloat16FeaturesKHR bfloat16{};
#ifdef VK_ARM_data_graph
    vk::PhysicalDeviceTensorFeaturesARM tensors{};
    vk::PhysicalDeviceDataGraphFeaturesARM graphs{};
    vk::PhysicalDeviceShaderReplicatedCompositesFeaturesEXT composites{};
#endif

    /// Chains what a Vulkan 1.3 device with these extensions knows; returns the head.
    vk::PhysicalDeviceFeatures2* link(const extension_list& extensions) noexcept {
        core.pNext = &v11;
        v11.pNext = &v12;
        v12.pNext = &v13;
        v13.pNext = nullptr;
        void** tail = &v13.pNext;
        if (extensions.has(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME)) {
            *tail = &cooperative;
            tail = &cooperative.pNext;
        }
        if (extensions.has(VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME)) {
            *tail = &bfloat16;
            tail = &bfloat16.pNext;
        }
#ifdef VK_ARM_data_graph
        if (extensions.has(VK_ARM_TENSORS_EXTENSION_NAME)) {
            *tail = &tensors;
            tail = &tensors.pNext;
        }
        if (extensions.has(VK_ARM_DATA_GRAPH_EXTENSION_NAME)) {
            *tail = &graphs;
            tail = &graphs.pNext;
        }
        if (extensions.has(VK_EXT_SHADER_REPLICATED_COMPOSITES_EXTENSION_NAME)) {
            *tail = &composites;
            tail = &composites.pNext;
        }
#endif
        *tail = nullptr;
        return &core;
    }
};

/// What `offered` holds of the things that Pumice can use. robustBufferAccess costs speed: on
/// request only, and it guards descriptors, not the device addresses that kernels use.
inline features wanted_features(const features& offered, bool robust) noexcept {
    features on;
    const vk::PhysicalDeviceFeatures& core = offered.core.features;
    on.core.features.shaderInt16 = core.shaderInt16;
    on.core.features.shaderInt64 = core.shaderInt64;
    on.core.features.shaderFloat64 = core.shaderFloat64;
    on.core.features.robustBufferAccess = robust ? core.robustBufferAccess : VK_FALSE;
    on.v11.storageBuffer16BitAccess = offered.v11.storageBuffer16BitAccess;
    on.v11.uniformAndStorageBuffer16BitAccess = offered.v11.uniformAndStorageBuffer16BitAccess;
    on.v11.variablePointers =
        offered.v11.variablePointers;  // Slang asks for both with some pointers
    on.v11.variablePointersStorageBuffer = offered.v11.variablePointersStorageBuffer;
    on.v12.storageBuffer8BitAccess = offered.v12.storageBuffer8BitAccess;
    on.v12.uniformAndStorageBuffer8BitAccess = offered.v12.uniformAndStorageBuffer8BitAccess;
    on.v12.shaderInt8 = offered.v12.shaderInt8;
    on.v12.shaderFloat16 = offered.v12.shaderFloat16;
    on.v12.shaderBufferInt64Atomics = offered.v12.shaderBufferInt64Atomics;
    on.v12.shaderSharedInt64Atomics = offered.v12.shaderSharedInt64Atomics;
    on.v12.shaderSubgroupExtendedTypes = offered.v12.shaderSubgroupExtendedTypes;
    on.v12.vulkanMemoryModel = offered.v12.vulkanMemoryModel;
    on.v12.vulkanMemoryModelDeviceScope = offered.v12.vulkanMemoryModelDeviceScope;
    on.v12.bufferDeviceAddress = offered.v12.bufferDeviceAddress;
    on.v12.timelineSemaphore = offered.v12.timelineSemaphore;
    on.v12.scalarBlockLayout = offered.v12.scalarBlockLayout;
    on.v12.hostQueryReset = offered.v12.hostQueryReset;
    on.v13.synchronization2 = offered.v13.synchronization2;
    on.v13.subgroupSizeControl = offered.v13.subgroupSizeControl;
    on.v13.computeFullSubgroups = offered.v13.computeFullSubgroups;
    on.v13.maintenance4 = offered.v13.maintenance4;
    on.v13.shaderIntegerDotProduct = offered.v13.shaderIntegerDotProduct;
    on.v13.shaderZeroInitializeWorkgroupMemory = offered.v13.shaderZeroInitializeWorkgroupMemory;
    on.v13.pipelineCreationCacheControl = offered.v13.pipelineCreationCacheControl;
    on.cooperative.cooperativeMatrix = offered.cooperative.cooperativeMatrix;
    on.bfloat16.shaderBFloat16Type = offered.bfloat16.shaderBFloat16Type;
    on.bfloat16.shaderBFloat16DotProduct = offered.bfloat16.shaderBFloat16DotProduct;
    on.bfloat16.shaderBFloat16CooperativeMatrix = offered.bfloat16.shaderBFloat16CooperativeMatrix;
#ifdef VK_ARM_data_graph
    on.tensors.shaderTensorAccess = offered.tensors.shaderTensorAccess;
    on.tensors.tensors = offered.tensors.tensors;
    on.graphs.dataGraph = offered.graphs.dataGraph;
    on.graphs.dataGraphShaderModule = offered.graphs.dataGraphShaderModule;
    on.composites.shaderReplicatedComposites = offered.composites.shaderReplicatedComposites;
#endif
    return on;
}

}}}  // namespace pumice::PUMICE_ABI::vulkan
