// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Policies of passes: rewrites of what an evaluation computes. For who writes one; <pumice.hpp>
// does not include it.
#pragma once

#include <pumice/graph/passes/verify_graph.hpp>
#include <pumice/policy/pass_list.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Sorts the graph. Throws errc::invalid_argument that names the pass and what it got wrong.
inline void sort_and_check(op_graph& graph, std::string_view pass) {
    const auto refuse = [&](std::vector<std::string> faults) {
        if (!faults.empty())
            throw error(errc::invalid_argument, "pass", cat({"the graph is wrong after ", pass}),
                        std::move(faults));
    };
    refuse(verify_links(graph));
    graph.sort(pass, describe);
    refuse(verify(graph));
}

inline void graph_pass::apply(policy_set& set) const {
    pass_list& list = pass_list::of(set);
    list.added.push_back({name, [pass = *this](op_graph& graph) {
                              try {
                                  pass.run(graph);
                              } catch (const error& e) {
                                  std::vector<std::string> reasons = e.reasons();
                                  reasons.push_back(cat({"thrown by the pass ", pass.name}));
                                  throw error(e.code(), e.where(), e.message(), std::move(reasons));
                              }
                          }});
    list.sort_and_check = &sort_and_check;
}

/// Leaves a pass out (exec/plan/passes.hpp names the library's).
struct without_pass {
    std::string name;
    void apply(policy_set& set) const { pass_list::of(set).left_out.push_back(name); }
};

/// Calls `seen(graph, pass)` after each pass, and before the first with an empty name.
template <class F>
struct watch_passes {
    F seen;
    void apply(policy_set& set) const { pass_list::of(set).watch = seen; }
};
template <class F>
watch_passes(F) -> watch_passes<F>;

}}  // namespace pumice::PUMICE_ABI
