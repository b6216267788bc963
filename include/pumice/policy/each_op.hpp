// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Policies that look at each op of an evaluation: what they are shown. For who writes one.
#pragma once

#include <pumice/graph/node.hpp>
#include <pumice/policy/policies.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// An op that has run alone, before the evaluation that it belongs to.
class computed_op {
public:
    computed_op(const node& op, const node_ptr& values) : what(op), result(values) {}
    virtual ~computed_op() = default;

    const node& what;             // its op, inputs, type, shape and label
    const node_ptr& result;       // realised
    array_list<node_ptr> inputs;  // those that it was computed from

    /// Copies a node's values to `out`, dense in row-major order; a lazy one is computed.
    virtual void read(const node_ptr& n, void* out) const = 0;
};

/// Calls f(const computed_op&) for each op of an evaluation, inputs before users, after it has run
/// alone; what f throws, the evaluation does, and has changed nothing. Then the evaluation goes its
/// usual way, so each op runs twice. Ops of compiled functions are shown in each run.
template <class F>
struct watch_ops {
    F seen;
    void apply(policy_set& set) const { set.each_op = seen; }
};
template <class F>
watch_ops(F) -> watch_ops<F>;

}}  // namespace pumice::PUMICE_ABI
