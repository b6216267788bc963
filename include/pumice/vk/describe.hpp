// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Turns a VkPhysicalDevice into a device_info, and says why a device cannot be used.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/core/device_info.hpp>
#include <pumice/vk/capabilities.hpp>
#include <pumice/vk/enabled.hpp>

#include <algorithm>
#include <optional>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// A device of the machine. One with refusals can be shown to people, but not opened.
struct candidate {
    vk::PhysicalDevice handle{};
    device_info info;
    std::vector<std::string> refusals;  // empty: usable
    extension_list extensions;
    array_list<std::uint32_t> capabilities;  // of SPIR-V, with what Pumice switches on
    std::uint32_t family = 0;          // of the queue: compute, without graphics where there is one
    std::uint32_t timestamp_bits = 0;  // valid bits of a timestamp of `family`
    std::optional<std::uint32_t> transfer_family;  // one that does nothing but copy
    std::uint32_t transfer_queues = 0, transfer_timestamp_bits = 0;  // of that family
};

namespace detail {

inline std::optional<dtype> dtype_of_component(VkComponentTypeKHR type) noexcept {
    switch (type) {
        case VK_COMPONENT_TYPE_FLOAT64_KHR: return dtype::f64;
        case VK_COMPONENT_TYPE_FLOAT32_KHR: return dtype::f32;
        case VK_COMPONENT_TYPE_FLOAT16_KHR: return dtype::f16;
        case VK_COMPONENT_TYPE_BFLOAT16_KHR: return dtype::bf16;
        case VK_COMPONENT_TYPE_SINT8_KHR: return dtype::i8;
        case VK_COMPONENT_TYPE_SINT16_KHR: return dtype::i16;
        case VK_COMPONENT_TYPE_SINT32_KHR: return dtype::i32;
        case VK_COMPONENT_TYPE_SINT64_KHR: return dtype::i64;
        case VK_COMPONENT_TYPE_UINT8_KHR: return dtype::u8;
        case VK_COMPONENT_TYPE_UINT16_KHR: return dtype::u16;
        case VK_COMPONENT_TYPE_UINT32_KHR: return dtype::u32;
        case VK_COMPONENT_TYPE_UINT64_KHR: return dtype::u64;
        default: return std::nullopt;
    }
}

inline std::int64_t clamp_size(std::uint64_t bytes) noexcept {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, INT64_MAX));
}

inline std::string version_text(std::uint32_t version) {
    return cat({VK_API_VERSION_MAJOR(version), ".", VK_API_VERSION_MINOR(version), ".",
                VK_API_VERSION_PATCH(version)});
}

inline extension_list device_extensions(vk::PhysicalDevice device, const dispatcher& table) {
    extension_list list;
    std::uint32_t count = 0;
    if (device.enumerateDeviceExtensionProperties(nullptr, &count, nullptr, table) !=
        vk::Result::eSuccess)
        return list;
    array_list<vk::ExtensionProperties> found(count);
    // VK_INCOMPLETE (a layer that changed its mind) still fills `count` entries.
    if (static_cast<int>(device.enumerateDeviceExtensionProperties(nullptr, &count, found.data(),
                                                                   table)) < 0)
        return list;
    for (std::uint32_t i = 0; i < count && i < found.size(); ++i)
        list.names.push_back(std::string(found[i].extensionName.data()));
    return list;
}

/// Fills the queue families; false where none computes.
inline bool choose_families(candidate& c, const dispatcher& table) {
    std::uint32_t count = 0;
    c.handle.getQueueFamilyProperties(&count, nullptr, table);
    array_list<vk::QueueFamilyProperties> families(count);
    c.handle.getQueueFamilyProperties(&count, families.data(), table);
    std::optional<std::uint32_t> chosen;
    bool with_graphics = false;
    for (std::uint32_t i = 0; i < count; ++i) {
        if (families[i].queueCount == 0) continue;
        const auto flags = static_cast<VkQueueFlags>(families[i].queueFlags);
        if (flags & VK_QUEUE_COMPUTE_BIT) {
            // Measured on NVIDIA: twice the shared memory per multiprocessor, and submits that cost
            // a seventh.
            const bool graphics = (flags & VK_QUEUE_GRAPHICS_BIT) != 0;
            if (chosen && !(with_graphics && !graphics)) continue;
            chosen = i;
            with_graphics = graphics;
        } else if ((flags & VK_QUEUE_TRANSFER_BIT) && !(flags & VK_QUEUE_GRAPHICS_BIT) &&
                   !c.transfer_family) {
            c.transfer_family = i;
            c.transfer_queues = families[i].queueCount;
            c.transfer_timestamp_bits = families[i].timestampValidBits;
        }
    }
    if (!chosen) return false;
    c.family = *chosen;
    c.timestamp_bits = families[*chosen].timestampValidBits;
    return true;
}

