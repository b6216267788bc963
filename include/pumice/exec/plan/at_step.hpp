// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Errors in the middle of a run say where: they name the nodes of the step.
#pragma once

#include <pumice/exec/plan/plan.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Goes on with the error that is being handled, which has one reason more: what steps [begin, end)
/// compute, where that has names.
[[noreturn, gnu::cold]] inline void throw_at_steps(const plan_step* begin, const plan_step* end) {
    try {
        throw;
    } catch (const error& e) {
        std::string first, last;
        for (; begin != end; ++begin)
            if (std::string origin = origin_of(*begin); !origin.empty())
                (first.empty() ? first : last) = std::move(origin);
        if (first.empty()) throw;
        std::vector<std::string> reasons = e.reasons();
        reasons.push_back(last.empty() ? cat({"in the step that computes ", first})
                                       : cat({"in the steps from ", first, " to ", last}));
        throw error(e.code(), e.where(), e.message(), std::move(reasons));
    }
}

/// f(), whose errors say at which step.
template <class F>
decltype(auto) at_step(const plan_step& s, F&& f) {
    try {
        return f();
    } catch (const error&) {
        throw_at_steps(&s, &s + 1);
    }
}
/// The same of steps [begin, end) of a plan, which run at once.
template <class F>
decltype(auto) at_steps(const plan& p, std::size_t begin, std::size_t end, F&& f) {
    try {
        return f();
    } catch (const error&) {
        throw_at_steps(p.steps.begin() + begin, p.steps.begin() + end);
    }
}

/// The same of the step that makes a value, for what is done with its memory.
template <class F>
decltype(auto) at_value(const plan& p, int value, F&& f) {
    const int step = p.at(value).made_by;
    if (step < 0) return f();
    return at_step(p.steps[static_cast<std::size_t>(step)], f);
}

}}  // namespace pumice::PUMICE_ABI
