// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A VGF file as `model` sees it: graph segments become Pumice's graph, compute segments are shader
// operators, and resources are the tensors between them.
#pragma once

#include <pumice/graph/custom_kernel.hpp>
#include <pumice/model/builder.hpp>
#include <pumice/model/detail/graph_limits.hpp>
#include <pumice/model/detail/model_options.hpp>
#include <pumice/model/vgf/container.hpp>
#include <pumice/model/vgf/detail/tosa_request.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf {

namespace detail {

/// A segment made ready: a graph, or a shader.
struct ready_segment {
    const segment* from = nullptr;
    std::vector<std::uint32_t> reads, writes;  // resources, as the graph or the shader has them
    tosa_graph graph;
    tosa_node::constants_by_id known;
    int first_step = 0;  // its first instruction among those of all segments
    std::shared_ptr<const custom_kernel> shader;
};

/// Makes segments ready.
class segment_reader {
public:
    /// `others`: the user may have operators that Pumice lacks.
    segment_reader(const contents& file, std::span<const any_tensor> constants,
                   const model_limits& limits, bool others)
        : file_(file), constants_(constants), limits_(limits), others_(others),
          slots_(static_cast<int>(constants.size())) {}

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
            {7, shader_descriptor::storage_buffer}};
        const auto* const found = std::find_if(std::begin(known), std::end(known), [&](auto& k) {
            return r.descriptor && k.first == *r.descriptor;
        });
        if (found == std::end(known))
            refuse(errc::unsupported,
                   {"its shader sees resource ", i, " by the VkDescriptorType ",
                    r.descriptor ? cat({*r.descriptor}) : std::string("that is not said"),
                    "; storage and uniform buffers, texel buffers and storage images are taken"});
        b.as = found->second;
        if (has_texels(b.as))
            if (const auto* const f = pumice::detail::vk_format_of(r.format))
                b.format = f->number, b.texel = f->texel;
        if (has_texels(b.as) && b.texel == 0)
            refuse(errc::unsupported, {"no texels are of the VkFormat ", r.format});
        return b;
    }

    const contents& file_;
    std::span<const any_tensor> constants_;
    const model_limits& limits_;
    bool others_;
    int slots_, steps_ = 0;
};

}  // namespace detail

class builder final : public model_builder {
public:
    /// `constant_at(c, truth)` has the bytes of a constant, 0 or 1 of bools. Throws errc::bad_file,
    /// errc::unsupported_op, errc::unsupported, errc::io_failed.
    template <class ConstantAt>
    builder(contents c, ConstantAt constant_at, const load_options& o)
        : file_(std::move(c)), limits_(o.limits), extra_(o.extra) {
        signature_.name = file_.name;
        for (const value& v : file_.inputs) signature_.inputs.push_back(declared(v));
        for (const value& v : file_.outputs) signature_.outputs.push_back(declared(v));
        for (const constant& each : file_.constants) {
            const resource& r = file_.resources[each.resource];
            constants_.push_back(make_constant(r.type, r.shape,
                                               constant_at(each, r.type == dtype::boolean)));
        }
        share();
        detail::segment_reader reader(file_, constants_, limits_,
                                      !o.providers.empty() || !o.extra.list.empty());
        for (const segment& s : file_.segments) {
            segments_.push_back(reader.read(s));
            if (o.compute && segments_.back().shader)
                refuse(errc::unsupported,
                       {"segment ", s.name, " is a shader, which cannot compute in another type"});
        }
    }

    std::vector<any_tensor> build(std::span<const any_tensor> inputs,
                                  weights& constants) const override {
        return run(inputs, constants, nullptr);
    }
    std::vector<any_tensor> build_first(std::span<const any_tensor> inputs, weights& constants,
                                        bool) const override {
        seen_nodes seen;
        return run(inputs, constants, &seen);
    }
    void finish(weights& constants) override {
        constants.fill();
        if (close) close->close();
    }

    std::shared_ptr<input_file> close;  // once it is loaded

private:
    /// Nodes whose demands were looked at, and what keeps them.
    struct seen_nodes {
        std::set<const node*> nodes;
        std::vector<any_tensor> alive;
    };

    [[noreturn, gnu::cold]] void refuse(errc code, std::initializer_list<piece> why) const {
        throw error(code, "vgf", cat({file_.name, ": ", cat(why)}));
    }
    model_value declared(const value& v) const {
        const resource& r = file_.resources[v.resource];
        model_value made;
        made.name = v.name;
        made.dtype = r.type;
        made.set_shape(r.shape);
        return made;
    }
    /// Resources of one alias group are one value.
    void share() {
        std::map<std::uint32_t, std::uint32_t> groups;
        for (std::uint32_t i = 0; i < file_.resources.size(); ++i) {
            const resource& r = file_.resources[i];
            const std::uint32_t first = r.alias ? groups.emplace(*r.alias, i).first->second : i;
            const resource& f = file_.resources[first];
            if (f.type != r.type || f.shape != r.shape)
                refuse(errc::unsupported, {"resources ", first, " and ", i,
                                           " are the same memory and different tensors"});
            value_of_.push_back(first);
        }
    }

