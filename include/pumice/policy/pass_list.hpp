// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The passes of a context: what engines know of them.
#pragma once

#include <pumice/policy/policies.hpp>

namespace pumice { inline namespace PUMICE_ABI {

class op_graph;

/// A rewrite of what an evaluation computes, before kernels are chosen (graph/op_graph.hpp): as a
/// policy, one of the user's own that runs after the library's. It must not change values but by
/// rounding. What it leaves is checked: an evaluation throws errc::invalid_argument where a type, a
/// shape or the order is wrong. What it throws ends the evaluation too, and tensors stay lazy.
struct graph_pass {
    std::string name;
    callback<void(op_graph&)> run;
    void apply(policy_set& set) const;  // policy/passes.hpp
};

struct pass_list {
    std::vector<graph_pass> added;      // behind the library's, in order
    std::vector<std::string> left_out;  // by name
    /// Sorts a graph and holds it to its rules after each pass; null: there are only the library's.
    void (*sort_and_check)(op_graph&, std::string_view pass) = nullptr;
    /// Told the graph after each pass, and, with an empty name, before the first.
    callback<void(const op_graph&, std::string_view)> watch;

    /// A copy of the set's list, which is the set's from now on.
    static pass_list& of(policy_set& set) {
        const auto own =
            set.passes ? std::make_shared<pass_list>(*set.passes) : std::make_shared<pass_list>();
        set.passes = own;
        return *own;
    }
};

}}  // namespace pumice::PUMICE_ABI
