// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Where the steps of an evaluation run: what a placement policy sees and decides. For who writes
// one; <pumice.hpp> does not include it.
#pragma once

#include <pumice/policy/policies.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// The place that is the host; -1: none beside the first, which is the context's device.
inline int host_among(span<const device_info* const> places) {
    for (std::size_t p = places.size(); p-- > 1;)
        if (places[p]->type == device_type::host) return static_cast<int>(p);
    return -1;
}

/// A value that a step reads.
struct operand_view {
    int made_by = -1;           // the last step that writes it; -1: it is there before
    std::int64_t bytes = 0;     // of its memory, which moves as a whole
    std::uint32_t holders = 0;  // bit p: place p has its values before the first step runs
};
/// Of an engine: as many as `holders` has bits.
inline constexpr int max_places = 32;

/// A step as a placement policy sees it.
struct step_view {
    std::string_view family;            // "matmul", "reduce"; a kernel of the user's: its name
    span<const operand_view> operands;  // that it reads or writes in part
    std::int64_t written = 0;           // bytes of its results
    span<const double> seconds;         // expected at each place; negative: it cannot run there

    bool can_run_at(int place) const { return seconds[static_cast<std::size_t>(place)] >= 0; }
};

/// The steps of a plan and where they run, for a policy to decide. It decides once for each
/// structure of an evaluation and each way in which places hold its operands.
struct placement {
    span<const device_info* const> places;  // the first is the context's device
    span<const step_view> steps;            // producers before consumers
    /// The place of each step, to be set; the device's, but for what it cannot run. Steps that
    /// write parts of one value run together: at the last place to which one of them was sent.
    span<int> at;
    bool recorded = false;  // a compiled function's, which runs often

    /// The place that is the host; -1 where there is none beside the context's device.
    int host() const { return host_among(places); }
};

/// A placement policy of the user's: `choose(placement&)` sets `at`.
template <class F>
struct place_steps {
    F choose;
    void apply(policy_set& set) const { set.place = choose; }
};
template <class F>
place_steps(F) -> place_steps<F>;

}}  // namespace pumice::PUMICE_ABI
