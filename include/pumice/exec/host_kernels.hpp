// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the host device runs for a problem: a loop of its own where there is one, else the kernels' reference.
#pragma once

#include <pumice/exec/host_elementwise.hpp>
#include <pumice/exec/host_matmul.hpp>
#include <pumice/exec/host_normalize.hpp>
#include <pumice/exec/host_reduce.hpp>
#include <pumice/exec/select.hpp>

namespace pumice::inline PUMICE_ABI {

namespace detail {

inline bool run_fast(const elementwise_problem& p, const host_buffers& b,
                     const host_threads& threads) {
    host_elementwise{p.body.body->view(),     nullptr,        p.domain,
                     b.arrays(p.body.leaves), p.body.scalars, b.arrays(p.body.outputs)}
        .run(threads);
    return true;
}
template <class Problem>
bool run_fast(const Problem&, const host_buffers&, const host_threads&) {
    return false;
}

}  // namespace detail

/// Solves a problem, with the accuracy of the kernels' reference.
inline void run_on_host(const problem& p, const host_buffers& buffers,
                        const host_threads& threads) {
    if (!p.visit([&](const auto& q) { return detail::run_fast(q, buffers, threads); }))
        solve_on_host(p, buffers);
}

}  // namespace pumice::inline PUMICE_ABI
