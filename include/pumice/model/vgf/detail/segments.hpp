// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The segments of a VGF file made ready to be built: graphs as instructions of TOSA, or as data
// graphs of the device's, and shaders.
#pragma once

#include <pumice/graph/custom_kernel.hpp>
#include <pumice/model/detail/vk_formats.hpp>
#include <pumice/model/vgf/detail/contents.hpp>
#include <pumice/model/vgf/detail/tosa_ops.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf { namespace detail {

/// A segment made ready: a graph, or a shader.
struct ready_segment {
    const segment* from = nullptr;
    std::vector<std::uint32_t> reads, writes;  // resources, as the graph or the shader has them
    tosa_graph graph;
    tosa_node::constants_by_id known;
    int first_step = 0;  // its first instruction among those of all segments
    std::shared_ptr<const custom_kernel> shader;
    std::shared_ptr<const custom_kernel> native;  // of a graph that the device runs as it stands
};

/// Makes segments ready.
class segment_reader {
public:
    /// `others`: the user may have operators that Pumice lacks. `natively`: segments that can are
    /// data graphs of a device, `on`.
    segment_reader(const contents& file, span<const any_tensor> constants,
                   const model_limits& limits, bool natively, const device_info& on, bool others)
        : file_(file), constants_(constants), limits_(limits), natively_(natively), on_(on),
          others_(others), slots_(static_cast<int>(constants.size())) {}

    ready_segment read(const segment& s) {
        ready_segment r;
        r.from = &s;
        try {
            if (file_.modules[s.module].graph) graph(r);
            else shader(r);
        } catch (const error& e) {
            throw error(e.code(), "vgf", cat({file_.name, ": segment ", s.name, ": ", e.message()}),
                        e.reasons());
        }
        return r;
    }

private:
    [[noreturn, gnu::cold]] static void refuse(errc code, std::initializer_list<piece> why) {
        throw error(code, "vgf", cat(why));
    }

    const slot* slot_at(const segment& s, std::uint32_t set, std::uint32_t binding) const {
        for (const slot& at : s.slots)
            if (at.set == set && at.binding == binding) return &at;
        return nullptr;
    }
    std::uint32_t resource_of(const segment& s, const graph_port& p) const {
        const slot* const at = slot_at(s, p.set, p.binding);
        if (!at)
            refuse(errc::bad_file, {"nothing is bound to set ", p.set, ", binding ", p.binding});
        const resource& r = file_.resources[at->resource];
        if (r.shape != p.shape || (r.type != p.type && build::unsigned_of(p.type) != r.type))
            refuse(errc::bad_file,
                   {"the graph sees resource ", at->resource, ", ", to_string(r.type), " ",
                    to_string(r.shape), ", as ", to_string(p.type), " ", to_string(p.shape)});
        return at->resource;
    }

