// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Plans that run often in an engine that records nothing.
#pragma once

#include <pumice/exec/graph_engine.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// A prepared graph of an engine that records nothing: each run hands the plan its inputs.
class replayed_graph final : public prepared_graph {
public:
    replayed_graph(graph_engine& home, evaluation&& e, kept_by by)
        : home_(home), keep_(home.keeper(by)), planned_(std::move(e)) {}

    const plan* planned() const noexcept override { return &planned_.run.what(); }
    std::vector<any_tensor> constants() const override { return planned_.constants(); }

    submission run(span<const any_tensor> inputs, span<const std::uint32_t> keys,
                   span<any_tensor> outputs, stop_view stop, bool donated) override {
        const std::lock_guard lock(home_.mutex_);
        plan_run& run = planned_.run;
        const plan& p = run.what();
        for (const any_tensor& t : inputs) home_.evaluate(span(&t.get(), 1));
        const borrowed lent{*this};
        run.givings = home_.what_gives(p, inputs, outputs, donated);
        for (std::size_t i = 0; i < inputs.size(); ++i)
            lend(p.inputs[i], home_.dense(inputs[i], 0));
        for (std::size_t i = 0; i < keys.size(); ++i)
            lend(p.parameters[i], home_.create(dtype::u32, {}, &keys[i]));
        keep_outputs(outputs);
        home_.execute(run, stop);
        std::vector<any_tensor> results;
        results.reserve(outputs.size());
        for (const int v : p.outputs) {
            if (const auto& kept = run.made[static_cast<std::size_t>(v)]) kept->lost = false;
            results.push_back(home_.make_tensor(p.at(v), run.made[static_cast<std::size_t>(v)],
                                                run.record_of(p.at(v))));
        }
        run.settle();
        std::move(results.begin(), results.end(), outputs.begin());
        return {};
    }
    std::string explain() const override {
        const std::lock_guard lock(home_.mutex_);
        return home_.text_of(planned_.run);
    }

private:
    /// The plan has tensors of a run only while it runs.
    struct borrowed {
        replayed_graph& from;
        ~borrowed() {
            plan_run& run = from.planned_.run;
            for (const int v : run.what().inputs) run.given[static_cast<std::size_t>(v)] = nullptr;
            for (const int v : run.what().parameters)
                run.given[static_cast<std::size_t>(v)] = nullptr;
            for (std::shared_ptr<storage>& m : run.made) m.reset();
            from.held_.clear();
        }
    };
    /// Outputs that nobody else holds are written where they lie, by an engine that looks.
    void keep_outputs(span<any_tensor> outputs) {
        plan_run& run = planned_.run;
        const plan& p = run.what();
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            const plan_value& v = p.at(p.outputs[i]);
            if (v.alias < 0 && home_.may_overwrite(outputs[i], v))
                run.made[static_cast<std::size_t>(p.outputs[i])] = outputs[i].get()->data;
        }
    }
    void lend(int value, node_ptr n) {
        planned_.run.given[static_cast<std::size_t>(value)] = n.get();
        held_.push_back(std::move(n));
    }
    graph_engine& home_;
    std::shared_ptr<engine> keep_;
    evaluation planned_;
    array_list<node_ptr> held_;
};

/// Makes a plan ready to run often, where the engine records none.
inline std::shared_ptr<prepared_graph> replay(graph_engine& home, evaluation&& e, kept_by by) {
    if (auto own = home.replay_own(std::move(e), by)) return own;
    const auto lock = home.lock_unless(by);
    return std::make_shared<replayed_graph>(home, std::move(e), by);
}

}}  // namespace pumice::PUMICE_ABI
