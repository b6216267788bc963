// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a VGF file holds: modules, resources, constants, and the segments that run one after the
// other.
#pragma once

#include <pumice/base/shader_language.hpp>
#include <pumice/core/dtype.hpp>
#include <pumice/core/shape.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf {

/// A tensor that segments read or write. Those of one alias group are the same bytes.
struct resource {
    dtype type = dtype::f32;
    pumice::shape shape;
    std::uint32_t format = 0;                      // VkFormat
    std::optional<std::uint32_t> descriptor = {};  // VkDescriptorType
    bool constant = false;
    std::optional<std::uint32_t> alias = {};
};

/// Code of segments: a data graph in SPIR-V, or a compute shader.
struct code_module {
    std::string name, entry;
    bool graph = false;
    shader_language language = shader_language::spirv;
    std::vector<std::uint32_t> words;  // of SPIR-V
    std::string text;                  // of GLSL and HLSL
};

struct slot {
    std::uint32_t set = 0, binding = 0, resource = 0;
};

/// Runs a module. `inputs` and `outputs` are resources; `slots` says where the module finds them.
struct segment {
    std::string name;
    std::uint32_t module = 0;
    std::vector<std::uint32_t> inputs, outputs;
    std::vector<slot> slots;
    std::array<std::uint32_t, 3> groups{};                           // of a compute shader
    bool pushes = false;                                             // it has push constants
    std::vector<std::pair<std::uint32_t, std::uint32_t>> constants;  // of a graph: id, number
};

/// Bytes of the file, from `offset` on.
struct constant {
    std::uint32_t resource = 0;
    std::uint64_t offset = 0, size = 0;
};

struct value {
    std::string name;
    std::uint32_t resource = 0;
};

struct contents {
    std::string name;  // of the file, for messages
    std::vector<code_module> modules;
    std::vector<resource> resources;
    std::vector<constant> constants;
    std::vector<segment> segments;
    std::vector<value> inputs, outputs;
};

namespace detail {
/// Whether a tensor of that shape, which may be anything, has at most `limit` elements.
inline bool has_at_most(const shape& s, std::int64_t limit) {
    std::int64_t n = 1;
    for (const std::int64_t d : s) {
        if (d > limit / n) return false;
        n *= std::max<std::int64_t>(d, 1);
    }
    return true;
}
}  // namespace detail

}}}  // namespace pumice::PUMICE_ABI::vgf
