// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Shader operators: a compute shader as it stands, which is given tensors by descriptors.
#pragma once

#include <pumice/kernels/custom_kernel.hpp>

namespace pumice { inline namespace PUMICE_ABI {

struct custom_kernel_shader {
    using problem_type = custom_kernel_problem;
    static constexpr std::string_view name = "kernel/shader";
    static constexpr bool portable = true;
    static constexpr std::size_t most_buffers = 32;  // that every device takes

    static support supports(const custom_kernel_problem& p, const device_info& device) {
        const kernel_call& call = *p.call;
        if (!call.what->shader) return support::no("it is a Slang function");
        const own_shader& s = *call.what->shader;
        const bool has_tensors = shows_tensors(s);
        if (s.graph ? !device.data_graphs : has_tensors && !device.tensors)
            return support::no({device.name, " has no ",
                                s.graph ? "VK_ARM_data_graph" : "VK_ARM_tensors", ", which ",
                                s.name, " needs"});
        if (!has_tensors && !device.push_descriptors)
            return support::no("the device has no VK_KHR_push_descriptor");
        if (has_tensors &&
            static_cast<std::int64_t>(s.inputs.size() + s.outputs.size()) > device.max_tensors)
            return support::no({s.name, " has ", s.inputs.size() + s.outputs.size(), " tensors, ",
                                device.name, " takes ", device.max_tensors, " in a set"});
        if (s.inputs.size() + s.outputs.size() > most_buffers)
            return support::no({s.name, " has ", s.inputs.size() + s.outputs.size(),
                                " buffers, at most ", most_buffers, " are taken"});
        if (static_cast<std::int64_t>(s.push.size()) > device.max_push_constants)
            return support::no({s.name, " has ", s.push.size(), " bytes of push constants, ",
                                device.name, " takes ", device.max_push_constants});
        if (support grid = supports_grid(s.name, s.groups, device); !grid.yes) return grid;
        double bytes = 0;
        const array_list<shader_binding> places = s.bindings();
        std::size_t at = 0;
        for (const auto* list : {&call.inputs, &call.outputs})
            for (const kernel_value& v : *list) {
                const shader_binding& place = places[at++];
                const std::int64_t each = byte_count(v.dtype, element_count(v.shape));
                if (each == 0)
                    return support::no({s.name,
                                        " works on a tensor without elements, which no "
                                        "descriptor can show"});
                if (place.as == shader_descriptor::tensor) {
                    if (support t = supports_tensor(s, v, each, device); !t.yes) return t;
                    bytes += static_cast<double>(each);
                    continue;
                }
                if (place.texel > 0 && each % place.texel != 0)
                    return support::no({s.name, " works on a tensor of ", each,
                                        " bytes, which are no texels of ", place.texel});
                if (place.as == shader_descriptor::storage_image) {
                    const std::int64_t width = width_of(place, v);
                    if (width == 0 || width > device.max_image_extent ||
                        each / (width * place.texel) > device.max_image_extent)
                        return support::no({s.name, " works on a tensor of shape ",
                                            to_string(v.shape), ", ", device.name,
                                            " has images of up to ", device.max_image_extent,
                                            " whole texels along an axis"});
                    bytes += static_cast<double>(2 * each);
                    continue;
                }
                const std::int64_t most = most_bytes(place, device);
                if (each > most)
                    return support::no({s.name, " works on a tensor of ", each, " bytes, ",
                                        device.name, " shows at most ", most, " of a ",
                                        to_string(place.as)});
                bytes += static_cast<double>(each);
            }
        return support::in(seconds_to_move(device, bytes, 0.8, bytes));
    }
    static launch make(const custom_kernel_problem& p, const device_info&) {
        const kernel_call& call = *p.call;
        const own_shader& s = *call.what->shader;
        launch l;
        l.shader = call.what->shader;
        l.shader_asks = &detail::of_engine(&functions_of_shaders<>)();
        hasher h;
        h.add(s.text).add(static_cast<std::uint64_t>(s.language));
        for (const std::uint32_t word : s.words) h.add(std::uint64_t{word});
        for (const shader_binding& b : s.bindings())
            h.add(std::uint64_t{b.set})
                .add(std::uint64_t{b.binding})
                .add(std::uint64_t{b.format})
                .add(static_cast<std::uint64_t>(b.as));
        h.add(static_cast<std::uint64_t>(s.push.size()));
        if (shows_tensors(s))
            for (const auto* list : {&call.inputs, &call.outputs})
                for (const kernel_value& v : *list) {
                    h.add(static_cast<std::uint64_t>(v.shape.rank()));
                    if (s.graph)
                        for (const std::int64_t d : v.shape) h.add(static_cast<std::uint64_t>(d));
                }
        if (s.graph) h.add(s.graph->summary());
        l.module = cat({s.name, "_"});
        append_hex(l.module, h.value());
        l.entry = s.entry;
        l.parameters = s.push;
        l.grid = s.groups;
        for (std::size_t i = 0; i < p.inputs.size(); ++i)
            bind(l, p.inputs[i].leaves[0], call.inputs[i], s.inputs[i], false);
        std::int64_t behind = 0;
        for (std::size_t i = 0; i < call.outputs.size(); ++i) {
            operand o = p.outputs[i];
            const kernel_value& v = call.outputs[i];
            o.steps = row_major_strides(v.shape);
            if (o.buffer < 0) {
                o = {-2, v.dtype, behind * 8 / info(v.dtype).bits, row_major_strides(v.shape)};
                behind += unwanted(v);
            }
            bind(l, o, v, s.outputs[i], true);
        }
        return l;
    }
    static array_list<launch> make_all(const custom_kernel_problem& p, const device_info& device) {
        return {make(p, device)};
    }
    /// Of the outputs that nobody wants.
    static std::int64_t scratch(const custom_kernel_problem& p, const device_info&) {
        std::int64_t bytes = 0;
        for (std::size_t i = 0; i < p.outputs.size(); ++i)
            if (p.outputs[i].buffer < 0) bytes += unwanted(p.call->outputs[i]);
        return bytes;
    }

