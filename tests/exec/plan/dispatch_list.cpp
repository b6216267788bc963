// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The dispatches of a plan: which launch is of which step, what memory it names, and where hazards
// put barriers, with and without memory that changes hands.
#include "support.hpp"

#include <pumice/exec/plan/dispatch_list.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

namespace {

pm::any_tensor sum(const pm::any_tensor& x) { return pm::reduce(pm::reduction::sum, x); }
int barriers(const pm::dispatch_list& list) {
    int count = 0;
    for (const pm::placed_item& p : list.order()) count += p.barrier;
    return count;
}

}  // namespace

TEST_CASE("dispatches: launches come in the order of the steps, with the memory that they name") {
    const auto home = std::make_shared<pumice_test::planning_engine>();
    const std::int64_t along[] = {1};
    const pm::any_tensor a = home->given({4, 1 << 20});
    const pm::any_tensor roots[] = {pm::softmax(pm::reduce(pm::reduction::sum, a, along), 0)};
    const auto planned = home->plan_of(roots);
    const pm::plan& p = planned->what;
    REQUIRE(p.steps.size() == 2);
    const pm::dispatch_list list(p, {}, home->device(), home->policies());
    REQUIRE(list.size() >= 2);
    for (std::size_t i = 1; i < list.size(); ++i) CHECK(list.step_of(i - 1) <= list.step_of(i));
    CHECK(list.step_of(0) == 0);
    CHECK(list.step_of(list.size() - 1) == 1);
    CHECK(list.record(0)->kernel.starts_with("reduce/slices"));
    CHECK(list.record(1)->kernel.starts_with("normalize/"));
    for (std::size_t i = 0; i < list.size(); ++i)
        for (const pm::access& touched : list.launches()[i]->accesses) {
            const std::size_t memory = list.memory_of(i, touched.buffer);
            CHECK(list.is_scratch(memory) == (touched.buffer < 0));
            if (touched.buffer < 0) {
                CHECK(memory == p.values.size() + list.step_of(i));
                CHECK(touched.end <= list.scratch_bytes(list.step_of(i)));
            } else {
                CHECK(touched.end <= p.values[memory].bytes());
            }
        }
    // Parts of the long rows are summed, then joined, then normalised.
    CHECK(list.scratch_bytes(0) > 0);
    CHECK(barriers(list) == 2);
}

TEST_CASE("dispatches: what is independent has no barrier between") {
    const auto home = std::make_shared<pumice_test::planning_engine>();
    const pm::any_tensor a = home->given({64, 64}), b = home->given({64, 64});
    const pm::any_tensor apart[] = {sum(a), sum(b)};
    const auto two = home->plan_of(apart);
    CHECK(barriers({two->what, {}, home->device(), home->policies()}) == 0);
    const pm::any_tensor behind[] = {sum(pm::matmul(a, b))};
    const auto line = home->plan_of(behind);
    const pm::dispatch_list list(line->what, {}, home->device(), home->policies());
    CHECK(barriers(list) == int(list.size()) - 1);
}

TEST_CASE("dispatches: a copy to where a value lies already is needless, and readers come first") {
    const auto home = std::make_shared<pumice_test::planning_engine>();
    // A row of the state is written; the sum reads the state as it was.
    const auto planned = home->trace({{64, 64}, {64}}, [](const std::vector<pm::any_tensor>& x) {
        pm::any_tensor next = x[0];
        pm::at(next, pm::slice{3, 4}) = x[1];
        return std::vector<pm::any_tensor>{next};
    });
    const pm::plan& p = planned->what;
    REQUIRE(p.steps.size() == 2);
    REQUIRE(p.givings.size() == 1);
    CHECK(p.givings[0].from == p.inputs[0]);
    CHECK(p.givings[0].to == p.outputs[0]);
    CHECK(p.steps[0].unless_given == 0);
    CHECK(p.steps[1].unless_given == -1);

    const pm::dispatch_list plain(p, {}, home->device(), home->policies());
    CHECK(plain.size() == 2);
    CHECK(barriers(plain) == 1);
    CHECK(plain.memory_of(p.outputs[0]) == p.outputs[0]);
    pm::giving_mask mask;
    mask.insert(0);
    const pm::dispatch_list given(p, mask, home->device(), home->policies());
    CHECK(given.size() == 1);
    CHECK(given.step_of(0) == 1);
    CHECK(given.record(0) == nullptr);
    CHECK(given.memory_of(p.outputs[0]) == p.inputs[0]);
    CHECK(given.memory_of(0, 1) == std::size_t(p.inputs[0]));
}

TEST_CASE("dispatches: who writes over memory waits for those that still read it") {
    const auto home = std::make_shared<pumice_test::planning_engine>();
    const auto planned = home->trace({{64, 64}}, [](const std::vector<pm::any_tensor>& x) {
        return std::vector<pm::any_tensor>{pm::matmul(x[0], x[0]), x[0] * 2.0};
    });
    const pm::plan& p = planned->what;
    REQUIRE(p.steps.size() == 2);
    REQUIRE(p.givings.size() == 1);
    CHECK(barriers({p, {}, home->device(), home->policies()}) == 0);
    pm::giving_mask mask;
    mask.insert(0);
    const pm::dispatch_list given(p, mask, home->device(), home->policies());
    CHECK(barriers(given) == 1);
    CHECK(given.order().back().index == given.size() - 1);
}