    void graph(ready_segment& r) {
        const segment& s = *r.from;
        const code_module& m = file_.modules[s.module];
        if (m.words.empty()) refuse(errc::unsupported, {"the file does not have its code"});
        r.graph = read_graph(m.words, m.entry, limits_);
        for (const graph_port& p : r.graph.inputs) r.reads.push_back(resource_of(s, p));
        for (const graph_port& p : r.graph.outputs) r.writes.push_back(resource_of(s, p));
        if (natively_) r.native = native(r);
        for (auto& [id, c] : r.graph.constants) {
            known_constant k{std::move(c), slots_++, {}};
            if (k.what.external) external(s, id, k);
            else
                k.tensor =
                    make_constant(k.what.type, k.what.splat ? shape{} : k.what.shape, k.what.bytes);
            r.known.emplace(id, std::move(k));
        }
        r.graph.constants.clear();
        r.first_step = steps_;
        steps_ += static_cast<int>(r.graph.steps.size());
        if (steps_ > limits_.nodes)
            refuse(errc::bad_file, {"more instructions than model_limits::nodes"});
        for (const tosa_instruction& step : r.graph.steps)
            if (step.op >= tosa_table.size() || tosa_table[step.op].name.empty() ||
                (!tosa_table[step.op].build && !others_))
                refuse(errc::unsupported_op,
                       {"the operator ", name_of_op(step.op), " of TOSA is none of Pumice's"});
    }
    /// Null where the graph cannot be one of the device's.
    std::shared_ptr<const custom_kernel> native(const ready_segment& r) const {
        const segment& s = *r.from;
        if (!r.graph.beyond.empty()) return nullptr;
        own_shader made;
        made.name = s.name;
        made.file = file_.name;
        made.entry = file_.modules[s.module].entry;
        made.language = shader_language::spirv;
        const std::vector<std::uint32_t>& words = file_.modules[s.module].words;
        made.words.append(words.begin(), words.end());
        kernel_options how;
        how.outputs.clear();
        const auto bind = [&](const graph_port& p, std::uint32_t i, auto& places, auto& types) {
            const resource& at = file_.resources[i];
            shader_binding b{p.set, p.binding, shader_descriptor::tensor, at.format,
                             static_cast<std::uint32_t>(info(at.type).bits / 8)};
            for (const shader_binding& other : made.bindings())
                if (other.same_place(b)) return false;
            places.push_back(b);
            types.push_back({.type = at.type});
            return is_tensor(at);
        };
        for (std::size_t i = 0; i < r.reads.size(); ++i)
            if (!bind(r.graph.inputs[i], r.reads[i], made.inputs, how.inputs)) return nullptr;
        for (std::size_t i = 0; i < r.writes.size(); ++i) {
            if (!bind(r.graph.outputs[i], r.writes[i], made.outputs, how.outputs)) return nullptr;
            how.outputs.back().shape = file_.resources[r.writes[i]].shape;
        }
        if (std::cmp_greater(made.inputs.size() + made.outputs.size(),
                             std::min<std::int64_t>(on_.max_tensors, 32)))
            return nullptr;
        auto graph = std::make_shared<data_graph>();
        for (const auto& [id, c] : r.graph.constants) {
            if (!c.external) continue;
            for (const auto& [number, at] : s.constants) {
                if (number != *c.external) continue;
                const resource& of = file_.resources[file_.constants[at].resource];
                if (!is_tensor(of)) return nullptr;
                data_graph::constant held{number,
                                          of.format,
                                          static_cast<std::uint32_t>(info(of.type).bits / 8),
                                          of.shape,
                                          {}};
                held.bytes.resize(static_cast<std::size_t>(constants_[at].size_bytes()));
                shared_constant(constants_[at])->read(0, held.bytes);
                graph->constants.push_back(std::move(held));
                break;
            }
        }
        made.graph = std::move(graph);
        return make_shader_kernel(std::move(made), std::move(how));
    }
    /// Whether the device can have a tensor as that.
    bool is_tensor(const resource& r) const {
        const auto* const format = pumice::detail::vk_format_of(r.format);
        for (const std::int64_t d : r.shape)
            if (d > on_.max_tensor_extent) return false;
        return format && format->single && !is_packed(r.type) && !r.shape.empty() &&
               r.shape.rank() <= on_.max_tensor_rank &&
               element_count(r.shape) <= on_.max_tensor_elements &&
               byte_count(r.type, element_count(r.shape)) <= on_.max_tensor_bytes;
    }
    void external(const segment& s, std::uint32_t id, known_constant& k) const {
        for (const auto& [number, at] : s.constants) {
            if (number != *k.what.external) continue;
            const any_tensor& t = constants_[at];
            if (t.shape() != k.what.shape ||
                (t.dtype() != k.what.type && build::unsigned_of(k.what.type) != t.dtype()))
                refuse(errc::bad_file, {"the graph sees constant ", at, ", ", to_string(t.dtype()),
                                        " ", to_string(t.shape()), ", as ", to_string(k.what.type),
                                        " ", to_string(k.what.shape)});
            const auto held = shared_constant(t);
            k.tensor = make_constant(k.what.type, t.shape(), held);
            constexpr std::int64_t few = 4096;  // which operators may ask to know
            if (is_floating(k.what.type) || t.size() > few) return;
            k.what.bytes.resize(static_cast<std::size_t>(t.size_bytes()));
            held->read(0, k.what.bytes);
            k.what.external.reset();
            return;
        }
        refuse(errc::bad_file, {"no constant is bound to number ", *k.what.external, " (id ", id,
                                ") of the graph"});
    }