    /// Whether some of it is a tensor of VK_ARM_tensors.
    static bool shows_tensors(const own_shader& s) {
        for (const shader_binding& b : s.bindings())
            if (b.as == shader_descriptor::tensor) return true;
        return false;
    }

private:
    static support supports_tensor(const own_shader& s, const kernel_value& v, std::int64_t bytes,
                                   const device_info& device) {
        std::int64_t longest = 1;
        for (const std::int64_t d : v.shape) longest = std::max(longest, d);
        if (v.shape.rank() > device.max_tensor_rank || longest > device.max_tensor_extent ||
            element_count(v.shape) > device.max_tensor_elements || bytes > device.max_tensor_bytes)
            return support::no({s.name, " works on a tensor of shape ", to_string(v.shape), ", ",
                                device.name, " has tensors of up to ", device.max_tensor_rank,
                                " axes, ", device.max_tensor_extent, " along one, ",
                                device.max_tensor_elements, " elements and ",
                                device.max_tensor_bytes, " bytes"});
        return {};
    }
    /// Of its image, in texels; 0 where its last axis is no whole number of them.
    static std::int64_t width_of(const shader_binding& place, const kernel_value& v) {
        const int rank = v.shape.rank();
        const std::int64_t bytes = byte_count(v.dtype, rank > 0 ? v.shape[rank - 1] : 1);
        return bytes % place.texel == 0 ? bytes / place.texel : 0;
    }
    /// That a descriptor shows.
    static std::int64_t most_bytes(const shader_binding& place, const device_info& device) {
        if (has_texels(place.as)) return device.max_texels * place.texel;
        return place.as == shader_descriptor::uniform_buffer ? device.max_uniform_range
                                                             : device.max_storage_range;
    }
    static std::int64_t unwanted(const kernel_value& v) {
        return (byte_count(v.dtype, element_count(v.shape)) + 255) / 256 * 256;
    }
    static void bind(launch& l, const operand& o, const kernel_value& v,
                     const shader_binding& place, bool writes) {
        l.bound.push_back({o.buffer, byte_offset(v.dtype, o.offset),
                           byte_count(v.dtype, element_count(v.shape)),
                           place.as == shader_descriptor::storage_image ? width_of(place, v) : 0});
        if (place.as == shader_descriptor::tensor)
            l.bound.back().extent = v.shape.empty() ? shape{1} : v.shape;
        l.accesses.push_back(range_of(o, v.shape, writes));
    }
};

static_assert(kernel_type<custom_kernel_shader>);

}}  // namespace pumice::PUMICE_ABI
