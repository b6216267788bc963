// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The dispatches of a plan: which launch is of which step, what memory it names, and where hazards
// put barriers, with and without memory that changes hands.
#include "support.hpp"

#include <pumice/exec/plan/dispatch_list.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;
using namespace pumice_test;

namespace {

pm::any_tensor sum(const pm::any_tensor& x) { return pm::reduce(pm::reduction::sum, x); }
int barriers(const pm::dispatch_list& list) {
    int count = 0;
    for (const pm::placed_item& p : list.order()) count += p.barrier;
    return count;
}

constexpr std::int64_t many = 1 << 22;

pm::dispatch_list listed(const pm::plan& p, pm::giving_mask m = {}) {
    return pm::dispatch_list(p, m, described(), {});
}
pm::giving_mask first_giving() {
    pm::giving_mask m;
    m.insert(0);
    return m;
}
/// "0 2 | 1": dispatches in order, and a bar for a barrier.
std::string order_of(const pm::dispatch_list& l) {
    std::string text;
    for (const pm::placed_item& i : l.order())
        pm::append_text(text, {text.empty() ? "" : " ", i.barrier ? "| " : "", i.index});
    return text;
}

}  // namespace

TEST_CASE("dispatches: launches come in the order of the steps, with the memory that they name") {
    const auto home = std::make_shared<planning_engine>();
    const std::int64_t along[] = {1};
    const pm::any_tensor a = home->given({4, 1 << 20});
    const pm::any_tensor roots[] = {pm::softmax(pm::reduce(pm::reduction::sum, a, along), 0)};
    const auto planned = home->plan_of(roots);
    const pm::plan& p = planned->what;
    REQUIRE(p.steps.size() == 2);
    const pm::dispatch_list list = listed(p);
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
    // Parts of the long rows are summed, by workgroups of which the last joins them, then
    // normalised.
    CHECK(list.scratch_bytes(0) > 0);
    CHECK(list.size() == 2);
    CHECK(barriers(list) == 1);
}

TEST_CASE("dispatches: what is independent has no barrier between") {
    const auto home = std::make_shared<planning_engine>();
    const pm::any_tensor a = home->given({64, 64}), b = home->given({64, 64});
    const pm::any_tensor apart[] = {sum(a), sum(b)};
    const auto two = home->plan_of(apart);
    CHECK(barriers(listed(two->what)) == 0);
    const pm::any_tensor behind[] = {sum(pm::matmul(a, b))};
    const auto line = home->plan_of(behind);
    const pm::dispatch_list list = listed(line->what);
    CHECK(barriers(list) == int(list.size()) - 1);
}

TEST_CASE("dispatches: a copy to where a value lies already is needless") {
    const auto home = std::make_shared<planning_engine>();
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

    const pm::dispatch_list plain = listed(p);
    CHECK(plain.size() == 2);
    CHECK(plain.record(0) != nullptr);
    CHECK(plain.step_of(0) == 0);
    CHECK(order_of(plain) == "0 | 1");
    CHECK(plain.memory_of(p.outputs[0]) == p.outputs[0]);
    const pm::dispatch_list given = listed(p, first_giving());
    CHECK(given.size() == 1);
    CHECK(given.step_of(0) == 1);
    CHECK(given.record(0) == nullptr);
    CHECK(given.record(1) != nullptr);
    CHECK(given.scratch_bytes(0) == 0);
    CHECK(given.memory_of(p.outputs[0]) == p.inputs[0]);
    CHECK(given.memory_of(0, 0) == std::size_t(p.inputs[1]));
    CHECK(given.memory_of(0, 1) == std::size_t(p.inputs[0]));
    CHECK(order_of(given) == "0");
}

TEST_CASE("dispatches: who writes over memory waits for those that still read it") {
    const auto home = std::make_shared<planning_engine>();
    const auto planned = home->trace({{64, 64}}, [](const std::vector<pm::any_tensor>& x) {
        return std::vector<pm::any_tensor>{pm::matmul(x[0], x[0]), x[0] * 2.0};
    });
    const pm::plan& p = planned->what;
    REQUIRE(p.steps.size() == 2);
    REQUIRE(p.givings.size() == 1);
    CHECK(barriers(listed(p)) == 0);
    const pm::dispatch_list given = listed(p, first_giving());
    CHECK(barriers(given) == 1);
    CHECK(given.order().back().index == given.size() - 1);
}

TEST_CASE("dispatches: they stand in the order of the steps, of which one may take several") {
    plan_maker m;
    const int x = m.input(many), t = m.temporary(many), s = m.temporary(64), y = m.output(64);
    m.step(turned_sum_of(1, many), {x, t});
    m.step(total_of(many, 64), {t, s});
    m.step(turned_sum_of(1, 64), {s, y});
    const auto p = m.take();
    const pm::dispatch_list l = listed(*p);
    CHECK(&l.of() == p.get());
    CHECK(l.givings().empty());
    REQUIRE(l.size() == 4);
    REQUIRE(l.launches().size() == 4);
    const std::size_t steps[] = {0, 1, 1, 2};
    const std::string modules[] = {"elementwise", "reduce", "reduce", "elementwise"};
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(l.step_of(i) == steps[i]);
        CHECK(l.launches()[i]->module == modules[i]);
    }
    CHECK(l.launches()[1]->entry == "slice");
    CHECK(l.launches()[2]->entry == "joined");
    CHECK(l.record(0)->kernel == "elementwise/strided");
    CHECK(l.record(1)->kernel == "reduce/slices");
    CHECK(order_of(l) == "0 | 1 | 2 | 3");
}

