// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/vk/capabilities.hpp>

#include <doctest/doctest.h>

using namespace pumice;

namespace {

vulkan::features on;
vk::PhysicalDeviceVulkan11Properties p11;
vk::PhysicalDeviceVulkan12Properties p12;

bool has(spv::Capability what) {
    for (const std::uint32_t each : vulkan::capabilities_of(on, p11, p12))
        if (each == static_cast<std::uint32_t>(what)) return true;
    return false;
}

}  // namespace

TEST_CASE("capabilities: each follows its own feature or property") {
    on = {};
    p11 = vk::PhysicalDeviceVulkan11Properties();
    p12 = vk::PhysicalDeviceVulkan12Properties();
    CHECK(vulkan::capabilities_of(on, p11, p12).size() == 6);
    CHECK(has(spv::CapabilityShader));
    const auto follows = [](vk::Bool32& feature, spv::Capability what, std::size_t and_others = 0) {
        const std::size_t before = vulkan::capabilities_of(on, p11, p12).size();
        CHECK(!has(what));
        feature = VK_TRUE;
        CHECK(has(what));
        CHECK(vulkan::capabilities_of(on, p11, p12).size() == before + 1 + and_others);
    };
    follows(on.core.features.shaderFloat64, spv::CapabilityFloat64);
    follows(on.core.features.shaderInt64, spv::CapabilityInt64);
    follows(on.core.features.shaderInt16, spv::CapabilityInt16);
    follows(on.v11.storageBuffer16BitAccess, spv::CapabilityStorageBuffer16BitAccess);
    follows(on.v11.variablePointers, spv::CapabilityVariablePointers);
    follows(on.v12.shaderInt8, spv::CapabilityInt8);
    follows(on.v12.shaderBufferInt64Atomics, spv::CapabilityInt64Atomics);
    follows(on.v12.vulkanMemoryModel, spv::CapabilityVulkanMemoryModel);
    follows(on.v13.shaderIntegerDotProduct, spv::CapabilityDotProduct, 3);
    follows(on.cooperative.cooperativeMatrix, spv::CapabilityCooperativeMatrixKHR);
    follows(on.bfloat16.shaderBFloat16Type, spv::CapabilityBFloat16TypeKHR);
    follows(p12.shaderSignedZeroInfNanPreserveFloat64, spv::CapabilitySignedZeroInfNanPreserve);
    follows(p12.shaderDenormPreserveFloat16, spv::CapabilityDenormPreserve);
    follows(p12.shaderRoundingModeRTZFloat32, spv::CapabilityRoundingModeRTZ);
    CHECK(!has(spv::CapabilityRoundingModeRTE));

    // Subgroup operations count where compute shaders have them.
    p11.subgroupSupportedOperations = vk::SubgroupFeatureFlagBits::eShuffle;
    CHECK(!has(spv::CapabilityGroupNonUniformShuffle));
    p11.subgroupSupportedStages = vk::ShaderStageFlagBits::eCompute;
    CHECK(has(spv::CapabilityGroupNonUniformShuffle));
    CHECK(!has(spv::CapabilityGroupNonUniformArithmetic));
}

TEST_CASE("capabilities: what messages call them, and the extensions behind SPIR-V's") {
    CHECK(vulkan::capability_text(spv::CapabilityFloat64) == "Float64, which needs shaderFloat64");
    CHECK(vulkan::capability_text(spv::CapabilityGroupNonUniformVote) ==
          "GroupNonUniformVote, which needs VK_SUBGROUP_FEATURE_VOTE_BIT");
    CHECK(vulkan::capability_text(spv::CapabilityGeometry) == "Geometry");
    CHECK(vulkan::capability_text(54321) == "number 54321");
    CHECK(std::string_view(vulkan::extension_for("SPV_KHR_vulkan_memory_model")) == "");
    CHECK(std::string_view(vulkan::extension_for("SPV_KHR_bfloat16")) == "VK_KHR_shader_bfloat16");
    CHECK(vulkan::extension_for("SPV_KHR_ray_query") == nullptr);
}
