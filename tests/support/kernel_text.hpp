// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The program that the run-time fuser makes of lazy tensors.
#pragma once

#include <pumice/exec/plan/lower.hpp>
#include <pumice/expr/emit.hpp>
#include <pumice/graph/any_tensor.hpp>

#include <doctest/doctest.h>
#include <tests/support/walked_graph.hpp>

namespace pumice_test {

/// The one elementwise program that evaluating the roots runs; fails the test where they take more.
inline std::shared_ptr<const pumice::program> fused_program(const std::vector<pumice::any_tensor>&
                                                                roots) {
    const pumice::plan_builder b = walked_graph(roots).lowered();
    REQUIRE(b.made.steps.size() == 1);
    const auto* p = b.made.steps[0].what.get_if<pumice::elementwise_problem>();
    REQUIRE(p != nullptr);
    return p->body.body;
}

}  // namespace pumice_test
