// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A VGF file as `model` sees it: graph segments become Pumice's graph, compute segments are shader
// operators, and resources are the tensors between them.
#pragma once

#include <pumice/model/builder.hpp>
#include <pumice/model/detail/graph_limits.hpp>
#include <pumice/model/detail/model_options.hpp>
#include <pumice/model/vgf/container.hpp>
#include <pumice/model/vgf/detail/segments.hpp>
#include <pumice/model/vgf/detail/tosa_request.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf {

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
        const device_info& on = (o.where ? *o.where : default_context()).device();
        const bool asked = o.segments == graph_segments::native;
        const bool natively = asked || (o.segments == graph_segments::best && on.data_graphs &&
                                        !o.compute && o.providers.empty() && o.extra.list.empty());
        detail::segment_reader reader(file_, constants_, limits_, natively && on.data_graphs, on,
                                      !o.providers.empty() || !o.extra.list.empty());
        for (const segment& s : file_.segments) {
            segments_.push_back(reader.read(s));
            if (const auto& made = segments_.back(); asked && !made.shader && !made.native)
                refuse(errc::unsupported,
                       {"segment ", s.name, " cannot run as a data graph of ", on.name,
                        !on.data_graphs             ? ", which has no VK_ARM_data_graph"
                        : made.graph.beyond.empty() ? ": a tensor of it is beyond the device"
                                                    : cat({": ", made.graph.beyond})});
            if (o.compute && segments_.back().native)
                refuse(errc::unsupported, {"segment ", s.name,
                                           " is a data graph of the device's, which cannot compute "
                                           "in another type"});
            if (o.compute && segments_.back().shader)
                refuse(errc::unsupported,
                       {"segment ", s.name, " is a shader, which cannot compute in another type"});
        }
    }

    std::vector<any_tensor> build(span<const any_tensor> inputs,
                                  weights& constants) const override {
        return run(inputs, constants, nullptr);
    }
    std::vector<any_tensor> build_first(span<const any_tensor> inputs, weights& constants,
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
    std::vector<any_tensor> run(span<const any_tensor> inputs, weights& constants,
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
            if (s.native && seen) {  // what a driver is given is checked as what Pumice would run
                weights none(constants.where(), constants.compute());
                run_graph(s, in, none, seen);
            }
            const auto& as_it_stands = s.native ? s.native : s.shader;
            const std::vector<any_tensor> out =
                as_it_stands
                    ? call_kernel(as_it_stands, in, {}, [&] { return constants.where().get(); })
                    : run_graph(s, in, constants, seen);
            for (std::size_t i = 0; i < out.size(); ++i) values[value_of_[s.writes[i]]] = out[i];
        }
        std::vector<any_tensor> outputs;
        for (const value& v : file_.outputs) outputs.push_back(read(v.resource));
        return outputs;
    }

    std::vector<any_tensor> run_graph(const detail::ready_segment& s, span<const any_tensor> inputs,
                                      weights& constants, seen_nodes* seen) const {
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
                        pumice::detail::beyond_limits(limits_, span(&made, 1), seen->nodes);
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
inline std::shared_ptr<model_builder> open(span<const std::byte> bytes,
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