inline void describe_memory(candidate& c, const dispatcher& table) {
    vk::PhysicalDeviceMemoryProperties found{};
    c.handle.getMemoryProperties(&found, table);
    const auto& memory = static_cast<const VkPhysicalDeviceMemoryProperties&>(found);
    std::uint32_t largest = 0;
    bool any = false, all_local = memory.memoryHeapCount > 0;
    for (std::uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
        if (!(memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)) {
            all_local = false;
        } else if (!any || memory.memoryHeaps[i].size > memory.memoryHeaps[largest].size) {
            largest = i;
            any = true;
        }
    }
    if (any) c.info.memory = clamp_size(memory.memoryHeaps[largest].size);
    c.info.unified_memory =
        all_local || c.info.type == device_type::integrated_gpu || c.info.type == device_type::cpu;
    constexpr VkMemoryPropertyFlags mapped =
        VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i)
        if (any && memory.memoryTypes[i].heapIndex == largest &&
            (memory.memoryTypes[i].propertyFlags & mapped) == mapped)
            c.info.mapped_device_memory = true;
}

inline void describe_matrices(candidate& c, const dispatcher& table) {
    std::uint32_t count = 0;
    if (!table.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR ||
        c.handle.getCooperativeMatrixPropertiesKHR(&count, nullptr, table) != vk::Result::eSuccess)
        return;
    array_list<vk::CooperativeMatrixPropertiesKHR> found(count);
    if (static_cast<int>(c.handle.getCooperativeMatrixPropertiesKHR(&count, found.data(), table)) <
        0)
        return;
    found.resize(std::min<std::size_t>(count, found.size()));
    for (const vk::CooperativeMatrixPropertiesKHR& each : found) {
        const auto& p = static_cast<const VkCooperativeMatrixPropertiesKHR&>(each);
        const auto a = dtype_of_component(p.AType), b = dtype_of_component(p.BType);
        const auto sum = dtype_of_component(p.CType), result = dtype_of_component(p.ResultType);
        if (p.scope != VK_SCOPE_SUBGROUP_KHR || p.saturatingAccumulation || !a || !b || !sum ||
            !result)
            continue;
        if ((*a == dtype::bf16 || *result == dtype::bf16) && !c.info.bfloat16) continue;
        const matrix_shape shape{*a,
                                 *b,
                                 *sum,
                                 *result,
                                 static_cast<int>(p.MSize),
                                 static_cast<int>(p.NSize),
                                 static_cast<int>(p.KSize)};
        auto& shapes = c.info.matrix_shapes;
        if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(shape);
    }
    c.info.cooperative_matrix = !c.info.matrix_shapes.empty();
}

