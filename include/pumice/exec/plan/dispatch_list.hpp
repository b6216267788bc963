// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// From the steps of a plan to dispatches: the kernels chosen, their launches in order, and which
// memory each touches.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/exec/hazards.hpp>
#include <pumice/exec/plan/plan.hpp>
#include <pumice/exec/select.hpp>

namespace pumice { inline namespace PUMICE_ABI {

class dispatch_list {
public:
    /// Chooses a kernel for each step that is not needless where those givings are carried out.
    /// Pre: the plan outlives the list.
    dispatch_list(const plan& p, giving_mask givings, const device_info& device,
                  const policy_set& policies)
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
                                   : choose(s.what, device, policies));
        for (std::size_t i = 0; i < choices_.size(); ++i)
            for (const launch& l : choices_[i].launches) {
                launches_.push_back(&l);
                step_of_.push_back(i);
            }
        for (const choice& c : choices_)
            if (c.record) written_ += c.record->written;
    }
    dispatch_list(const dispatch_list&) = delete;
    dispatch_list& operator=(const dispatch_list&) = delete;

    const plan& of() const noexcept { return *plan_; }
    giving_mask givings() const noexcept { return givings_; }

    /// In the order of the steps.
    const array_list<const launch*>& launches() const noexcept { return launches_; }
    std::size_t size() const noexcept { return launches_.size(); }
    std::size_t step_of(std::size_t dispatch) const noexcept { return step_of_[dispatch]; }

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

    /// The dispatches bunched, each with a barrier before it where a hazard among them asks for
    /// one.
    array_list<placed_item> order() const {
        array_list<ordered_item> items;
        for (std::size_t i = 0; i < launches_.size(); ++i) {
            ordered_item item;
            for (const access& a : launches_[i]->accesses) {
                const std::size_t memory = memory_of(i, a.buffer);
                if (a.end <= a.begin ||
                    (!is_scratch(memory) && plan_->values[memory].role == value_role::constant))
                    continue;
                item.accesses.push_back({memory, a.begin, a.end, a.write});
            }
            items.push_back(std::move(item));
        }
        hazard_tracker open;
        return arrange(items, open);
    }

    /// What an engine has compiled of the launches, kept for its next run.
    mutable std::shared_ptr<const void> compiled;

private:
    const plan* plan_;
    giving_mask givings_;
    array_list<int> memory_;      // of each value
    array_list<choice> choices_;  // of each step
    array_list<const launch*> launches_;
    array_list<std::size_t> step_of_;  // of each launch
    std::int64_t written_ = 0;
};

}}  // namespace pumice::PUMICE_ABI
