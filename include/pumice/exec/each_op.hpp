// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Evaluations of which a policy sees each op (policy/each_op.hpp): copies of the lazy nodes run one
// by one before these do.
#pragma once

#include <pumice/exec/graph_engine.hpp>
#include <pumice/graph/graph_copy.hpp>
#include <pumice/policy/each_op.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// One of them. Pre: the caller has the engine's lock.
class shown_op final : public computed_op {
public:
    shown_op(const node& op, const node_ptr& values, graph_engine& home)
        : computed_op(op, values), home_(home) {}
    void read(const node_ptr& n, void* out) const override {
        if (!n->realised()) evaluate(home_, n);
        home_.fetch(n, out);
    }

    /// Shows all that an evaluation of these computes.
    static void show_all(graph_engine& home, span<const node_ptr> roots) {
        array_list<graph_copy::pair> made;
        {
            graph_copy copies;
            for (const node_ptr& root : roots) copies.of(root);
            made = std::move(copies.made);
        }
        for (graph_copy::pair& each : made) {
            // Its values go when nobody reads them more.
            const graph_copy::pair now = std::move(each);
            if (is_view(*now.copy)) continue;
            shown_op op(*now.from, now.copy, home);
            op.inputs = now.copy->inputs;
            evaluate(home, now.copy);
            home.policies().each_op(op);
        }
    }

private:
    static void evaluate(graph_engine& home, const node_ptr& n) {
        while (!home.evaluate_alone(span(&n, 1))) home.wait_for_claims();
    }
    graph_engine& home_;
};

/// What a compiled function is under such a policy: the nodes that it was traced to, copied over
/// the inputs of each run and evaluated. Whoever has it keeps the engine.
class stepwise_graph final : public prepared_graph {
public:
    stepwise_graph(engine& home, const traced_graph& g) : home_(home), graph_(g) {}

    submission run(span<const any_tensor> inputs, span<const std::uint32_t> keys,
                   span<any_tensor> outputs, stop_view stop, bool) override {
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

template <int>
const detail::op_showing& detail::showing_of_ops() {
    static constexpr op_showing how{
        shown_op::show_all,
        [](graph_engine& home, const traced_graph& g) -> std::shared_ptr<prepared_graph> {
            return std::make_shared<stepwise_graph>(home, g);
        }};
    return how;
}

}}  // namespace pumice::PUMICE_ABI
