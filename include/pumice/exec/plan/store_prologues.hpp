// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Fused groups split again: what a kernel would compute again and again as it reads is stored by a
// kernel of its own first, where that takes less.
#pragma once

#include <pumice/exec/plan/ask_for_places.hpp>
#include <pumice/exec/plan/lower.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

class prologue_storing {
public:
    prologue_storing(const device_info& device, array_list<kernel_group>& out)
        : device_(device), out_(out) {}

    /// Adds the group, behind those that store its prologues.
    void add(kernel_group g) {
        if (g.anchor && g.anchor->op().fusion().repeats_prologue && !g.inlined.empty()) {
            double together = seconds_of(g);
            for (graph_node* input : g.anchor->inputs) {
                while (!input->is_given() && input->op().is<view_op>()) input = input->inputs[0];
                if (!contains(g.inlined, input)) continue;
                kernel_group first{nullptr, {input}, {}}, rest{g.anchor, g.outputs, {}};
                collect(g, *input, nullptr, first.inlined);
                for (graph_node* n : g.anchor->inputs) visit(g, n, input, rest.inlined);
                for (graph_node* n : g.outputs)
                    if (n != g.anchor) collect(g, *n, input, rest.inlined);
                const double before = seconds_of(first), after = seconds_of(rest);
                if (before < 0 || after < 0 || before + after >= together) continue;
                out_.push_back(std::move(first));
                g = std::move(rest);
                together = after;
            }
        }
        out_.push_back(std::move(g));
    }

private:
    static bool contains(const array_list<graph_node*>& list, const graph_node* n) {
        return std::find(list.begin(), list.end(), n) != list.end();
    }
    /// Adds the members of the group that `n` is computed from, but for the anchor and `stored`.
    void collect(const kernel_group& g, const graph_node& n, const graph_node* stored,
                 array_list<graph_node*>& to) {
        for (graph_node* input : n.inputs) visit(g, input, stored, to);
    }
    void visit(const kernel_group& g, graph_node* n, const graph_node* stored,
               array_list<graph_node*>& to) {
        const std::size_t first = to.size();
        const auto open = [&](graph_node* each) {
            while (each != g.anchor && !each->is_given() && each->op().is<view_op>())
                each = each->inputs[0];
            if (each != stored && contains(g.inlined, each) && !contains(to, each))
                to.push_back(each);
        };
        open(n);
        for (std::size_t i = first; i < to.size(); ++i)
            for (graph_node* input : to[i]->inputs) open(input);
    }
    /// Expected of the group's steps; negative where a kernel does not take it whole.
    double seconds_of(const kernel_group& g) const {
        plan_builder trial;
        if (!lowering(g, no_parts_).run(trial)) return -1;
        double sum = 0;
        for (const plan_step& s : trial.made.steps) {
            const double seconds = seconds_at(s.what, device_, 0);
            if (seconds < 0) return -1;
            sum += seconds;
        }
        return sum;
    }

    const device_info& device_;
    array_list<kernel_group>& out_;
    part_map no_parts_;
};

}  // namespace detail

/// The groups, some of them split. The library's last pass.
inline array_list<kernel_group> store_prologues(array_list<kernel_group> groups,
                                                const device_info& device) {
    array_list<kernel_group> split;
    detail::prologue_storing each(device, split);
    for (kernel_group& g : groups) each.add(std::move(g));
    return split;
}

}}  // namespace pumice::PUMICE_ABI
