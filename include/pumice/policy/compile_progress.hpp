// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A policy that is told how far the kernels of a first run are.
#pragma once

#include <pumice/policy/policies.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// A kernel that has become ready, of those that an evaluation or a recording waits for.
struct compile_progress {
    std::string_view kernel;  // its name, valid during the call
    int done = 0, total = 0;  // kernels, this one counted
    double seconds = 0;       // since the first was begun
};

/// Calls f(const compile_progress&) whenever a kernel that was not ready is: compiled, or found in
/// the cache. Calls come one at a time, from threads of the library; f must not compute. What f
/// throws, the evaluation throws; kernels that are ready stay in the cache.
template <class F>
struct watch_compiling {
    F told;
    void apply(policy_set& set) const { set.compiling = told; }
};
template <class F>
watch_compiling(F) -> watch_compiling<F>;

}}  // namespace pumice::PUMICE_ABI
