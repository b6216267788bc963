// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// An ONNX file as `model` sees it.
#pragma once

#include <pumice/model/onnx/dump.hpp>
#include <pumice/model/onnx/reader.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx {

class builder final : public model_builder {
public:
    /// Throws errc::bad_file, errc::unsupported_op, errc::unsupported.
    builder(model_proto file, const load_options& o)
        : model_(resolve(std::move(file), o.limits, o.extra)) {
        signature_.name = model_.file.from.name;
        for (const value_info& v : model_.input_info) signature_.inputs.push_back(declared(v));
        for (const value_info& v : model_.file.outputs) signature_.outputs.push_back(declared(v));
        for (const resolved_node& step : model_.steps) find_quantization(step);
    }

    std::vector<any_tensor> build(span<const any_tensor> inputs,
                                  weights& constants) const override {
        return outputs_of(build_graph(model_, inputs, &constants, constants.compute()));
    }
    std::vector<any_tensor> build_first(span<const any_tensor> inputs, weights& constants,
                                        bool fixed) const override {
        const auto slots = build_graph(model_, inputs, &constants, constants.compute(), true);
        std::vector<any_tensor> outputs = outputs_of(slots);
        for (std::size_t i = 0; i < outputs.size(); ++i)
            if (const value_info& v = model_.file.outputs[i];
                v.elem_type != 0 && !to_dtype(v.elem_type))
                throw error(errc::bad_file, "model",
                            signature_.name + ": the output \"" + signature_.outputs[i].name +
                                "\" is declared as " + name_of_type(v.elem_type) + " and is " +
                                std::string(to_string(outputs[i].dtype())));
        compare(slots, constants.compute(), fixed);
        return outputs;
    }
    void finish(weights& constants) override {
        keep(model_, constants);
        constants.fill();
        if (model_.file.from.file) model_.file.from.file->close();
        close(model_);
    }

    std::vector<inferred_value> infer_shapes(span<const shape> shapes,
                                             weights& constants) const override {
        return onnx::infer_shapes(model_, shapes, constants.compute());
    }
    std::string dump(span<const shape> shapes, weights& constants) const override {
        return onnx::dump(model_, shapes, constants.compute());
    }

private:
    /// What runs may ask for, of graphs within graphs too.
    static void keep(const resolved_model& m, weights& constants) {
        const auto one = [&](int slot) {
            if (slot >= 0) constants.keep(m.constants[static_cast<std::size_t>(slot)]);
        };
        for (const resolved_node& step : m.steps) {
            for (int i : step.inputs) one(i);
            for (const auto& g : step.graphs)
                if (g) keep(*g, constants);
        }
        for (int o : m.outputs) one(o);
    }
    static void close(const resolved_model& m) {
        for (const auto& file : m.files) file->close();
        for (const resolved_node& step : m.steps)
            for (const auto& g : step.graphs)
                if (g) close(*g);
    }

    /// Of a constant, on the host or in a file.
    template <element To>
    static std::vector<To> read(const any_tensor& t) {
        return constant_of(t)->with_bytes([&](span<const std::byte> bytes) {
            return values_of<To>(t.dtype(), bytes, t.size());
        });
    }
    /// Of inputs that the step quantises or takes quantised, and of outputs that it gives so.
    void find_quantization(const resolved_node& step) {
        const std::string_view op = step.from->op_type;
        if ((op != "QuantizeLinear" && op != "DequantizeLinear") || step.inputs.size() < 2) return;
        const auto constant = [&](std::size_t input) {
            const int slot = input < step.inputs.size() ? step.inputs[input] : -1;
            return slot < 0 ? any_tensor() : model_.constants[static_cast<std::size_t>(slot)];
        };
        const any_tensor scale = constant(1), zero = constant(2);
        if (!scale.has_value() || !is_floating(scale.dtype())) return;
        std::optional<std::int64_t> axis;
        if (scale.size() > 1) axis = 1;
        for (const attribute& a : step.from->attributes) {
            if (a.name == "block_size" && a.integer != 0) return;
            if (a.name == "axis" && axis) axis = a.integer;
        }
        const auto put = [&](model_value& v) {
            if (!v.scale.empty()) return;
            v.scale = read<float>(scale);
            v.zero_point.assign(v.scale.size(), 0);
            if (zero.has_value() && !is_floating(zero.dtype()))
                v.zero_point = read<std::int64_t>(zero);
            v.axis = axis;
            if (axis && *axis < 0 && v.has_shape) *v.axis += std::ssize(v.dims);
        };
        for (std::size_t i = 0; i < signature_.inputs.size() && i < model_.inputs.size(); ++i)
            if (model_.inputs[i] == step.inputs[0]) put(signature_.inputs[i]);
        for (std::size_t i = 0; i < signature_.outputs.size() && i < model_.outputs.size(); ++i)
            if (model_.outputs[i] == step.outputs[0]) put(signature_.outputs[i]);
    }
    static model_value declared(const value_info& v) {
        model_value m{std::string(v.name),
                      to_dtype(v.elem_type).value_or(dtype::f32),
                      {},
                      v.has_shape,
                      v.elem_type != 0};
        for (const dimension& d : v.dims) m.dims.push_back({d.size, std::string(d.symbol)});
        return m;
    }

    std::vector<any_tensor> outputs_of(const std::vector<any_tensor>& slots) const {
        std::vector<any_tensor> list;
        for (const int o : model_.outputs) list.push_back(slots[static_cast<std::size_t>(o)]);
        return list;
    }

    /// What the file says of values in between is what they are.
    void compare(span<const any_tensor> slots, std::optional<dtype> compute, bool fixed) const {
        const auto computed = [&](dtype t) { return compute && t == dtype::f32 ? *compute : t; };
        for (const auto& [slot, v] : model_.declared) {
            const any_tensor& made = slots[static_cast<std::size_t>(slot)];
            if (!made.has_value() || !v->is_tensor) continue;
            const auto type = to_dtype(v->elem_type);
            bool fits = v->elem_type == 0 || (type && computed(*type) == computed(made.dtype()));
            if (fixed) fits = fits && declared(*v).takes(made.shape());
            if (!fits)
                throw error(errc::bad_file, "model",
                            signature_.name + ": the value \"" + std::string(v->name) +
                                "\" is declared otherwise than it is: " +
                                std::string(to_string(made.dtype())) + " " +
                                to_string(made.shape()));
        }
    }

    resolved_model model_;
};

}}}  // namespace pumice::PUMICE_ABI::onnx
