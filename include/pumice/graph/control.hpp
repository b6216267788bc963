// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Branches and loops in the graph: one op whose work is graphs of its own.
#pragma once

#include <pumice/graph/build.hpp>
#include <pumice/graph/custom_kernel.hpp>

namespace pumice { inline namespace PUMICE_ABI {

enum class deciding : std::uint8_t {
    branch,  // which of its graphs is run
    loop     // how often its graph is run
};
constexpr std::string_view to_string(deciding d) noexcept {
    return d == deciding::branch ? "branch" : "loop";
}

/// What one call of `cond`, `while_loop`, `fori_loop` or `scan` shares with all of its results.
struct control_call {
    /// A graph, and for each of its inputs which of the call's it is.
    struct part {
        traced_graph graph;
        array_list<int> reads;
    };
    std::string name;  // of the function that the user called
    deciding what = deciding::branch;
    /// Of a branch: what runs where the call's input 0, a bool, is false, and where it is true. All
    /// have the call's results. Of a loop: the body. Its first inputs are the carried values, which
    /// are the call's first inputs and its results, and its outputs what they are in the next step.
    array_list<part> parts;
    int carried = 0;          // of a loop: values
    std::int64_t count = -1;  // of a loop: steps at most; -1: no bound
    /// Of a loop: whether it ends where a bool is false. That is before the first step the call's
    /// input behind the carried values, afterwards output 0 of the body, before the others.
    bool tested = false;
    std::int64_t wanted = -1;  // of a loop: steps that it has to take; -1: any number
    array_list<kernel_value> results;
};

/// One of the results of a call.
struct control_op {
    static constexpr std::string_view name = "control";
    static constexpr fusion_traits fusion{};
    std::shared_ptr<const control_call> call;
    int output = 0;
    std::shared_ptr<const kernel_results> results;
};

// In exec/plan/control.hpp.
template <>
PUMICE_OF_ENGINE bool lower_op<control_op>(const lowering& group, const control_op& op,
                                           plan_builder& out);
template <>
PUMICE_OF_ENGINE const op_functions& functions_of<control_op>();

/// The lazy results of a call over its inputs.
PUMICE_FUNCTION std::vector<any_tensor> make_control(std::shared_ptr<const control_call> call,
                                                     span<const any_tensor> inputs,
                                                     const std::shared_ptr<engine>& home);

#ifndef PUMICE_COMPILED

PUMICE_BODY std::vector<any_tensor> make_control(std::shared_ptr<const control_call> call,
                                                 span<const any_tensor> inputs,
                                                 const std::shared_ptr<engine>& home) {
    array_list<node_ptr> read;
    for (const any_tensor& t : inputs) read.push_back(copy(t).get());
    const auto results = std::make_shared<kernel_results>();
    std::vector<any_tensor> list;
    for (std::size_t i = 0; i < call->results.size(); ++i) {
        const kernel_value& v = call->results[i];
        node_ptr n =
            make_node(v.dtype, v.shape, control_op{call, static_cast<int>(i), results}, read);
        n->owner = home;
        results->push_back(n);
        list.emplace_back(std::move(n));
    }
    return list;
}

#endif

}}  // namespace pumice::PUMICE_ABI
