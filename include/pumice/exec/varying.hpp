// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Functions with varying axes in the library's engines: a recording with a number of each run, or a
// plan that is filled in for each extent.
#pragma once

#include <pumice/exec/plan/varying_plan.hpp>
#include <pumice/exec/vulkan/executable.hpp>
#include <pumice/tensor/varying.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// In an engine that records nothing: the plan with the numbers of a run's extent, kept for the
/// last few extents.
class replayed_range final : public prepared_graph {
public:
    /// `largest`: with the plan for the largest extent.
    replayed_range(graph_engine& home, evaluation&& largest)
        : home_(home), keep_(home.shared_from_this()), largest_(std::move(largest)) {}

    bool takes(std::size_t input, const shape& s) const override {
        return what().range->takes(input, s);
    }
    const plan* planned() const noexcept override { return &what(); }
    std::vector<any_tensor> constants() const override { return largest_.constants(); }
    std::string explain() const override { return known(largest_extent)->explain(); }

    submission run(span<const any_tensor> inputs, span<const std::uint32_t> keys,
                   span<any_tensor> outputs, stop_view stop, bool donated) override {
        return known(what().range->extent_of(inputs))->run(inputs, keys, outputs, stop, donated);
    }

private:
    static constexpr std::int64_t largest_extent = -1;
    static constexpr std::size_t most = 8;
    struct filled {
        std::int64_t extent;
        std::shared_ptr<prepared_graph> graph;
    };

    const plan& what() const noexcept { return largest_.run.what(); }

    std::shared_ptr<prepared_graph> known(std::int64_t extent) const {
        {
            const small_lock lock(mutex_);
            for (std::size_t i = 0; i < filled_.size(); ++i)
                if (filled_[i].extent == extent) {
                    for (; i > 0; --i) std::swap(filled_[i], filled_[i - 1]);
                    return filled_.front().graph;
                }
        }
        plan p = extent == largest_extent ? what() : what().range->at(extent, true);
        // What runs nothing asks for the kernels that a device is asked for.
        p.range = home_.computes() ? nullptr : what().range;
        evaluation e = evaluation_of(std::move(p));
        e.run.given = largest_.run.given;
        e.keep = largest_.keep;
        std::shared_ptr<prepared_graph> made = replay(home_, std::move(e), kept_by::user);
        const small_lock lock(mutex_);
        filled_.insert(filled_.begin(), {extent, made});
        if (filled_.size() > most) filled_.pop_back();
        return made;
    }

    graph_engine& home_;
    std::shared_ptr<engine> keep_;
    evaluation largest_;
    mutable small_mutex mutex_;
    mutable array_list<filled> filled_;  // the last used first
};

template <int>
std::shared_ptr<prepared_graph> prepare_range(engine& home, const traced_range& r) {
    if (home.policies().each_op)
        fail(errc::unsupported, "compile",
             {"a context that shows each op to a policy (check_finite, watch_ops) runs no function "
              "of varying lengths; compile it for a length"});
    auto* const maker = dynamic_cast<graph_engine*>(&home);
    if (!maker) fail(errc::unsupported, "varying", {"the engine of this context has no plans"});
    array_list<evaluation> traced;
    array_list<const plan*> plans;
    for (std::size_t k = 0; k < r.graphs.size(); ++k)
        traced.push_back(maker->plan_of(r.graphs[k], false));
    for (const evaluation& e : traced) {
        plans.push_back(&e.run.what());
        if (e.run.what().decisions) continue;  // varying_plan says what is the matter
        for (const int v : e.run.what().constants) {
            const auto number = static_cast<std::size_t>(v);
            const node* const n =
                number < traced[0].run.given.size() ? traced[0].run.given[number] : nullptr;
            if (!n || n->data != e.run.given[number]->data ||
                n->offset != e.run.given[number]->offset)
                fail(errc::unsupported, "varying",
                     {"a constant of the function is another one for another extent"});
        }
    }
    varying_inputs inputs{{}, r.axes, r.least, r.most, r.why_not_less};
    for (std::size_t i = 0; i < r.axes.size(); ++i) {
        inputs.shapes.push_back(r.graphs[0].inputs[i]->extent);
        for (const std::int64_t axis : r.axes[i])
            inputs.shapes.back()[static_cast<int>(axis)] = r.most;
    }
    const auto range = std::make_shared<const varying_plan>(std::move(inputs), r.first, plans);
    // Passes of the user's may have decided by numbers that follow the extent.
    const pass_list* const passes = home.policies().passes.get();
    if (passes && !passes->added.empty())
        for (const auto& [extent, graph] : r.others)
            range->must_be(maker->plan_of(graph, false).run.what(), extent);
    evaluation e = evaluation_of(range->largest());
    e.run.planned->range = range;
    e.run.given = std::move(traced[0].run.given);
    e.keep = std::move(traced[0].keep);
    maker->count_plan();
    return maker->records() ? prepare_plan(*maker, std::move(e))
                            : std::make_shared<replayed_range>(*maker, std::move(e));
}

}}  // namespace pumice::PUMICE_ABI