/// Whether the family that computes runs data graphs of TOSA's operators without an engine chosen.
inline bool runs_graphs(const candidate& c, const dispatcher& table) {
#ifdef VK_ARM_data_graph
    if (!table.vkGetPhysicalDeviceQueueFamilyDataGraphPropertiesARM) return false;
    std::uint32_t count = 0;
    const auto ask = [&](vk::QueueFamilyDataGraphPropertiesARM* to) {
        return static_cast<int>(c.handle.getQueueFamilyDataGraphPropertiesARM(c.family, &count, to,
                                                                              table)) >= 0;
    };
    if (!ask(nullptr)) return false;
    array_list<vk::QueueFamilyDataGraphPropertiesARM> list(count);
    if (count == 0 || !ask(list.data())) return false;
    using engine = vk::PhysicalDeviceDataGraphProcessingEngineTypeARM;
    using operation = vk::PhysicalDeviceDataGraphOperationTypeARM;
    for (const vk::QueueFamilyDataGraphPropertiesARM& p : list)
        if (p.engine.type == engine::eDefault &&
            p.operation.operationType == operation::eSpirvExtendedInstructionSet &&
            std::string_view(p.operation.name.data(),
                             ::strnlen(p.operation.name.data(), p.operation.name.size()))
                .starts_with("TOSA.001000"))
            return true;
#else
    static_cast<void>(c), static_cast<void>(table);
#endif
    return false;
}
inline void describe_tensors(candidate& c, const features& on, const dispatcher& table) {
#ifdef VK_ARM_data_graph
    if (!on.tensors.tensors) return;
    vk::PhysicalDeviceTensorPropertiesARM found{};
    vk::PhysicalDeviceProperties2 properties{};
    properties.pNext = &found;
    c.handle.getProperties2(&properties, table);
    device_info& info = c.info;
    info.tensors = on.tensors.shaderTensorAccess &&
                   bool(found.shaderTensorSupportedStages & vk::ShaderStageFlagBits::eCompute);
    info.max_tensor_rank = found.maxTensorDimensionCount;
    info.max_tensor_extent = clamp_size(found.maxPerDimensionTensorElements);
    info.max_tensor_elements = clamp_size(found.maxTensorElements);
    info.max_tensor_bytes = clamp_size(found.maxTensorSize);
    info.max_tensors = std::min(found.maxDescriptorSetStorageTensors,
                                found.maxPerStageDescriptorSetStorageTensors);
    info.data_graphs = on.graphs.dataGraph && on.graphs.dataGraphShaderModule &&
                       on.composites.shaderReplicatedComposites && runs_graphs(c, table);
#else
    static_cast<void>(c), static_cast<void>(on), static_cast<void>(table);
#endif
}

inline void describe_features(candidate& c, const features& on, const dispatcher& table) {
    device_info& info = c.info;
    info.int8_arithmetic = on.v12.shaderInt8;
    info.int16_arithmetic = on.core.features.shaderInt16;
    info.int64_arithmetic = on.core.features.shaderInt64;
    info.float16_arithmetic = on.v12.shaderFloat16;
    info.float64_arithmetic = on.core.features.shaderFloat64;
    info.storage8 = on.v12.storageBuffer8BitAccess;
    info.storage16 = on.v11.storageBuffer16BitAccess;
    info.memory_model = on.v12.vulkanMemoryModel;
    info.bfloat16 = on.bfloat16.shaderBFloat16Type && on.bfloat16.shaderBFloat16CooperativeMatrix;
    info.subgroup_size_control = on.v13.subgroupSizeControl && on.v13.computeFullSubgroups;
    if (on.cooperative.cooperativeMatrix && info.memory_model) describe_matrices(c, table);
    describe_tensors(c, on, table);
    if (!on.v12.bufferDeviceAddress) c.refusals.push_back("it lacks bufferDeviceAddress");
    if (!on.v12.timelineSemaphore) c.refusals.push_back("it lacks timelineSemaphore");
    if (!on.v12.scalarBlockLayout) c.refusals.push_back("it lacks scalarBlockLayout");
    if (!on.v13.synchronization2) c.refusals.push_back("it lacks synchronization2");
}

inline void describe_properties(candidate& c, const vk::PhysicalDeviceProperties& p) {
    device_info& info = c.info;
    info.name = p.deviceName.data();
    switch (static_cast<VkPhysicalDeviceType>(p.deviceType)) {
        case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: info.type = device_type::discrete_gpu; break;
        case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: info.type = device_type::integrated_gpu; break;
        case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: info.type = device_type::virtual_gpu; break;
        case VK_PHYSICAL_DEVICE_TYPE_CPU: info.type = device_type::cpu; break;
        default: info.type = device_type::other;
    }
    info.api_version = p.apiVersion;
    info.vendor_id = p.vendorID;
    info.device_id = p.deviceID;
    info.driver_version = p.driverVersion;
    info.max_workgroup_invocations = p.limits.maxComputeWorkGroupInvocations;
    for (std::size_t i = 0; i < 3; ++i) {
        info.max_workgroup_size[i] = p.limits.maxComputeWorkGroupSize[i];
        info.max_workgroup_count[i] = p.limits.maxComputeWorkGroupCount[i];
    }
    info.shared_memory = p.limits.maxComputeSharedMemorySize;
    info.max_push_constants = p.limits.maxPushConstantsSize;
    info.storage_alignment = static_cast<std::int64_t>(p.limits.minStorageBufferOffsetAlignment);
    info.max_storage_range = p.limits.maxStorageBufferRange;
    info.uniform_alignment = static_cast<std::int64_t>(p.limits.minUniformBufferOffsetAlignment);
    info.max_uniform_range = p.limits.maxUniformBufferRange;
    info.texel_alignment = static_cast<std::int64_t>(p.limits.minTexelBufferOffsetAlignment);
    info.max_image_extent = p.limits.maxImageDimension2D;
    info.max_texels = p.limits.maxTexelBufferElements;
    info.timestamp_period = c.timestamp_bits > 0 ? p.limits.timestampPeriod : 0;
}

}  // namespace detail

