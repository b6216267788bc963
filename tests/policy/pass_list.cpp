// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The list of passes in a set of policies: each adds to it, and sets that were copied stay apart.
#include <pumice/policy/passes.hpp>

#include <doctest/doctest.h>

using namespace pumice;

TEST_CASE("passes of a policy set: each adds to the list, and a copy of the set keeps its own") {
    policy_set set;
    CHECK(set.passes == nullptr);
    without_pass{"one"}.apply(set);
    const policy_set before = set;
    without_pass{"two"}.apply(set);
    watch_passes{[](const op_graph&, std::string_view) {}}.apply(set);
    CHECK(set.passes->left_out == std::vector<std::string>{"one", "two"});
    CHECK(static_cast<bool>(set.passes->watch));
    CHECK(before.passes->left_out == std::vector<std::string>{"one"});
    CHECK_FALSE(static_cast<bool>(before.passes->watch));
}
