// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// An op that is called, as functions of the user's see it that may take it before the library does.
#pragma once

#include <pumice/base/callback.hpp>
#include <pumice/base/span.hpp>
#include <pumice/graph/any_tensor.hpp>

#include <string_view>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

/// A node of a model's graph, as it is built into a graph of Pumice's, or an op that is called in a
/// context.
class op_request {
public:
    std::string_view op, domain;    // "Gelu", "" for ONNX's; "matmul", "pumice" for a call
    std::int64_t opset = 0;         // version of the domain's operators in the file; 0
    std::string_view name;          // of the node; may be empty
    span<const any_tensor> inputs;  // an empty tensor where one is left out
    std::size_t outputs = 0;

    /// Attributes, or `otherwise` where there is none of that name.
    virtual std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const = 0;
    virtual double real(std::string_view attribute, double otherwise) const = 0;
    virtual std::string_view text(std::string_view attribute, std::string_view otherwise) const = 0;
    virtual std::vector<std::int64_t> integers(std::string_view attribute) const = 0;

protected:
    ~op_request() = default;
};

/// Gives all outputs of an op, of the types and shapes that it has, or an empty list: it is not
/// handled. Providers are asked in the order in which `model::load` is given them, or a context is
/// (`provide_ops`), then the library's own way is taken. It must not read the inputs, which may
/// have no values.
using op_provider = callback<std::vector<any_tensor>(const op_request&)>;

}}  // namespace pumice::PUMICE_ABI
