// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The policies of passes: a pass of the user's comes with a check.
#include <pumice/policy/passes.hpp>

#include <doctest/doctest.h>

using namespace pumice;

TEST_CASE("passes: a user's pass is listed with its name, and from then on graphs are checked") {
    policy_set set;
    without_pass{"merge_equal"}.apply(set);
    CHECK_FALSE(static_cast<bool>(set.passes->check));
    graph_pass{"mine", [](op_graph&) {}}.apply(set);
    REQUIRE(set.passes->added.size() == 1);
    CHECK(set.passes->added[0].name == "mine");
    CHECK((set.passes->check == &check_graph));
}
