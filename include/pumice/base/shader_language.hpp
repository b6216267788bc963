// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a shader is written in.
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

}}  // namespace pumice::PUMICE_ABI
