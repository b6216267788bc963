// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a shader is written in, and as what it sees memory.
#pragma once

#include <pumice/base/config.hpp>

#include <cstdint>
#include <string_view>

namespace pumice { inline namespace PUMICE_ABI {

enum class shader_language : std::uint8_t { slang, hlsl, glsl, spirv };

constexpr std::string_view to_string(shader_language l) noexcept {
    constexpr std::string_view names[] = {"Slang", "HLSL", "GLSL", "SPIR-V"};
    return names[static_cast<int>(l)];
}

/// A descriptor of a shader's, as Vulkan has them.
enum class shader_descriptor : std::uint8_t {
    storage_buffer,
    uniform_buffer,
    storage_texel_buffer,
    uniform_texel_buffer,
    storage_image,
    tensor  // of VK_ARM_tensors
};

/// As Vulkan names it behind VK_DESCRIPTOR_TYPE_.
constexpr std::string_view to_string(shader_descriptor d) noexcept {
    constexpr std::string_view names[] = {"STORAGE_BUFFER",       "UNIFORM_BUFFER",
                                          "STORAGE_TEXEL_BUFFER", "UNIFORM_TEXEL_BUFFER",
                                          "STORAGE_IMAGE",        "TENSOR_ARM"};
    return names[static_cast<int>(d)];
}
/// Whether it is of a VkFormat, texels or elements of a tensor.
constexpr bool has_format(shader_descriptor d) noexcept {
    return d >= shader_descriptor::storage_texel_buffer;
}
/// Whether it shows texels of a VkFormat.
constexpr bool has_texels(shader_descriptor d) noexcept {
    return d >= shader_descriptor::storage_texel_buffer && d <= shader_descriptor::storage_image;
}

}}  // namespace pumice::PUMICE_ABI