/// Reads everything that Pumice wants to know. Never throws for an odd device: it is refused
/// instead. Of a device that is made already only what `made` switched on counts.
inline candidate describe(vk::PhysicalDevice device, const dispatcher& table,
                          const VkDeviceCreateInfo* made = nullptr) {
    candidate c;
    c.handle = device;
    const bool computes = detail::choose_families(c, table);
    vk::PhysicalDeviceProperties basic{};
    device.getProperties(&basic, table);
    detail::describe_properties(c, basic);
    detail::describe_memory(c, table);
    if (!computes) c.refusals.push_back("no queue family of it computes");
    if (basic.apiVersion < VK_API_VERSION_1_3) {
        c.refusals.push_back("it speaks Vulkan " + detail::version_text(basic.apiVersion) +
                             "; Pumice needs 1.3");
        return c;
    }
    c.extensions = made ? enabled_extensions(*made) : detail::device_extensions(device, table);
    c.info.push_descriptors = c.extensions.has(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);

    vk::PhysicalDeviceProperties2 properties{};
    vk::PhysicalDeviceVulkan11Properties p11{};
    vk::PhysicalDeviceVulkan12Properties p12{};
    vk::PhysicalDeviceVulkan13Properties p13{};
    properties.pNext = &p11;
    p11.pNext = &p12;
    p12.pNext = &p13;
    device.getProperties2(&properties, table);
    std::copy_n(&p11.deviceUUID[0], c.info.device_uuid.size(), c.info.device_uuid.begin());
    std::copy_n(&p11.driverUUID[0], c.info.driver_uuid.size(), c.info.driver_uuid.begin());
    c.info.driver = cat({p12.driverName.data(), " ", p12.driverInfo.data()});
    c.info.preserves_nan32 = p12.shaderSignedZeroInfNanPreserveFloat32;
    c.info.preserves_nan64 = p12.shaderSignedZeroInfNanPreserveFloat64;
    // Some devices do the same for f16 and f64 alike, or for all three widths.
    using alone = vk::ShaderFloatControlsIndependence;
    const bool both = p12.denormBehaviorIndependence == alone::e32BitOnly;
    c.info.preserves_denorm16 =
        p12.shaderDenormPreserveFloat16 && (p12.denormBehaviorIndependence == alone::eAll ||
                                            (both && p12.shaderDenormPreserveFloat64));
    c.info.preserves_denorm64 = c.info.preserves_denorm16 && p12.shaderDenormPreserveFloat64;
    c.info.subgroup_size = static_cast<int>(p11.subgroupSize);
    c.info.min_subgroup_size = static_cast<int>(p13.minSubgroupSize);
    c.info.max_subgroup_size = static_cast<int>(p13.maxSubgroupSize);
    c.info.subgroup_shuffle =
        (p11.subgroupSupportedStages & vk::ShaderStageFlagBits::eCompute) &&
        (p11.subgroupSupportedOperations & vk::SubgroupFeatureFlagBits::eShuffle);
    c.info.max_allocation = detail::clamp_size(p11.maxMemoryAllocationSize);
    c.info.max_buffer = detail::clamp_size(p13.maxBufferSize);

    features offered;
    if (made) offered = enabled_features(*made);
    else device.getFeatures2(offered.link(c.extensions), table);
    const features on = wanted_features(offered, false);
    detail::describe_features(c, on, table);
    c.capabilities = capabilities_of(on, p11, p12);
    return c;
}

}}}  // namespace pumice::PUMICE_ABI::vulkan
