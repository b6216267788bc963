// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A Vulkan compute shader as it stands, with descriptors for what it reads and writes: what a
// shader operator of a model is.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/hash.hpp>
#include <pumice/base/shader_language.hpp>
#include <pumice/base/text.hpp>

#include <pumice/core/shape.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

/// Where a shader has a tensor, and as what.
struct shader_binding {
    std::uint32_t set = 0, binding = 0;
    shader_descriptor as = shader_descriptor::storage_buffer;
    std::uint32_t format = 0,
                  texel = 0;  // of texels and tensors: their VkFormat, an element's bytes

    bool same_place(const shader_binding& other) const noexcept {
        return set == other.set && binding == other.binding;
    }
    friend bool operator==(const shader_binding&, const shader_binding&) = default;
};

/// What a data graph (SPV_ARM_graph) has besides its code: constants, by the ids that it asks for.
struct data_graph {
    struct constant {
        std::uint32_t id = 0;
        std::uint32_t format = 0, element = 0;  // VkFormat, and an element's bytes
        pumice::shape extent;
        std::vector<std::byte> bytes;
    };
    std::vector<constant> constants;

    /// Their ids, formats and shapes, and a hash of each one's bytes.
    std::string summary() const {
        std::string text;
        for (const constant& c : constants) {
            append_text(text, {"\nconstant ", c.id, " ", c.format, " ", to_string(c.extent), " "});
            append_hex(text, hash_of(std::string_view(reinterpret_cast<const char*>(c.bytes.data()),
                                                      c.bytes.size())));
        }
        return text;
    }
};

/// A compute shader with its workgroups, descriptors and push constants.
struct own_shader {
    std::string name;            // of the operator, in errors, profiles and debuggers
    std::string file;            // that it comes from, in errors
    std::string entry = "main";  // entry point
    shader_language language = shader_language::slang;
    std::string text;                              // unless it is SPIR-V
    array_list<std::uint32_t> words;               // of SPIR-V
    std::array<std::uint32_t, 3> groups{1, 1, 1};  // workgroups that are dispatched
    array_list<shader_binding> inputs, outputs;    // dense arrays, in row-major order
    array_list<std::byte> push;                    // its push constants
    /// Where it is no shader, but a data graph of tensors, in SPIR-V.
    std::shared_ptr<const data_graph> graph = {};

    /// Of the inputs, then of the outputs.
    array_list<shader_binding> bindings() const {
        array_list<shader_binding> both = inputs;
        both.append(outputs.begin(), outputs.end());
        return both;
    }
};

}}  // namespace pumice::PUMICE_ABI
