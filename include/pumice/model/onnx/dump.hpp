// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a model is, as text: its inputs, every step with the shapes that inference gives, its
// outputs.
#pragma once

#include <pumice/model/onnx/resolve.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx {

/// Types and shapes of all values for these input shapes, in the order of the steps, inputs first.
/// Needs no device and computes nothing. Throws what building the graph throws.
inline std::vector<inferred_value> infer_shapes(const resolved_model& p, span<const shape> inputs,
                                                std::optional<dtype> compute = {}) {
    if (inputs.size() != p.inputs.size())
        throw error(errc::invalid_argument, "onnx",
                    p.file.from.name + " takes " + std::to_string(p.inputs.size()) +
                        " inputs, got " + std::to_string(inputs.size()));
    std::vector<any_tensor> places;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        places.push_back(make_abstract(*to_dtype(p.input_info[i].elem_type), inputs[i]));
    const auto slots = build_graph(p, places, nullptr, compute);
    std::vector<inferred_value> all;
    const auto put = [&](int slot) {
        const any_tensor& t = slots[static_cast<std::size_t>(slot)];
        all.push_back({std::string(p.names[static_cast<std::size_t>(slot)]), t.dtype(), t.shape()});
    };
    for (int i : p.inputs) put(i);
    for (const resolved_node& s : p.steps)
        for (int o : s.outputs)
            if (o >= 0) put(o);
    return all;
}

namespace detail {
inline std::string text_of(const any_tensor& t) {
    return std::string(to_string(t.dtype())) + " " + to_string(t.shape());
}
}  // namespace detail

/// One line a value and a step: `7 Conv node : x f32 (1, 1, 28, 28), w f32 (8, 1, 5, 5) -> y f32
/// (1, 8, 28, 28)`.
inline std::string dump(const resolved_model& p, span<const shape> inputs,
                        std::optional<dtype> compute = {}) {
    infer_shapes(p, inputs, compute);  // its messages name what does not fit
    std::vector<any_tensor> places;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        places.push_back(make_abstract(*to_dtype(p.input_info[i].elem_type), inputs[i]));
    const auto slots = build_graph(p, places, nullptr, compute);
    const auto value = [&](int slot) {
        const auto s = static_cast<std::size_t>(slot);
        return std::string(p.names[s]) + " " + detail::text_of(slots[s]);
    };
    std::string text = p.file.from.name + ": ";
    if (!p.file.producer.empty())
        text += std::string(p.file.producer) + " " + std::string(p.file.producer_version) + ", ";
    text += "IR " + std::to_string(p.file.ir_version);
    for (const opset& o : p.file.opsets)
        text += ", " + (o.domain.empty() ? "ai.onnx" : std::string(o.domain)) + " " +
                std::to_string(o.version);
    text += ", " + std::to_string(p.file.nodes.size()) + " nodes, " + std::to_string(p.folded) +
            " folded, " + std::to_string(p.steps.size()) + " steps\n";
    for (int i : p.inputs) text += "input  " + value(i) + "\n";
    for (const resolved_node& s : p.steps) {
        text += std::to_string(s.number) + " " + std::string(s.from->op_type) +
                (s.from->name.empty() ? "" : " " + std::string(s.from->name)) + " : ";
        bool first = true;
        for (int i : s.inputs) {
            if (i >= 0) text += (first ? "" : ", ") + value(i);
            first = first && i < 0;
        }
        text += " -> ";
        first = true;
        for (int o : s.outputs) {
            if (o >= 0) text += (first ? "" : ", ") + value(o);
            first = first && o < 0;
        }
        text += "\n";
    }
    for (int o : p.outputs) text += "output " + value(o) + "\n";
    return text;
}

}}}  // namespace pumice::PUMICE_ABI::onnx
