// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The attributes of a shader operator, as text.
#pragma once

#include <pumice/base/span.hpp>
#include <pumice/graph/custom_kernel.hpp>
#include <pumice/model/detail/vk_formats.hpp>
#include <pumice/model/shader_attributes.hpp>
#include <pumice/model/vgf/detail/mlir_text.hpp>

#include <string>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf { namespace detail {

inline std::string to_base64(span<const std::uint32_t> words) {
    constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const auto bytes = as_bytes(words);
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t bits = 0;
        for (std::size_t k = 0; k < 3; ++k)
            bits = bits << 8 |
                   (i + k < bytes.size() ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
        for (std::size_t k = 0; k < 4; ++k)
            text.push_back(i + k > bytes.size() ? '=' : digits[bits >> (18 - 6 * k) & 63]);
    }
    return text;
}
inline std::string json_text(std::string_view text) {
    std::string made = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') made += '\\', made += c;
        else if (c == '\n') made += "\\n";
        else if (static_cast<unsigned char>(c) < ' ') {
            constexpr char digits[] = "0123456789abcdef";
            made += "\\u00";
            made += digits[c >> 4 & 15];
            made += digits[c & 15];
        } else made += c;
    }
    return made + "\"";
}
inline std::string attributes_of(const own_shader& s, const kernel_call& call) {
    if (s.language == shader_language::slang)
        throw error(errc::unsupported, "vgf",
                    cat({s.name, " is in Slang, which VGF has no place for"}),
                    {"compile it to SPIR-V, as Slang does, and bring that"});
    if (!s.push.empty())
        throw error(errc::unsupported, "vgf",
                    cat({s.name, " has push constants, whose values VGF does not keep"}));
    std::string text =
        cat({"{\"entry_point\": ", json_text(s.entry), ", \"workgroup_sizes\": [", s.groups[0],
             ", ", s.groups[1], ", ", s.groups[2], "], \"shader_language\": \"",
             to_string(s.language), "\", \"shader_code\": ",
             json_text(s.language == shader_language::spirv
                           ? to_base64(span(s.words.data(), s.words.size()))
                           : s.text)});
    const auto describe = [&](const char* which, const array_list<shader_binding>& places,
                              const std::vector<kernel_value>& values) {
        for (std::size_t i = 0; i < places.size(); ++i) {
            const shader_binding& b = places[i];
            std::string_view format;
            for (const auto& f : pumice::detail::vk_formats)
                if (b.format != 0 ? f.number == b.format : f.single && f.type == values[i].dtype)
                    format = f.name;
            const std::string key = cat({", \"", which, "_", i, "_"});
            append_text(text, {key, "binding\": ", b.binding, key, "descriptorset\": ", b.set, key,
                               "vkdescriptortype\": \"VK_DESCRIPTOR_TYPE_", to_string(b.as), "\"",
                               key, "vkformat\": \"VK_FORMAT_", format, "\""});
        }
    };
    describe("input", s.inputs, call.inputs);
    describe("output", s.outputs, call.outputs);
    return cat({"operator_name = ", in_quotes(s.name), ", domain_name = ", in_quotes(shader_domain),
                ", implementation_attrs = ", in_quotes(text + "}")});
}

}}}}  // namespace pumice::PUMICE_ABI::vgf::detail