    /// With `seen` the inputs have no values, and what the graph asks for is checked.
    std::vector<any_tensor> run(std::span<const any_tensor> inputs, weights& constants,
                                seen_nodes* seen) const {
        std::vector<any_tensor> values(file_.resources.size());
        for (std::size_t i = 0; i < constants_.size(); ++i)
            values[value_of_[file_.constants[i].resource]] = constants_[i];
        const auto narrow = [&](const any_tensor& t) {
            return constants.compute() && t.dtype() == dtype::f32 ? astype(t, *constants.compute())
                                                                  : t;
        };
        for (std::size_t i = 0; i < inputs.size(); ++i)
            values[value_of_[file_.inputs[i].resource]] = narrow(inputs[i]);
        const auto read = [&](std::uint32_t i) {
            const any_tensor& t = values[value_of_[i]];
            if (!t.has_value())
                refuse(errc::bad_file, {"resource ", i, " is read before anything writes it"});
            return constants.upload(t);
        };
        for (const detail::ready_segment& s : segments_) {
            std::vector<any_tensor> in;
            for (const std::uint32_t i : s.reads) in.push_back(read(i));
            const std::vector<any_tensor> out =
                s.shader ? call_kernel(s.shader, in, {}, [&] { return constants.where().get(); })
                         : run_graph(s, in, constants, seen);
            for (std::size_t i = 0; i < out.size(); ++i) values[value_of_[s.writes[i]]] = out[i];
        }
        std::vector<any_tensor> outputs;
        for (const value& v : file_.outputs) outputs.push_back(read(v.resource));
        return outputs;
    }

    std::vector<any_tensor> run_graph(const detail::ready_segment& s,
                                      std::span<const any_tensor> inputs, weights& constants,
                                      seen_nodes* seen) const {
        tosa_node::values_by_id values;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const graph_port& p = s.graph.inputs[i];
            const bool other = !is_floating(p.type) && inputs[i].dtype() != p.type;
            values[p.id] = other ? astype(inputs[i], p.type) : inputs[i];
        }
        int number = s.first_step;
        for (const tosa_instruction& step : s.graph.steps) {
            const auto place = [&] {
                return cat({file_.name, ": segment ", s.from->name, ", instruction ",
                            number - s.first_step, " (", name_of_op(step.op), ")"});
            };
            try {
                const tosa_node n(step, number, values, s.known, constants);
                std::optional<any_tensor> given = detail::provided(n, step.op, constants, extra_);
                if (!given && !tosa_table[step.op].build)
                    n.fail(errc::unsupported_op, {"the operator is none of Pumice's"});
                any_tensor made = given ? *std::move(given) : tosa_table[step.op].build(n);
                if (made.dtype() != n.computed(step.type) || made.shape() != step.shape)
                    n.fail(errc::bad_file, {"the file says that it gives ", to_string(step.type),
                                            " ", to_string(step.shape), ", it gives ",
                                            to_string(made.dtype()), " ", to_string(made.shape())});
                if (seen) {
                    const std::string excess =
                        pumice::detail::beyond_limits(limits_, std::span(&made, 1), seen->nodes);
                    seen->alive.push_back(made);
                    if (!excess.empty()) n.fail(errc::bad_file, {"it asks for ", excess});
                }
                values[step.result] = std::move(made);
            } catch (const error& e) {
                const std::string where = e.where() == "vgf" ? "" : cat({"[", e.where(), "] "});
                throw error(e.code(), "vgf", cat({place(), ": ", where, e.message()}), e.reasons());
            }
            ++number;
        }
        const tosa_instruction none;
        const tosa_node n(none, number, values, s.known, constants);
        std::vector<any_tensor> outputs;
        for (std::size_t i = 0; i < s.graph.outputs.size(); ++i) {
            const graph_port& p = s.graph.outputs[i];
            any_tensor t = n.tensor_of(p.id);
            if (t.shape() != p.shape || t.dtype() != n.computed(p.type))
                refuse(errc::bad_file, {"segment ", s.from->name, " gives output ", i, " as ",
                                        to_string(t.dtype()), " ", to_string(t.shape())});
            const dtype to = file_.resources[s.writes[i]].type;
            outputs.push_back(is_floating(to) ? t : astype(t, to));
        }
        return outputs;
    }

    contents file_;
    model_limits limits_;
    op_set extra_;
    std::vector<any_tensor> constants_;    // of the file, by their numbers
    std::vector<std::uint32_t> value_of_;  // the resource whose value a resource shows
    std::vector<detail::ready_segment> segments_;
};

/// From a file, whose constants are read when they are uploaded.
inline std::shared_ptr<model_builder> open(const std::shared_ptr<input_file>& file,
                                           const load_options& o) {
    const auto made = std::make_shared<builder>(
        read(file, o.limits),
        [&](const constant& c, bool truth) {
            return std::make_shared<host_constant>(file, c.offset, static_cast<std::size_t>(c.size),
                                                   truth);
        },
        o);
    made->close = file;
    return made;
}
/// From the bytes of a file, which `keep` holds.
inline std::shared_ptr<model_builder> open(std::span<const std::byte> bytes,
                                           const std::shared_ptr<const void>& keep,
                                           const load_options& o) {
    return std::make_shared<builder>(
        read(bytes, o.limits),
        [&](const constant& c, bool truth) {
            const auto part =
                bytes.subspan(static_cast<std::size_t>(c.offset), static_cast<std::size_t>(c.size));
            if (!truth) return std::make_shared<host_constant>(part, keep);
            auto bools = std::make_shared<std::vector<std::byte>>(part.begin(), part.end());
            for (std::byte& b : *bools) b = std::byte(b != std::byte(0));
            return std::make_shared<host_constant>(std::move(bools));
        },
        o);
}

}}}  // namespace pumice::PUMICE_ABI::vgf
