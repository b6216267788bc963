// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Softmax of rows of floats on the host, and its logarithm; rows are shared among threads.
#pragma once

#include <pumice/base/thread_pool.hpp>
#include <pumice/exec/host_lanes.hpp>
#include <pumice/exec/host_values.hpp>
#include <pumice/kernels/normalize.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

inline void softmax_floats(bool logarithm, const float* v, std::int64_t n, float* out) {
    if (logarithm) run_wide(softmax_of_floats<true>{}, v, n, out);
    else run_wide(softmax_of_floats<false>{}, v, n, out);
}

inline bool run_fast(const normalize_problem& asked, const host_buffers& buffers,
                     const thread_pool& threads) {
    const bool logarithm = asked.what == normalization::log_softmax;
    if ((!logarithm && asked.what != normalization::softmax) || !computes_in_float(asked.prologue))
        return false;
    const normalize_plan plan(asked);
    if (!plan.fits || plan.inner_rank != 1 || plan.outers * plan.length == 0) return false;
    const std::int64_t share = std::max<std::int64_t>(1, thread_part / plan.length),
                       parts = (plan.outers + share - 1) / share;
    threads.run(parts, parts_for_a_thread(share * plan.length), [&](std::int64_t part) {
        float_rows in(plan.p.prologue, buffers);
        float_results out(plan.p.epilogue, buffers);
        index_list at = row_at(plan.all, part * share);
        for (std::int64_t i = part * share; i < std::min((part + 1) * share, plan.outers); ++i) {
            float* const values = out.place(at, plan.length);
            softmax_floats(logarithm, in.read(at, plan.length), plan.length, values);
            out.write(at, plan.length, values);
            next_row(plan.all, at);
        }
    });
    return true;
}

}}}  // namespace pumice::PUMICE_ABI::detail