TEST_CASE("dispatches: the policies choose the kernels") {
    plan_maker m;
    const int x = m.input(64), y = m.output(64);
    m.step(sum_of(1, 64), {x, y});
    const auto p = m.take();
    pm::policy_set portable;
    pm::portable{}.apply(portable);
    CHECK(listed(*p).record(0)->kernel == "elementwise/vectors");
    CHECK(pm::dispatch_list(*p, {}, described(), portable).record(0)->kernel ==
          "elementwise/strided");
}

TEST_CASE("dispatches: the launches of a step share scratch memory, each step's its own") {
    plan_maker m;
    const int x = m.input(many), a = m.output(64), b = m.output(64), c = m.output(4);
    m.step(total_of(many, 64), {x, a});
    m.step(sum_of(1, 4), {x, c});
    m.step(total_of(many, 64), {x, b});
    const auto p = m.take();
    const pm::dispatch_list l = listed(*p);
    REQUIRE(l.size() == 5);
    CHECK(l.scratch_bytes(0) > 0);
    CHECK(l.scratch_bytes(1) == 0);
    CHECK(l.scratch_bytes(2) == l.scratch_bytes(0));
    const std::size_t values = l.of().values.size();
    CHECK(l.memory_of(0, -2) == values);
    CHECK(l.memory_of(1, -2) == values);
    CHECK(l.memory_of(3, -2) == values + 2);
    CHECK(l.memory_of(4, -2) == values + 2);
    CHECK(l.is_scratch(values));
    CHECK(!l.is_scratch(values - 1));
    // Each second launch waits for its first; neither sum waits for the other.
    CHECK(order_of(l) == "0 2 3 | 1 4");
}

TEST_CASE("dispatches: a buffer is the memory of the value behind it, an alias that of its root") {
    plan_maker m;
    const int y = m.output(8), x = m.input(8);
    const int part = m.output_within(y, 2, 4), within = m.output_within(part, 2, 2);
    m.step(sum_of(1, 8), {x, y});
    const auto p = m.take();
    const pm::dispatch_list l = listed(*p);
    CHECK(l.memory_of(x) == x);
    CHECK(l.memory_of(y) == y);
    CHECK(l.memory_of(part) == y);
    CHECK(l.memory_of(within) == y);
    CHECK(l.memory_of(0, 0) == std::size_t(x));
    CHECK(l.memory_of(0, 1) == std::size_t(y));
}

TEST_CASE("dispatches: what is given memory lies in that of the giver") {
    plan_maker m;
    const int x = m.input(8), u = m.output(8), y = m.output(8);
    m.step(turned_sum_of(1, 8), {x, u});
    m.step(sum_of(1, 8), {x, y});
    const auto p = m.take();
    REQUIRE(p->givings.size() == 1);
    const pm::dispatch_list apart = listed(*p), given = listed(*p, first_giving());
    CHECK(apart.memory_of(y) == y);
    CHECK(given.memory_of(y) == x);
    CHECK(given.memory_of(x) == x);
    CHECK(given.memory_of(u) == u);
    CHECK(given.memory_of(1, 1) == std::size_t(x));
    CHECK(given.givings() == first_giving());
    // The first step reads what the second writes over.
    CHECK(order_of(apart) == "0 1");
    CHECK(order_of(given) == "0 | 1");
}

TEST_CASE("dispatches: what lies within a value that is given memory lies in that of the giver") {
    plan_maker m;
    const int x = m.input(8), y = m.output(8);
    const int part = m.output_within(y, 2, 4), within = m.output_within(part, 2, 2);
    m.step(sum_of(1, 8), {x, y});
    const auto p = m.take();
    REQUIRE(p->givings.size() == 1);
    const pm::dispatch_list apart = listed(*p), given = listed(*p, first_giving());
    for (const int v : {y, part, within}) {
        CHECK(apart.memory_of(v) == y);
        CHECK(given.memory_of(v) == x);
    }
}

TEST_CASE("dispatches: barriers stand only where one waits for another") {
    plan_maker m;
    const int x = m.input(8), t = m.temporary(8), a = m.output(8), b = m.output(8), c = m.output(8);
    m.step(sum_of(1, 8), {x, t});
    m.step(turned_sum_of(1, 8), {t, a});
    m.step(sum_of(1, 8), {x, b});  // needs nothing of the others, so it is pulled forward
    m.step(turned_sum_of(2, 8), {t, b, c});
    CHECK(order_of(listed(*m.take())) == "0 2 | 1 3");
}

TEST_CASE("dispatches: two that write parts of one value wait for each other where they meet") {
    for (const std::int64_t place : {3, 4}) {
        plan_maker m;
        const int x = m.input(4), z = m.input(4), y = m.output(8);
        m.step(copy_of(4), {x, y});
        m.step(copy_of(4, place), {z, y});
        CHECK(order_of(listed(*m.take())) == (place == 4 ? "0 1" : "0 | 1"));
    }
}
