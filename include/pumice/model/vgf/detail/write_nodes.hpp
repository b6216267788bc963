// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A graph of Pumice's as TOSA: what each op is written as. Shader operators become TOSA's custom
// operators of their domain.
#pragma once

#include <pumice/model/detail/constant.hpp>
#include <pumice/model/vgf/detail/write_shader.hpp>
#include <pumice/model/vgf/detail/write_windows.hpp>
#include <pumice/tensor/context.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf { namespace detail {

class graph_writer : window_writer {
public:
    /// Inputs and outputs are called as these say, or else as their labels do.
    std::string run(const traced_graph& g, std::vector<std::string> inputs = {},
                    std::vector<std::string> outputs = {}) {
        if (!g.keys.empty())
            throw error(errc::unsupported, "vgf",
                        "the function draws random numbers, for which TOSA has nothing");
        for (const node_ptr& n : g.inputs)
            values_.emplace(n.get(), w_.argument(n->type, with_axis(n->extent)));
        std::vector<value> results;
        for (const node_ptr& n : g.outputs) {
            value v = written(n);
            const auto same = [&](const value& other) { return other.name == v.name; };
            bool taken = std::any_of(results.begin(), results.end(), same);
            for (const node_ptr& i : g.inputs) taken = taken || same(values_.at(i.get()));
            if (taken) v = again(v);
            results.push_back(v);
        }
        name(g.inputs, "input_", inputs);
        name(g.outputs, "output_", outputs);
        return w_.finish(results, inputs, outputs);
    }

private:
    using window_writer::write;

