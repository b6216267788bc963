// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What is asked of a family of ops that is not the library's own, the type of its ops forgotten.
#pragma once

#include <pumice/graph/custom_kernel.hpp>

namespace pumice { inline namespace PUMICE_ABI {

class graph_key;

struct op_functions {
    std::string (*describe)(const void* op);
    void (*add_words)(const void* op, graph_key& key);
    kernel_value (*result_of)(const void* op, span<const kernel_value> inputs);
};

namespace detail {

template <op_family Op>
struct functions_of_family {
    static std::string describe_op(const void* op) {
        if constexpr (requires { describe(*static_cast<const Op*>(op)); })
            return describe(*static_cast<const Op*>(op));
        else return std::string(Op::name);
    }
    static void add_op_words(const void* op, graph_key& key) {
        if constexpr (requires { add_words(*static_cast<const Op*>(op), key); })
            add_words(*static_cast<const Op*>(op), key);
        else
            static_assert(std::is_empty_v<Op>,
                          "an op with data has a function `void add_words(op, graph_key&)`");
    }
    static kernel_value result_of_op(const void* op, span<const kernel_value> inputs) {
        return result_of(*static_cast<const Op*>(op), inputs);
    }
    static constexpr op_functions value{describe_op, add_op_words, result_of_op};
};

}  // namespace detail

template <class Op>
const op_functions& functions_of() {
    return detail::functions_of_family<Op>::value;
}

/// A tensor that an op computes from these, of the type and shape that `result_of(op, inputs)`
/// says. Throws what that throws, and errc::context_mismatch.
template <op_family Op>
any_tensor apply(Op op, span<const any_tensor> inputs) {
    array_list<kernel_value> values;
    array_list<node_ptr> nodes;
    for (const any_tensor& t : inputs) {
        values.push_back({t.dtype(), t.shape()});
        nodes.push_back(t.get());
    }
    const kernel_value made = result_of(op, span(values.data(), values.size()));
    return any_tensor(make_node(made.dtype, made.shape, std::move(op), std::move(nodes)));
}
template <op_family Op>
any_tensor apply(Op op, std::initializer_list<any_tensor> inputs) {
    return apply(std::move(op), span(inputs.begin(), inputs.size()));
}

}}  // namespace pumice::PUMICE_ABI
