// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The attributes of a shader operator: the JSON object that TOSA and Arm's ML SDK give an operator
// of the domain com.arm.VulkanCustomShader. docs/45_shader_operators.md has the table of keys.
#pragma once

#include <pumice/base/config.hpp>
#include <pumice/core/dtype.hpp>
#include <pumice/graph/own_shader.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

/// Operators of this domain, to the letter, are shader operators.
inline constexpr std::string_view shader_domain = "com.arm.VulkanCustomShader";

struct shader_attributes {
    own_shader shader;
    /// By their VkFormat; none where it is not said.
    std::vector<std::optional<dtype>> inputs, outputs;
};

/// What the JSON object `text` says of the operator `name` with so many inputs and outputs. Throws
/// errc::bad_file with a reason for each key that is missing, unknown, of another type or out of
/// range, and errc::unsupported for what is well-formed and not taken.
PUMICE_FUNCTION shader_attributes parse_shader_attributes(std::string_view text,
                                                          std::string_view name, std::size_t inputs,
                                                          std::size_t outputs);

/// The bytes that the base64 of RFC 4648 says, whose padding is there; none where it is not base64.
PUMICE_FUNCTION std::optional<array_list<std::byte>> from_base64(std::string_view text);

}}  // namespace pumice::PUMICE_ABI

#ifndef PUMICE_COMPILED
#include <pumice/model/detail/parse_shader_attributes.hpp>
#endif
