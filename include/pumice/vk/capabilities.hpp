// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// SPIR-V's capabilities, and what of a device each of them needs.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/vk/features.hpp>

#include <spirv/unified1/spirv.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

namespace detail {

// Newer than the SPIRV-Headers of stable distributions.
inline constexpr auto capability_cooperative_matrix = static_cast<spv::Capability>(6022),
                      capability_bfloat16 = static_cast<spv::Capability>(5116),
                      capability_bfloat16_dot = static_cast<spv::Capability>(5117),
                      capability_bfloat16_matrix = static_cast<spv::Capability>(5118),
                      capability_tensors = static_cast<spv::Capability>(4174);

/// A capability and where it is found: at a byte of `features` or of the properties, as a bit of
/// the subgroup operations, everywhere or nowhere.
struct capability_row {
    enum class source : std::uint8_t { always, never, feature, property, subgroup };
    spv::Capability what;
    const char* name;
    source from = source::never;
    std::uint32_t at = 0;
    const char* needs = "";
};

// clang-format off
#define PUMICE_ROW(name, ...) {spv::Capability##name, #name, capability_row::source::__VA_ARGS__}
#define PUMICE_FEATURE(part, type, member) \
    feature, offsetof(features, part) + offsetof(vk::type, member), #member
#define PUMICE_CORE(member) \
    feature, offsetof(features, core) + offsetof(vk::PhysicalDeviceFeatures2, features) + \
        offsetof(vk::PhysicalDeviceFeatures, member), #member
#define PUMICE_11(member) PUMICE_FEATURE(v11, PhysicalDeviceVulkan11Features, member)
#define PUMICE_12(member) PUMICE_FEATURE(v12, PhysicalDeviceVulkan12Features, member)
#define PUMICE_13(member) PUMICE_FEATURE(v13, PhysicalDeviceVulkan13Features, member)
#define PUMICE_PROPERTY(member) \
    property, offsetof(vk::PhysicalDeviceVulkan12Properties, member##Float16), #member
#define PUMICE_SUBGROUP(bit) \
    subgroup, VK_SUBGROUP_FEATURE_##bit##_BIT, "VK_SUBGROUP_FEATURE_" #bit "_BIT"
#define PUMICE_BFLOAT16(member) \
    PUMICE_FEATURE(bfloat16, PhysicalDeviceShaderBfloat16FeaturesKHR, member)

inline constexpr capability_row capability_rows[] = {
    PUMICE_ROW(Matrix, always),
    PUMICE_ROW(Shader, always),
    PUMICE_ROW(PhysicalStorageBufferAddresses, always),
    PUMICE_ROW(ImageBuffer, always),
    PUMICE_ROW(SampledBuffer, always),
    PUMICE_ROW(StorageImageExtendedFormats, always),
    PUMICE_ROW(Int8, PUMICE_12(shaderInt8)),
    PUMICE_ROW(Int16, PUMICE_CORE(shaderInt16)),
    PUMICE_ROW(Int64, PUMICE_CORE(shaderInt64)),
    PUMICE_ROW(Float16, PUMICE_12(shaderFloat16)),
    PUMICE_ROW(Float64, PUMICE_CORE(shaderFloat64)),
    PUMICE_ROW(Int64Atomics, PUMICE_12(shaderBufferInt64Atomics)),
    PUMICE_ROW(StorageBuffer8BitAccess, PUMICE_12(storageBuffer8BitAccess)),
    PUMICE_ROW(UniformAndStorageBuffer8BitAccess, PUMICE_12(uniformAndStorageBuffer8BitAccess)),
    PUMICE_ROW(StorageBuffer16BitAccess, PUMICE_11(storageBuffer16BitAccess)),
    PUMICE_ROW(UniformAndStorageBuffer16BitAccess, PUMICE_11(uniformAndStorageBuffer16BitAccess)),
    PUMICE_ROW(VariablePointers, PUMICE_11(variablePointers)),
    PUMICE_ROW(VariablePointersStorageBuffer, PUMICE_11(variablePointersStorageBuffer)),
    PUMICE_ROW(VulkanMemoryModel, PUMICE_12(vulkanMemoryModel)),
    PUMICE_ROW(VulkanMemoryModelDeviceScope, PUMICE_12(vulkanMemoryModelDeviceScope)),
    PUMICE_ROW(DotProduct, PUMICE_13(shaderIntegerDotProduct)),
    PUMICE_ROW(DotProductInputAll, PUMICE_13(shaderIntegerDotProduct)),
    PUMICE_ROW(DotProductInput4x8Bit, PUMICE_13(shaderIntegerDotProduct)),
    PUMICE_ROW(DotProductInput4x8BitPacked, PUMICE_13(shaderIntegerDotProduct)),
    PUMICE_ROW(SignedZeroInfNanPreserve, PUMICE_PROPERTY(shaderSignedZeroInfNanPreserve)),
    PUMICE_ROW(DenormPreserve, PUMICE_PROPERTY(shaderDenormPreserve)),
    PUMICE_ROW(DenormFlushToZero, PUMICE_PROPERTY(shaderDenormFlushToZero)),
    PUMICE_ROW(RoundingModeRTE, PUMICE_PROPERTY(shaderRoundingModeRTE)),
    PUMICE_ROW(RoundingModeRTZ, PUMICE_PROPERTY(shaderRoundingModeRTZ)),
    PUMICE_ROW(GroupNonUniform, PUMICE_SUBGROUP(BASIC)),
    PUMICE_ROW(GroupNonUniformVote, PUMICE_SUBGROUP(VOTE)),
    PUMICE_ROW(GroupNonUniformArithmetic, PUMICE_SUBGROUP(ARITHMETIC)),
    PUMICE_ROW(GroupNonUniformBallot, PUMICE_SUBGROUP(BALLOT)),
    PUMICE_ROW(GroupNonUniformShuffle, PUMICE_SUBGROUP(SHUFFLE)),
    PUMICE_ROW(GroupNonUniformShuffleRelative, PUMICE_SUBGROUP(SHUFFLE_RELATIVE)),
    PUMICE_ROW(GroupNonUniformClustered, PUMICE_SUBGROUP(CLUSTERED)),
    PUMICE_ROW(GroupNonUniformQuad, PUMICE_SUBGROUP(QUAD)),
    {capability_cooperative_matrix, "CooperativeMatrixKHR", capability_row::source::
        PUMICE_FEATURE(cooperative, PhysicalDeviceCooperativeMatrixFeaturesKHR, cooperativeMatrix)},
    {capability_bfloat16, "BFloat16TypeKHR", capability_row::source::
        PUMICE_BFLOAT16(shaderBFloat16Type)},
    {capability_bfloat16_dot, "BFloat16DotProductKHR", capability_row::source::
        PUMICE_BFLOAT16(shaderBFloat16DotProduct)},
    {capability_bfloat16_matrix, "BFloat16CooperativeMatrixKHR", capability_row::source::
        PUMICE_BFLOAT16(shaderBFloat16CooperativeMatrix)},
#ifdef VK_ARM_data_graph
    {capability_tensors, "TensorsARM", capability_row::source::feature,
     offsetof(features, tensors) + offsetof(vk::PhysicalDeviceTensorFeaturesARM, shaderTensorAccess),
     "shaderTensorAccess"},
#endif
    // Pumice switches none of these on. They are here for their names.
    PUMICE_ROW(Geometry, never),
    PUMICE_ROW(Tessellation, never),
    PUMICE_ROW(Addresses, never),
    PUMICE_ROW(Linkage, never),
    PUMICE_ROW(Kernel, never),
    PUMICE_ROW(AtomicStorage, never),
    PUMICE_ROW(Image1D, never),
    PUMICE_ROW(Sampled1D, never),
    PUMICE_ROW(ImageQuery, never),
    PUMICE_ROW(DerivativeControl, never),
    PUMICE_ROW(StorageImageReadWithoutFormat, never),
    PUMICE_ROW(StorageImageWriteWithoutFormat, never),
    PUMICE_ROW(StoragePushConstant8, never),
    PUMICE_ROW(StoragePushConstant16, never),
    PUMICE_ROW(StorageInputOutput16, never),
    PUMICE_ROW(ShaderNonUniform, never),
    PUMICE_ROW(RuntimeDescriptorArray, never),
    PUMICE_ROW(ShaderClockKHR, never),
    PUMICE_ROW(RayQueryKHR, never),
    PUMICE_ROW(AtomicFloat16AddEXT, never),
    PUMICE_ROW(AtomicFloat32AddEXT, never),
    PUMICE_ROW(AtomicFloat64AddEXT, never),
    PUMICE_ROW(AtomicFloat32MinMaxEXT, never),
};

#undef PUMICE_ROW
#undef PUMICE_FEATURE
#undef PUMICE_CORE
#undef PUMICE_11
#undef PUMICE_12
#undef PUMICE_13
#undef PUMICE_PROPERTY
#undef PUMICE_SUBGROUP
#undef PUMICE_BFLOAT16
// clang-format on

}  // namespace detail

/// The capabilities of kernels on a device on which `on` is switched on.
inline array_list<std::uint32_t> capabilities_of(const features& on,
                                                 const vk::PhysicalDeviceVulkan11Properties& p11,
                                                 const vk::PhysicalDeviceVulkan12Properties& p12) {
    using source = detail::capability_row::source;
    const auto flag = [](const void* of, std::uint32_t at) {
        VkBool32 value = VK_FALSE;
        std::memcpy(&value, static_cast<const char*>(of) + at, sizeof value);
        return value != VK_FALSE;
    };
    const auto subgroups =
        static_cast<VkShaderStageFlags>(p11.subgroupSupportedStages) & VK_SHADER_STAGE_COMPUTE_BIT
            ? static_cast<VkSubgroupFeatureFlags>(p11.subgroupSupportedOperations)
            : VkSubgroupFeatureFlags{0};
    array_list<std::uint32_t> list;
    for (const detail::capability_row& row : detail::capability_rows) {
        const bool met =
            row.from == source::always || (row.from == source::feature && flag(&on, row.at)) ||
            (row.from == source::property &&  // of 16, 32 or 64 bits
             (flag(&p12, row.at) || flag(&p12, row.at + 4) || flag(&p12, row.at + 8))) ||
            (row.from == source::subgroup && (subgroups & row.at) != 0);
        if (met) list.push_back(row.what);
    }
    return list;
}

/// What messages call a capability: `Float64`, which needs shaderFloat64.
inline std::string capability_text(std::uint32_t what) {
    for (const detail::capability_row& row : detail::capability_rows)
        if (row.what == what)
            return *row.needs ? cat({row.name, ", which needs ", row.needs})
                              : std::string(row.name);
    return cat({"number ", what});
}

/// The device's extension that a SPIR-V extension needs: empty where Vulkan 1.3 has it already, or
/// where it tells drivers nothing; null where Pumice switches nothing on for it.
inline const char* extension_for(std::string_view spirv) noexcept {
    constexpr std::string_view in_core[] = {"SPV_KHR_physical_storage_buffer",
                                            "SPV_EXT_physical_storage_buffer",
                                            "SPV_KHR_storage_buffer_storage_class",
                                            "SPV_KHR_8bit_storage",
                                            "SPV_KHR_16bit_storage",
                                            "SPV_KHR_variable_pointers",
                                            "SPV_KHR_vulkan_memory_model",
                                            "SPV_KHR_float_controls",
                                            "SPV_KHR_integer_dot_product",
                                            "SPV_KHR_no_integer_wrap_decoration",
                                            "SPV_KHR_non_semantic_info",
                                            "SPV_KHR_relaxed_extended_instruction",
                                            "SPV_GOOGLE_decorate_string",
                                            "SPV_GOOGLE_user_type"};
    for (const std::string_view name : in_core)
        if (name == spirv) return "";
    if (spirv == "SPV_KHR_cooperative_matrix") return VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME;
    if (spirv == "SPV_KHR_bfloat16") return VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME;
#ifdef VK_ARM_data_graph
    if (spirv == "SPV_ARM_tensors") return VK_ARM_TENSORS_EXTENSION_NAME;
#endif
    return nullptr;
}

}}}  // namespace pumice::PUMICE_ABI::vulkan
