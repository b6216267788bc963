// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The one question to the host's loops: is there one for this op, or this problem, over these
// operands? What has none goes to a plan, and in a plan to the problem's reference.
#pragma once

#include <pumice/host/concat.hpp>
#include <pumice/host/convolution.hpp>
#include <pumice/host/elementwise.hpp>
#include <pumice/host/matmul.hpp>
#include <pumice/host/normalize.hpp>
#include <pumice/host/pool.hpp>
#include <pumice/host/reduce.hpp>
#include <pumice/host/scan.hpp>
#include <pumice/host/scatter.hpp>
#include <pumice/host/sort.hpp>
#include <pumice/host/take.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Of a problem there is an overload where the host has loops for it.
template <class Op>
void find_loop(const Op& op, const host_operands& operands, host_loop& out) {
    if constexpr (requires { detail::bind_loop(op, operands, out); })
        detail::bind_loop(op, operands, out);
}

/// The same of any op. The commonest is asked without the nanoseconds of a virtual call.
inline void find_loop(const operation& what, const host_operands& operands, host_loop& out) {
    if (const auto* op = what.get_if<elementwise_op>()) detail::bind_loop(*op, operands, out);
    else what.find_loop(operands, out);
}

}}  // namespace pumice::PUMICE_ABI
