// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A plan that is known costs no memory to find.
#include "allocations.hpp"

#include <pumice/exec/plan/planner.hpp>
#include <pumice/front.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

TEST_CASE("planner: to find a known plan and what stands behind its values takes no allocation") {
    const pm::context home(pm::host_only{});
    const pm::policy_set policies;
    for (const bool names : {false, true}) {
        pm::planner planner(policies);
        pm::evaluation e;
        const pm::matrix<float> a = pm::ones<float>({3, 70000}, home),
                                b = pm::ones<float>({1, 70000}, home);
        const auto step = [&](float rate, std::int64_t row) {
            const pm::any_tensor x = pm::relu(a * b + rate),
                                 y = pm::matmul(x,
                                                pm::permute_dims(pm::any_tensor(a),
                                                                 std::vector<std::int64_t>{1, 0}));
            if (names) pm::named(x, "x");
            if (names) pm::named(y, "y");
            return pm::slice_view(y, std::vector<pm::slice>{{row, row + 1, 1}, {}});
        };
        std::uint64_t most = 0;
        for (int i = 0; i < 20; ++i) {
            const pm::any_tensor root = step(0.5f + static_cast<float>(i), i % 2);
            const std::uint64_t before = test::allocations();
            planner.plan_of({&root.get(), 1}, e);
            if (i >= 2) most = std::max(most, test::allocations() - before);
            e.clear();
        }
        CHECK(planner.made() ==
              2);  // a slice's position is part of the structure of what follows it
        CHECK(most == 0);
    }
}
