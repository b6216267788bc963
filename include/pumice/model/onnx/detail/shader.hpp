// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Operators of the domain com.arm.VulkanCustomShader: the operator's name is the shader's, one
// attribute says the rest (model/shader_attributes.hpp).
#pragma once

#include <pumice/graph/custom_kernel.hpp>
#include <pumice/model/onnx/detail/node_builder.hpp>
#include <pumice/model/shader_attributes.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx {

/// A shader operator as it was read, or why it cannot be built.
struct own_shader_node {
    std::shared_ptr<const custom_kernel> kernel;
    std::optional<error> refusal;
};

namespace build {

inline any_tensor run_shader(node_builder& b) {
    b.ignore("implementation_attrs");
    const own_shader_node& own = *b.at().shader;
    if (own.refusal) throw *own.refusal;
    std::vector<any_tensor> inputs;
    for (int i = 0; i < b.inputs(); ++i) inputs.push_back(b.tensor(i));
    std::vector<any_tensor> made = call_kernel(own.kernel, inputs, {}, [&] { return b.home(); });
    for (std::size_t k = 1; k < made.size(); ++k) b.set(k, made[k]);
    return made[0];
}

}  // namespace build

namespace detail {

inline constexpr op_row shader_row{"", &build::run_shader};

/// What the file says of an output: its shape where all of it is known.
inline std::optional<shape> declared_shape(const model_proto& m, std::string_view name) {
    for (const auto* list : {&m.outputs, &m.values})
        for (const value_info& v : *list) {
            if (v.name != name || !v.has_shape) continue;
            std::vector<std::int64_t> dims;
            for (const dimension& d : v.dims) dims.push_back(d.size);
            if (std::all_of(dims.begin(), dims.end(), [](std::int64_t d) { return d >= 0; }) &&
                dims.size() <= max_rank)
                return shape(dims);
        }
    return std::nullopt;
}

/// Reads a shader operator. What is wrong with it is kept until somebody builds it: a provider may
/// take it first.
inline void take_shader(resolved_node& s, const model_proto& m) {
    const node_proto& n = *s.from;
    const auto own = std::make_shared<own_shader_node>();
    s.row = &shader_row;
    s.shader = own;
    try {
        const attribute* text = nullptr;
        for (const attribute& a : n.attributes)
            if (a.name == "implementation_attrs") text = &a;
        if (!text || text->type != attribute_type::text)
            throw error(errc::bad_file, "shader operator",
                        cat({n.op_type.substr(0, 64),
                             text ? " has \"implementation_attrs\" of another type than a string"
                                  : " lacks the attribute \"implementation_attrs\""}));
        if (n.outputs.empty())
            throw error(errc::bad_file, "shader operator",
                        cat({n.op_type.substr(0, 64), " has no outputs"}));
        shader_attributes a = parse_shader_attributes(text->text, n.op_type.substr(0, 64),
                                                      n.inputs.size(), n.outputs.size());
        kernel_options how;
        how.inputs.resize(n.inputs.size());
        for (std::size_t i = 0; i < n.inputs.size(); ++i)
            if (a.inputs[i]) how.inputs[i].type = *a.inputs[i];
        how.outputs.resize(n.outputs.size());
        for (std::size_t i = 0; i < n.outputs.size(); ++i) {
            if (a.outputs[i]) how.outputs[i].type = *a.outputs[i];
            how.outputs[i].shape = declared_shape(m, n.outputs[i]);
            if (n.inputs.empty() && !(a.outputs[i] && how.outputs[i].shape))
                throw error(errc::bad_file, "shader operator",
                            cat({n.op_type.substr(0, 64),
                                 " has no inputs, and the file does not "
                                 "say type and shape of output ",
                                 i}));
        }
        a.shader.file = m.from.name;
        own->kernel = make_shader_kernel(std::move(a.shader), std::move(how));
    } catch (const error& e) {
        own->refusal = e;
    }
}

}  // namespace detail

}}}  // namespace pumice::PUMICE_ABI::onnx
