// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A plan that is known costs no memory to find, and none to run.
#include "allocations.hpp"

#include <pumice/exec/plan/planner.hpp>
#include <pumice/front.hpp>

#include <tests/support/sanitizer.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

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

TEST_CASE("planner: an evaluation whose plan is known takes no allocation on a device") {
    pm::device_info described;
    described.name = "described";
    described.max_workgroup_count = {65535, 65535, 65535};
    described.max_workgroup_size = {1024, 1024, 64};
    described.max_workgroup_invocations = 1024;
    const std::pair<const char*, pm::context> homes[] = {
        {"null", pm::context{pm::null_device{described}}},
        {"device", pm::context()},
        {"a submit each", pm::context(pm::gathering::none{})},
        {"unfused", pm::context(pm::fusion::none{})}};
    // The validation layer runs on this thread and allocates.
    const bool validated = std::getenv("VK_INSTANCE_LAYERS") != nullptr;
    for (const auto& [name, home] : homes) {
        CAPTURE(std::string(name));
        if (home.device().type == pm::device_type::host) continue;
        if (validated && &home != &homes[0].second) continue;
        const pm::matrix<float> a = pm::ones<float>({300, 400}, home),
                                b = pm::ones<float>({1, 400}, home);
        pm::eval(a, b);
        // What a thread keeps for next time, address sanitizer sees come and go: a block a kernel.
        const std::uint64_t kernels = &home == &homes[3].second ? 4 : 1,
                            most = test::address_sanitizer ? 100 * kernels : 0;
        // What is in flight decides how long lists are, and that is the device's time.
        std::uint64_t asked = most + 1;
        for (int round = 0; round < 10 && asked > most; ++round) {
            asked = 0;
            pm::any_tensor y;
            for (int i = 0; i < 100; ++i) {
                y = pm::relu(a * b + float(i)) - a;
                const std::uint64_t before = test::allocations();
                pm::eval(std::span(&y, 1));
                asked += test::allocations() - before;
            }
            if (&home != &homes[0].second) pm::to_vector<float>(y);
        }
        CHECK(asked <= most);
    }
}