    void shader(ready_segment& r) const {
        const segment& s = *r.from;
        const code_module& m = file_.modules[s.module];
        if (m.words.empty() && m.text.empty())
            refuse(errc::unsupported, {"the file does not have its code"});
        if (s.pushes)
            refuse(errc::unsupported,
                   {"its shader takes push constants, whose values the file does not have"});
        for (const std::uint32_t n : s.groups)
            if (n == 0) refuse(errc::bad_file, {"it dispatches no workgroups"});
        own_shader made;
        made.name = m.name.empty() ? s.name : m.name;
        made.file = file_.name;
        made.entry = m.entry;
        made.language = m.language;
        made.text = m.text;
        made.words.append(m.words.begin(), m.words.end());
        made.groups = s.groups;
        kernel_options how;
        how.outputs.clear();
        std::size_t bound = 0;
        for (const std::uint32_t i : s.inputs) {
            made.inputs.push_back(binding_of(s, i));
            how.inputs.push_back({.type = file_.resources[i].type});
        }
        for (const std::uint32_t i : s.outputs) {
            made.outputs.push_back(binding_of(s, i));
            how.outputs.push_back({.type = file_.resources[i].type,
                                   .shape = file_.resources[i].shape});
        }
        bound = s.inputs.size() + s.outputs.size();
        if (s.outputs.empty()) refuse(errc::bad_file, {"it writes nothing"});
        if (bound != s.slots.size())
            refuse(errc::unsupported,
                   {"its shader has ", s.slots.size(), " bindings for ", s.inputs.size(),
                    " inputs and ", s.outputs.size(), " outputs"});
        r.reads = s.inputs;
        r.writes = s.outputs;
        r.shader = make_shader_kernel(std::move(made), std::move(how));
    }
    shader_binding binding_of(const segment& s, std::uint32_t i) const {
        const slot* at = nullptr;
        for (const slot& each : s.slots)
            if (each.resource == i) {
                if (at) refuse(errc::unsupported, {"resource ", i, " has two bindings"});
                at = &each;
            }
        if (!at) refuse(errc::bad_file, {"resource ", i, " has no binding"});
        const resource& r = file_.resources[i];
        shader_binding b{at->set, at->binding, shader_descriptor::storage_buffer, 0, 0};
        // By VkDescriptorType.
        constexpr std::pair<std::uint32_t, shader_descriptor> known[] = {
            {3, shader_descriptor::storage_image},
            {4, shader_descriptor::uniform_texel_buffer},
            {5, shader_descriptor::storage_texel_buffer},
            {6, shader_descriptor::uniform_buffer},
            {7, shader_descriptor::storage_buffer},
            {1000460000, shader_descriptor::tensor}};
        const auto* const found = std::find_if(std::begin(known), std::end(known), [&](auto& k) {
            return r.descriptor && k.first == *r.descriptor;
        });
        if (found == std::end(known))
            refuse(errc::unsupported,
                   {"its shader sees resource ", i, " by the VkDescriptorType ",
                    r.descriptor ? cat({*r.descriptor}) : std::string("that is not said"),
                    "; storage and uniform buffers, texel buffers, storage images and tensors are "
                    "taken"});
        b.as = found->second;
        if (has_texels(b.as))
            if (const auto* const f = pumice::detail::vk_format_of(r.format))
                b.format = f->number, b.texel = f->texel;
        if (b.as == shader_descriptor::tensor) {
            const auto* const f = pumice::detail::vk_format_of(r.format);
            if (!f || !f->single)
                refuse(errc::unsupported, {"no tensors are of the VkFormat ", r.format});
            b.format = r.format;
            b.texel = static_cast<std::uint32_t>(info(r.type).bits / 8);
        }
        if (has_texels(b.as) && b.texel == 0)
            refuse(errc::unsupported, {"no texels are of the VkFormat ", r.format});
        return b;
    }

    const contents& file_;
    span<const any_tensor> constants_;
    const model_limits& limits_;
    bool natively_;
    const device_info& on_;
    bool others_;  // the user may have operators that Pumice lacks
    int slots_, steps_ = 0;
};

}}}}  // namespace pumice::PUMICE_ABI::vgf::detail
