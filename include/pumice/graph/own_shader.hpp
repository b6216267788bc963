// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A Vulkan compute shader as it stands, with descriptors for what it reads and writes: what a
// shader operator of a model is.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/shader_language.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace pumice { inline namespace PUMICE_ABI {

/// Where a shader has a tensor, and as what.
struct shader_binding {
    std::uint32_t set = 0, binding = 0;
    shader_descriptor as = shader_descriptor::storage_buffer;
    std::uint32_t format = 0, texel = 0;  // where it has texels: their VkFormat and bytes

    bool same_place(const shader_binding& other) const noexcept {
        return set == other.set && binding == other.binding;
    }
    friend bool operator==(const shader_binding&, const shader_binding&) = default;
};

/// A compute shader with its workgroups, descriptors and push constants.
struct own_shader {
    std::string name;            // of the operator, in errors, profiles and debuggers
    std::string entry = "main";  // entry point
    shader_language language = shader_language::slang;
    std::string text;                              // unless it is SPIR-V
    array_list<std::uint32_t> words;               // of SPIR-V
    std::array<std::uint32_t, 3> groups{1, 1, 1};  // workgroups that are dispatched
    array_list<shader_binding> inputs, outputs;    // dense arrays, in row-major order
    array_list<std::byte> push;                    // its push constants

    /// Of the inputs, then of the outputs.
    array_list<shader_binding> bindings() const {
        array_list<shader_binding> both = inputs;
        both.append(outputs.begin(), outputs.end());
        return both;
    }
};

}}  // namespace pumice::PUMICE_ABI