    static void name(const auto& nodes, const char* otherwise, std::vector<std::string>& names) {
        names.resize(nodes.size());
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (names[i].empty()) names[i] = name_of(*nodes[i]);
            if (names[i].empty()) names[i] = cat({otherwise, i});
        }
    }
    /// The same values in a tensor of their own, by an operation that the converter does not fold:
    /// an input that is an output too, it would leave unwritten.
    value again(const value& x) {
        if (is_floating(x.type)) return w_.larger(x, x);
        return w_.two(x.type == dtype::boolean ? "logical_or" : "bitwise_or", x, x, x.type);
    }

    /// Writes what the node is made of first, without recursion.
    value written(const node_ptr& root) {
        std::vector<node_ptr> open{root};
        while (!open.empty()) {
            const node_ptr n = open.back();
            if (values_.contains(n.get())) {
                open.pop_back();
                continue;
            }
            bool ready = true;
            if (!n->realised())
                for (const node_ptr& i : n->inputs)
                    if (!values_.contains(i.get())) open.push_back(i), ready = false;
            if (!ready) continue;
            open.pop_back();
            if (element_count(n->extent) == 0)
                throw error(errc::unsupported, "vgf", "TOSA has no tensors without elements");
            try {
                value made = n->realised() ? constant(n) : one(*n);
                held_.push_back(n);
                values_.emplace(n.get(), std::move(made));
            } catch (const error& e) {
                const std::string name = name_of(*n);
                throw error(e.code(), "vgf",
                            name.empty() ? e.message() : cat({"at ", name, ": ", e.message()}),
                            e.reasons());
            }
        }
        return values_.at(root.get());
    }
    static std::vector<std::byte> bytes_of(const node_ptr& n) {
        std::vector<std::byte>
            bytes(static_cast<std::size_t>(byte_count(n->type, element_count(n->extent))));
        read(any_tensor(n), bytes);
        return bytes;
    }
    value constant(const node_ptr& n) {
        if (n->type != dtype::i64) return w_.constant(n->type, with_axis(n->extent), bytes_of(n));
        std::vector<std::int32_t> small;  // as indices are
        for (const std::int64_t v : values_of<std::int64_t>(n->type, bytes_of(n), n->count())) {
            if (v < std::numeric_limits<std::int32_t>::min() ||
                v > std::numeric_limits<std::int32_t>::max())
                mlir_text::type_name(n->type);
            small.push_back(static_cast<std::int32_t>(v));
        }
        return w_.constant(dtype::i32, with_axis(n->extent), as_bytes(span(small)));
    }

    value one(const node& n) {
        mlir_text::type_name(n.type);
        return n.op.visit([&]<class Op>(const Op& op) -> value {
            if constexpr (requires { this->write(n, op); }) return write(n, op);
            else if constexpr (requires { Op::name; })
                tosa_writer::lacks({"operators for ", Op::name});
            else tosa_writer::lacks({"operators for a family of the program's own"});
        });
    }

    // elementwise ---------------------------------------------------------------------------------
    value write(const node& n, const elementwise_op& op) {
        const shape domain = with_axis(n.extent);
        const program_view p = op.body->view();
        std::vector<value> made;
        for (const instruction& i : p.code) {
            std::vector<value> in;
            for (int k = 0; k < i.arity(); ++k) in.push_back(made[i.args[k]]);
            switch (i.what) {
                case instruction::code::leaf:
                    made.push_back(beside(input(n, i.index), domain));
                    break;
                case instruction::code::scalar:
                    made.push_back(w_.number(i.type, domain.rank(),
                                             op.scalars[i.index].as<double>()));
                    break;
                case instruction::code::iota:
                    made.push_back(counting(i.type, domain,
                                            op.iota_axes[i.index - n.inputs.size()]));
                    break;
                case instruction::code::mapped:
                    made.push_back(w_.reshaped(mapped(input(n, 0), op.map), domain));
                    break;
                case instruction::code::inside: made.push_back(inside(op.map)); break;
                case instruction::code::cast: made.push_back(converted(in[0], i.type)); break;
                case instruction::code::apply: made.push_back(w_.apply(*i.op, in, i.type)); break;
                default: tosa_writer::lacks({"operations for weights in blocks"});
            }
        }
        return w_.tiled(made[p.outputs[0]], domain);
    }
    value converted(const value& x, dtype to) {
        mlir_text::type_name(to);
        if (to == dtype::boolean && is_floating(x.type))
            return w_.invert(w_.two("equal", x, w_.number(x, 0), dtype::boolean));
        const bool cuts = is_floating(x.type) && !is_floating(to) && to != dtype::boolean;
        return w_.cast(cuts ? w_.truncated(x) : x, to);
    }
    value counting(dtype type, const shape& domain, int axis) {
        shape s;
        for (int i = 0; i < domain.rank(); ++i) s.push_back(axis < 0 || i == axis ? domain[i] : 1);
        std::vector<std::int32_t> list(static_cast<std::size_t>(element_count(s)));
        for (std::size_t i = 0; i < list.size(); ++i) list[i] = static_cast<std::int32_t>(i);
        const value v = w_.constant(dtype::i32, s, as_bytes(span(list)));
        return converted(v, type == dtype::i64 ? dtype::i32 : type);
    }

    // shader operators ----------------------------------------------------------------------------
    value write(const node& n, const kernel_op& op) {
        const std::shared_ptr<const own_shader>& s = op.call->what->shader;
        if (!s) tosa_writer::lacks({"operators for the kernel ", op.call->what->name});
        std::vector<value>& all = calls_[op.results.get()];
        if (all.empty()) {
            std::vector<value> in, out;
            for (std::size_t i = 0; i < n.inputs.size(); ++i) in.push_back(input(n, i));
            for (const kernel_value& v : op.call->outputs)
                out.push_back({"", v.dtype, with_axis(v.shape)});
            all = w_.op("custom", in, out, attributes_of(*s, *op.call));
        }
        return all[static_cast<std::size_t>(op.output)];
    }
    std::map<const kernel_results*, std::vector<value>> calls_;
    std::vector<node_ptr> held_;
};

}}}}  // namespace pumice::PUMICE_ABI::vgf::detail
