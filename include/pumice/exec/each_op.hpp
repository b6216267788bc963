// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Evaluations of which a policy sees each op (policy/each_op.hpp): copies of the lazy nodes run one
// by one before these do.
#pragma once

#include <pumice/graph/graph_copy.hpp>
#include <pumice/policy/each_op.hpp>
#include <pumice/tensor/engine.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// `evaluate(node)` realises one, `fetch(node, out)` copies a realised one's values.
template <class Evaluate, class Fetch>
void show_each_op(std::span<const node_ptr> roots, const policy_set& policies, Evaluate&& evaluate,
                  Fetch&& fetch) {
    struct shown final : computed_op {
        Evaluate& evaluate;
        Fetch& fetch;
        shown(const node& op, const node_ptr& values, Evaluate& e, Fetch& f)
            : computed_op(op, values), evaluate(e), fetch(f) {}
        void read(const node_ptr& n, void* out) const override {
            if (!n->realised()) evaluate(n);
            fetch(n, out);
        }
    };
    array_list<graph_copy::pair> made;
    {
        graph_copy copies;
        for (const node_ptr& root : roots) copies.of(root);
        made = std::move(copies.made);
    }
    for (graph_copy::pair& each : made) {
        const graph_copy::pair now = std::move(each);  // its values go when nobody reads them more
        if (is_view(*now.copy)) continue;
        shown op(*now.from, now.copy, evaluate, fetch);
        op.inputs = now.copy->inputs;
        evaluate(now.copy);
        policies.each_op(op);
    }
}

/// What a compiled function is under such a policy: the nodes that it was traced to, copied over
/// the inputs of each run and evaluated. Whoever has it keeps the engine.
class stepwise_graph final : public prepared_graph {
public:
    stepwise_graph(engine& home, const traced_graph& g) : home_(home), graph_(g) {}

    submission run(std::span<const any_tensor> inputs, std::span<const std::uint32_t> keys,
                   std::span<any_tensor> outputs, stop_view stop, bool) override {
        if (stop.stop_requested()) throw error(errc::cancelled, "run", "it was asked to stop");
        graph_copy copies;
        for (std::size_t i = 0; i < inputs.size(); ++i)
            copies.stands_for(graph_.inputs[i], inputs[i].get());
        for (std::size_t i = 0; i < keys.size(); ++i)
            copies.stands_for(graph_.keys[i], home_.create(dtype::u32, {}, &keys[i]));
        array_list<node_ptr> results;
        for (const node_ptr& n : graph_.outputs) results.push_back(copies.of(n));
        home_.eval(results);
        for (std::size_t i = 0; i < results.size(); ++i) outputs[i] = any_tensor(results[i]);
        return {};
    }
    std::string explain() const override {
        return "each op alone, shown to a policy of the context; then as any evaluation\n";
    }

private:
    engine& home_;
    traced_graph graph_;
};

}}  // namespace pumice::PUMICE_ABI
