// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Runs that several engines have a part of, by number: what submissions of theirs ask.
#pragma once

#include <pumice/base/lock.hpp>
#include <pumice/tensor/engine.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

/// Any thread may use it.
class joint_submissions {
public:
    using list = array_list<submission>;

    /// The number of a run whose work is done when all of these are; 0 where they are.
    std::uint64_t add(list&& works) {
        if (all_done(works)) return 0;
        const small_lock lock(mutex_);
        while (!runs_.empty() && is_over(runs_.front().works)) runs_.erase(runs_.begin());
        runs_.push_back({++last_, std::move(works)});
        return last_;
    }
    void wait(std::uint64_t run) const {
        for (const submission& s : of(run)) s.wait();
    }
    bool done(std::uint64_t run) const { return all_done(of(run)); }
    void call_after(std::uint64_t run, callback<void()>&& f) const { then_call(of(run), f); }

private:
    struct begun {
        std::uint64_t number;
        list works;
    };
    list of(std::uint64_t run) const {
        const small_lock lock(mutex_);
        for (const begun& r : runs_)
            if (r.number == run) return r.works;
        return {};
    }
    static bool all_done(const list& works) {
        return std::all_of(works.begin(), works.end(),
                           [](const submission& s) { return s.done(); });
    }
    /// What failed stays, for who asks.
    static bool is_over(const list& works) noexcept {
        try {
            return all_done(works);
        } catch (...) {
            return false;
        }
    }
    static void then_call(list works, const callback<void()>& f) {
        if (works.empty()) return f();
        const submission next = std::move(works.back());
        works.pop_back();
        next.then([works, f] { then_call(works, f); });
    }

    mutable small_mutex mutex_;
    array_list<begun> runs_;  // those that are not known to be over, and perhaps others
    std::uint64_t last_ = 0;
};

}}  // namespace pumice::PUMICE_ABI
