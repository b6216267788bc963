// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The passes that a graph goes through before it is fused and lowered, in order. One more has a
// name to be left out by: "store_prologues" (store_prologues.hpp), which splits what was fused.
#pragma once

#include <pumice/graph/passes/merge_equal.hpp>
#include <pumice/policy/pass_list.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

struct library_pass {
    std::string_view name;
    void (*run)(op_graph&);
};
inline constexpr library_pass library_passes[] = {{"merge_equal", merge_equal}};

inline bool is_left_out(std::string_view pass, const policy_set& policies) {
    if (!policies.passes) return false;
    const std::vector<std::string>& names = policies.passes->left_out;
    return std::find(names.begin(), names.end(), pass) != names.end();
}

/// Throws errc::invalid_argument where a pass is left out that there is not.
inline void check_left_out(const pass_list& list) {
    std::vector<std::string> known{"store_prologues"};
    for (const library_pass& p : library_passes) known.emplace_back(p.name);
    for (const graph_pass& p : list.added) known.push_back(p.name);
    for (const std::string& name : list.left_out)
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            std::vector<std::string> reasons;
            for (const std::string& pass : known) reasons.push_back(cat({"there is ", pass}));
            throw error(errc::invalid_argument, "without_pass", cat({"there is no pass ", name}),
                        std::move(reasons));
        }
}

/// Those of the library, which have no work where each op is a kernel of its own, then the user's.
inline void run_passes(op_graph& graph, const policy_set& policies) {
    const pass_list* const list = policies.passes.get();
    const auto watch = [&](std::string_view name) {
        if (list && list->watch) list->watch(graph, name);
    };
    const auto run = [&](std::string_view name, const auto& pass) {
        if (is_left_out(name, policies)) return;
        pass(graph);
        if (list && list->sort_and_check) list->sort_and_check(graph, name);
        else graph.sort(name);
        watch(name);
    };
    watch({});
    if (policies.fusion)
        for (const library_pass& p : library_passes) run(p.name, p.run);
    if (!list || list->added.empty()) return;
    graph.name_numbers();
    for (const graph_pass& p : list->added) run(p.name, p.run);
}

}}  // namespace pumice::PUMICE_ABI
