// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Lazy tensors as passes see them, and the kernels and steps that are made of them.
#pragma once

#include <pumice/exec/plan/lower.hpp>
#include <pumice/graph/any_tensor.hpp>

#include <vector>

namespace pumice_test {

/// The words of the key of evaluating a tensor.
inline pumice::array_list<std::uint64_t> key_of(const pumice::any_tensor& root) {
    pumice::graph_walk walk;
    walk.go({&root.get(), 1});
    return walk.key().words();
}

/// Views of memory stay lazy.
struct walked_graph {
    pumice::graph_walk walk;
    pumice::op_graph graph;

    explicit walked_graph(std::span<const pumice::node_ptr> roots)
        : graph((walk.go(roots, false), walk), roots) {}
    explicit walked_graph(const pumice::any_tensor& root) : walked_graph({&root.get(), 1}) {}
    explicit walked_graph(const std::vector<pumice::any_tensor>& roots)
        : walked_graph(nodes_of(roots)) {}

    pumice::graph_node* at(const pumice::any_tensor& t) const {
        return &graph[walk.number_of(t.get().get())];
    }
    pumice::array_list<pumice::kernel_group> groups(bool enabled = true) {
        return pumice::fuser(graph, enabled).run();
    }
    /// The steps and the nodes behind their values, as they are planned without policies.
    pumice::plan_builder lowered(bool enabled = true) {
        pumice::plan_builder b;
        pumice::lower(b, groups(enabled), graph);
        return b;
    }

private:
    static pumice::array_list<pumice::node_ptr> nodes_of(const std::vector<pumice::any_tensor>&
                                                             tensors) {
        pumice::array_list<pumice::node_ptr> list;
        for (const pumice::any_tensor& t : tensors) list.push_back(t.get());
        return list;
    }
};

}  // namespace pumice_test
