// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a format of models brings: a signature, and who builds the graph. `model` does the rest.
#pragma once

#include <pumice/model/detail/weights.hpp>
#include <pumice/model/signature.hpp>

#include <string_view>

namespace pumice { inline namespace PUMICE_ABI {

/// Thrown by a builder where the graph depends on a value that only a run has, and there is none.
class needs_value : public error {
public:
    using error::error;
};

/// A value of a model with the type and shape that it has for certain shapes of the inputs.
struct inferred_value {
    std::string name;
    dtype type;
    pumice::shape shape;
};

/// Inputs of these shapes without values, for a graph that is built and not run. Throws
/// errc::invalid_argument for another number of them than the signature has.
inline std::vector<any_tensor> abstract_inputs(const model_signature& s, span<const shape> shapes,
                                               const weights& constants) {
    if (shapes.size() != s.inputs.size())
        throw error(errc::invalid_argument, "model",
                    s.name + ": takes " + std::to_string(s.inputs.size()) + " inputs, got " +
                        std::to_string(shapes.size()) + " shapes",
                    s.lines());
    std::vector<any_tensor> list;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        list.push_back(make_abstract(s.inputs[i].dtype, shapes[i]));
        list.back().get()->owner = constants.where().get();
    }
    return list;
}

/// A file that was read and checked: immutable once it is loaded, and asked by several threads.
class model_builder {
public:
    virtual ~model_builder() = default;
    model_builder(const model_builder&) = delete;
    model_builder& operator=(const model_builder&) = delete;

    /// As the file says it.
    const model_signature& signature() const noexcept { return signature_; }

    /// The outputs, in the order of the signature, over inputs that fit it, as the functions of
    /// typed code make them. `constants` keeps what the file holds on the device: a constant that
    /// comes out is brought there. With constants.compute() it is computed in that type.
    virtual std::vector<any_tensor> build(span<const any_tensor> inputs,
                                          weights& constants) const = 0;

    /// The same once, when the model is loaded, over inputs that have no values (open axes are 1):
    /// may check what a run does not. `fixed`: the inputs have the shapes of every run. Throws
    /// needs_value where only a run knows more.
    virtual std::vector<any_tensor> build_first(span<const any_tensor> inputs, weights& constants,
                                                bool fixed) const {
        static_cast<void>(fixed);
        return build(inputs, constants);
    }
    /// The last call while the model is loaded: gives weights::keep all constants that a run may
    /// ask for, has weights::fill read them, and closes the files.
    virtual void finish(weights& constants) { constants.fill(); }

    /// Types and shapes of values for these shapes of the inputs, as far as the format has names
    /// for them. Runs nothing.
    virtual std::vector<inferred_value> infer_shapes(span<const shape> shapes,
                                                     weights& constants) const {
        const std::vector<any_tensor> inputs = abstract_inputs(signature_, shapes, constants);
        std::vector<inferred_value> found;
        const auto list = [&](span<const any_tensor> values,
                              const std::vector<model_value>& names) {
            for (std::size_t i = 0; i < values.size(); ++i)
                found.push_back({names[i].name, values[i].dtype(), values[i].shape()});
        };
        list(inputs, signature_.inputs);
        list(build_first(inputs, constants, false), signature_.outputs);
        return found;
    }
    /// The model as text.
    virtual std::string dump(span<const shape> shapes, weights& constants) const {
        std::string text = signature_.name + "\n";
        for (const inferred_value& v : infer_shapes(shapes, constants))
            text += v.name + " " + std::string(to_string(v.type)) + " " + to_string(v.shape) + "\n";
        return text;
    }

protected:
    model_builder() = default;
    model_signature signature_;
};

}}  // namespace pumice::PUMICE_ABI
