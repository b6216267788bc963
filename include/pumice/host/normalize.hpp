// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Softmax of rows of floats on the host, and its logarithm; rows are shared among threads.
#pragma once

#include <pumice/base/thread_pool.hpp>
#include <pumice/host/lanes.hpp>
#include <pumice/host/loop.hpp>
#include <pumice/host/values.hpp>
#include <pumice/kernels/normalize.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

inline void softmax_floats(bool logarithm, const float* v, std::int64_t n, float* out) {
    if (logarithm) run_wide(softmax_of_floats<true>{}, v, n, out);
    else run_wide(softmax_of_floats<false>{}, v, n, out);
}

constexpr bool is_softmax(normalization what) noexcept {
    return what == normalization::softmax || what == normalization::log_softmax;
}

/// Of small rows of dense floats.
inline void bind_loop(const normalize_op& op, const host_operands& given, host_loop& out) {
    const int rank = given.extent.rank(), count = static_cast<int>(op.axes.size());
    if (!is_softmax(op.what) || op.axes.empty() || op.axes[0] != rank - count) return;
    out.take_rows(op, given, least_part / 8,
                  [](const host_loop& bound, std::byte* to, const thread_pool&) {
                      const bool logarithm = static_cast<const normalize_op*>(bound.what)->what ==
                                             normalization::log_softmax;
                      const auto* const in = static_cast<const float*>(bound.from[0]);
                      auto* const result = reinterpret_cast<float*>(to);
                      for (std::int64_t i = 0; i < bound.rows * bound.length; i += bound.length)
                          softmax_floats(logarithm, in + i, bound.length, result + i);
                  });
}

inline void softmax_rows(const normalize_problem& asked, const host_buffers& buffers,
                         const thread_pool& threads) {
    const bool logarithm = asked.what == normalization::log_softmax;
    const normalize_plan plan(asked);
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
}

}  // namespace detail

/// Of rows along one axis, or axes that lie as one.
inline void find_loop(const normalize_problem& p, const host_buffers& buffers, host_loop& out) {
    if (!detail::is_softmax(p.what) || !computes_in_float(p.prologue) ||
        element_count(p.outer) * element_count(p.inner) == 0)
        return;
    if (p.inner.rank() > 1) {
        const detail::normalize_plan plan(p);
        if (!plan.fits || plan.inner_rank != 1) return;
    }
    out.solve<detail::softmax_rows>(p, buffers);
}

}}  // namespace pumice::PUMICE_ABI
