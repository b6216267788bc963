// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Shader operators on a Vulkan device: their pipelines, and what each dispatch is given.
#pragma once

#include <pumice/exec/vulkan/numbered_bindings.hpp>
#include <pumice/exec/vulkan/recorder.hpp>
#include <pumice/exec/vulkan/spirv_validator.hpp>
#include <pumice/slang/shader.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// What shader_functions names.
class shader_operators {
public:
    static kernel_request request(const launch& l) {
        // Slang reads it as an expression, and crashes over some.
        if (!detail::is_name(l.entry))
            fail(errc::compile_failed, cat({"shader operator ", l.shader->name}),
                 {"its entry point \"", std::string_view(l.entry).substr(0, 64), "\" is no name"});
        kernel_request r{l.module, l.entry, {}, {}};
        r.language = l.shader->language;
        r.build = build_shader;
        r.generated.push_back({l.module, l.shader->text});
        return r;
    }

    static std::shared_ptr<const vulkan::pipeline> create(vulkan_runtime& on, const launch& l) {
        const own_shader& s = *l.shader;
        std::shared_ptr<const spirv_code> compiled;
        if (s.language != shader_language::spirv) compiled = on.kernels_.get(request(l));
        vulkan::pipeline_options o;
        // Slang names the entry point so.
        if (!compiled) o.entry = s.entry.c_str();
        array_list<shader_descriptor> descriptors;
        array_list<vulkan::tensor_type> tensors;
        for (const shader_binding& b : s.bindings()) {
            must_take(b, *on.device_, s.name);
            tensors.push_back({static_cast<VkFormat>(b.format), l.bound[tensors.size()].extent,
                               b.texel});
            descriptors.push_back(b.as);
        }
        o.descriptors = {descriptors.data(), descriptors.size()};
        o.tensors = {tensors.data(), tensors.size()};
        if (!compiled)
            o.validate = [&](span<const std::uint32_t> words) {
                validate_spirv(words, s.name, s.file, on.device_->info().api_version);
            };
        if (s.graph) {
            array_list<vulkan::graph_constant> constants;
            for (const data_graph::constant& c : s.graph->constants)
                constants.push_back({c.id,
                                     {static_cast<VkFormat>(c.format), c.extent, c.element},
                                     c.bytes.data()});
            return on.factory_.create_graph(with_numbered_bindings(s.words, s), s.name, o,
                                            {constants.data(), constants.size()});
        }
        o.pushed = static_cast<std::uint32_t>(l.parameters.size());
        return on.factory_.create(with_numbered_bindings(compiled ? compiled->words : s.words, s),
                                  s.name, o);
    }

    static std::shared_ptr<vulkan::pushed_buffers> push(const launch& l, const device_info& device,
                                                        span<const given_memory> given) {
        auto made = std::make_shared<vulkan::pushed_buffers>();
        made->dispatch = vulkan::dispatch_pushed;
        const array_list<shader_binding> places = l.shader->bindings();
        for (std::size_t i = 0; i < l.bound.size(); ++i) {
            const bound_buffer& b = l.bound[i];
            const shader_descriptor as = places[i].as;
            const auto& [piece, begin] = given[i];
            const std::uint64_t at =
                piece.offset + static_cast<std::uint64_t>(begin + b.byte_offset);
            const std::int64_t alignment = as == shader_descriptor::tensor ? 1
                                           : as == shader_descriptor::storage_image
                                               ? std::max<std::int64_t>(4, places[i].texel)
                                           : has_texels(as) ? device.texel_alignment
                                           : as == shader_descriptor::uniform_buffer
                                               ? device.uniform_alignment
                                               : device.storage_alignment;
            if (at % static_cast<std::uint64_t>(alignment) != 0)
                fail(errc::unsupported, "shader operator",
                     {l.shader->name, " is given memory that begins at byte ", at,
                      " of its buffer, the device asks for multiples of ", alignment, " for a ",
                      to_string(as)});
            made->has_constants |= as == shader_descriptor::uniform_buffer ||
                                   as == shader_descriptor::uniform_texel_buffer;
            const auto bytes = static_cast<std::uint64_t>(b.bytes);
            made->list.push_back({{piece.buffer, at, has_texels(as) ? bytes : (bytes + 3) / 4 * 4},
                                  as,
                                  static_cast<VkFormat>(places[i].format)});
            made->list.back().written = i >= l.shader->inputs.size();
            made->list.back().extent = b.extent;
            made->list.back().block = piece.block;
            if (b.width == 0) continue;
            vulkan::pushed_buffers::range& image = made->list.back();
            image.width = static_cast<std::uint32_t>(b.width);
            image.height = static_cast<std::uint32_t>(b.bytes / (b.width * places[i].texel));
        }
        made->numbers = l.parameters;
        return made;
    }

    static void open(vulkan::pushed_buffers& what, const vulkan_runtime& on, const launch& l,
                     const vulkan::pipeline& with) {
        what.open(on.shared_device(), l.shader->name, with);
    }

private:
    /// The format of texels.
    static void must_take(const shader_binding& b, const vulkan::device& d, std::string_view name) {
        if (!has_texels(b.as)) return;
        VkFormatProperties has{};
        d.table().vkGetPhysicalDeviceFormatProperties(static_cast<VkPhysicalDevice>(d.made_from()
                                                                                        .handle),
                                                      static_cast<VkFormat>(b.format), &has);
        const VkFormatFeatureFlags wanted = b.as == shader_descriptor::storage_texel_buffer
                                                ? VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_BIT
                                                : VK_FORMAT_FEATURE_UNIFORM_TEXEL_BUFFER_BIT;
        if (!(b.as == shader_descriptor::storage_image
                  ? has.optimalTilingFeatures & VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT
                  : has.bufferFeatures & wanted))
            fail(errc::unsupported, cat({"shader operator ", name}),
                 {d.info().name, " has no ", to_string(b.as), " of VkFormat ", b.format, " (set ",
                  b.set, ", binding ", b.binding, ")"});
    }
};

template <int>
const shader_functions& functions_of_shaders() {
    static constexpr shader_functions asked{shader_operators::request, shader_operators::create,
                                            shader_operators::push, shader_operators::open};
    return asked;
}

}}  // namespace pumice::PUMICE_ABI
