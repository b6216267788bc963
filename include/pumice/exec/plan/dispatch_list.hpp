// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// From the steps of a plan to dispatches: the kernels chosen, their launches in order, and which
// memory each touches.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/exec/chunks.hpp>
#include <pumice/exec/hazards.hpp>
#include <pumice/exec/plan/at_step.hpp>
#include <pumice/exec/plan/range.hpp>
#include <pumice/exec/select.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Whether kernels copy what crosses from one place to another, or the engine sees to it.
enum class transfers { by_kernel, by_engine };

/// The kernel of a step, and why: of one of the host's no launches.
inline choice choose_for(const plan& p, const plan_step& s, const device_info& device,
                         const policy_set& policies, transfers how) {
    const bool crosses = p.is_transfer(s);
    choice c;
    if (s.place == 0 && !s.what.kind().decisions && (!crosses || how == transfers::by_kernel)) {
        c = at_step(s, [&] {
            return p.range ? p.range->choose(p, static_cast<std::size_t>(&s - p.steps.data()),
                                             device, policies)
                           : choose(s.what, device, policies);
        });
        c.record->origin = origin_of(s);
        return c;
    }
    c.record = host_record(s);
    if (crosses) {
        c.record->kernel =
            p.at(s.outputs[0]).place == 0 ? "transfer to the device" : "transfer from the device";
        c.record->fused.clear();
        c.record->written = 0;
    } else if (!s.what.kind().decisions && !can_run(s.what, device)) {
        c.record->rejected = refusals(s.what, device);
    }
    return c;
}

class dispatch_list {
public:
    /// Chooses a kernel for each step that is not needless where those givings are carried out.
    /// Pre: the plan outlives the list.
    dispatch_list(const plan& p, giving_mask givings, const device_info& device,
                  const policy_set& policies, transfers how = transfers::by_kernel)
        : plan_(&p), givings_(givings) {
        array_list<int> giver(plan_->values.size(), -1);
        for (std::size_t k = 0; k < plan_->givings.size(); ++k)
            if (givings_.contains(static_cast<int>(k)))
                giver[static_cast<std::size_t>(plan_->givings[k].to)] = plan_->givings[k].from;
        for (std::size_t v = 0; v < plan_->values.size(); ++v) {
            const int root = plan_->root(static_cast<int>(v)),
                      from = giver[static_cast<std::size_t>(root)];
            memory_.push_back(from < 0 ? root : from);
        }
        choices_.reserve(plan_->steps.size());
        for (const plan_step& s : plan_->steps)
            choices_.push_back(givings_.contains(s.unless_given)
                                   ? choice()
                                   : choose_for(p, s, device, policies, how));
        for (std::size_t i = 0; i < choices_.size(); ++i)
            for (const launch& l : choices_[i].launches) {
                launches_.push_back(&l);
                step_of_.push_back(i);
            }
        for (const choice& c : choices_)
            if (c.record) written_ += c.record->written;
        std::size_t next = 0;  // launch
        for (std::size_t begin = 0, end = 0; begin < plan_->steps.size(); begin = end) {
            end = plan_->end_of_stage(begin);
            const std::size_t first = next;
            while (next < step_of_.size() && step_of_[next] < end) ++next;
            stages_.push_back({begin, end, first, next, plan_->steps[begin].place != 0});
        }
    }
    dispatch_list(const dispatch_list&) = delete;
    dispatch_list& operator=(const dispatch_list&) = delete;

    const plan& of() const noexcept { return *plan_; }
    giving_mask givings() const noexcept { return givings_; }

    /// In the order of the steps.
    const array_list<const launch*>& launches() const noexcept { return launches_; }
    std::size_t size() const noexcept { return launches_.size(); }
    std::size_t step_of(std::size_t dispatch) const noexcept { return step_of_[dispatch]; }

    /// f(), whose errors say which step the dispatch is of.
    template <class F>
    decltype(auto) at(std::size_t dispatch, F&& f) const {
        return at_step(plan_->steps[step_of_[dispatch]], f);
    }
    auto naming() const noexcept {
        return [this](std::size_t dispatch, auto&& f) { return at(dispatch, f); };
    }

    /// Of each step; null where the step is needless.
    std::shared_ptr<const kernel_record> record(std::size_t step) const noexcept {
        return choices_[step].record;
    }
    /// Bytes of results that all of it writes.
    std::int64_t written_bytes() const noexcept { return written_; }
    /// Bytes that the launches of a step share.
    std::int64_t scratch_bytes(std::size_t step) const noexcept { return choices_[step].scratch; }

    /// The value in whose memory a value lies, and which holds it alone.
    int memory_of(int value) const noexcept { return memory_[static_cast<std::size_t>(value)]; }

    /// What a launch calls `buffer`: the value in whose memory it lies, or the scratch memory of
    /// its step, whose numbers follow those of the values.
    std::size_t memory_of(std::size_t dispatch, int buffer) const noexcept {
        const std::size_t step = step_of_[dispatch];
        if (buffer < 0) return plan_->values.size() + step;
        return static_cast<std::size_t>(memory_of(plan_->steps[step]
                                                      .buffers[static_cast<std::size_t>(buffer)]));
    }
    bool is_scratch(std::size_t memory) const noexcept { return memory >= plan_->values.size(); }

    /// Runs of steps at one place, with the places of their launches in `order`.
    const array_list<stage>& stages() const noexcept { return stages_; }

    /// The dispatches of each stage bunched, each with a barrier before it where a hazard among
    /// them asks for one, and where a stage begins behind another.
    array_list<placed_item> order() const {
        array_list<placed_item> placed;
        for (const stage& s : stages_) {
            array_list<placed_item> part = order(s);
            if (!part.empty() && !placed.empty()) part[0].barrier = true;
            placed.append(part.begin(), part.end());
        }
        return placed;
    }

    /// What an engine has compiled of the launches, kept for its next run.
    mutable std::shared_ptr<const void> compiled;

private:
    static constexpr std::int64_t whole_memory = std::int64_t{1} << 62;

    array_list<placed_item> order(const stage& s) const {
        array_list<ordered_item> items;
        for (std::size_t i = s.first; i < s.last; ++i) {
            ordered_item item;
            for (const access& a : launches_[i]->accesses) {
                const std::size_t memory = memory_of(i, a.buffer);
                if (a.end <= a.begin ||
                    (!is_scratch(memory) && plan_->values[memory].role == value_role::constant))
                    continue;
                // Parts that lie apart for one extent may meet for another.
                if (plan_->range) item.accesses.push_back({memory, 0, whole_memory, a.write});
                else item.accesses.push_back({memory, a.begin, a.end, a.write});
            }
            items.push_back(std::move(item));
        }
        hazard_tracker open;
        array_list<placed_item> placed = arrange(items, open);
        for (placed_item& p : placed) p.index += s.first;
        return placed;
    }

    const plan* plan_;
    giving_mask givings_;
    array_list<int> memory_;      // of each value
    array_list<choice> choices_;  // of each step
    array_list<const launch*> launches_;
    array_list<std::size_t> step_of_;  // of each launch
    array_list<stage> stages_;
    std::int64_t written_ = 0;
};

}}  // namespace pumice::PUMICE_ABI
