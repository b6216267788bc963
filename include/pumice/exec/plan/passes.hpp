// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The passes that a graph goes through before it is fused and lowered, in order.
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

/// Those of the library, which have no work where each op is a kernel of its own, then the user's.
inline void run_passes(op_graph& graph, const policy_set& policies) {
    const pass_list* const list = policies.passes.get();
    const auto watch = [&](std::string_view name) {
        if (list && list->watch) list->watch(graph, name);
    };
    const auto run = [&](std::string_view name, const auto& pass) {
        if (list &&
            std::find(list->left_out.begin(), list->left_out.end(), name) != list->left_out.end())
            return;
        pass(graph);
        graph.sort();
        if (list && list->check) list->check(graph, name);
        watch(name);
    };
    watch({});
    if (policies.fusion)
        for (const library_pass& p : library_passes) run(p.name, p.run);
    if (list)
        for (const graph_pass& p : list->added) run(p.name, p.run);
}

}}  // namespace pumice::PUMICE_ABI
