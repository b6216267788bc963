// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Plans cut at their decisions: each stretch is a plan without fault, and writes all of what it
// writes.
#include "support.hpp"

#include <pumice/exec/plan/control.hpp>
#include <pumice/tensor/control.hpp>

namespace pm = pumice;
using pumice_test::planning_engine;

namespace {

/// v + 1, three times.
pm::any_tensor loop(const pm::any_tensor& v) {
    return pm::fori_loop(
        0, 3,
        [](const pm::any_tensor&, const pm::any_tensor& x) { return pm::any_tensor(x + 1.0); }, v);
}
void check_parts(const pm::plan& p, std::size_t stretches, std::size_t decisions) {
    REQUIRE(p.decisions != nullptr);
    CHECK(pm::find_faults(p).empty());
    std::size_t plain = 0, others = 0, next = 0;
    std::vector<int> written_in(p.values.size(), -1);
    for (const pm::plan_part& part : pm::cut_at_decisions(p)) {
        CHECK(part.begin == next);
        next = part.end;
        if (!part.steps) {
            ++others;
            CHECK(part.end == part.begin + 1);
            CHECK(pm::decides(p.steps[part.begin]));
            continue;
        }
        ++plain;
        CHECK(part.steps->what.decisions == nullptr);
        for (const std::string& fault : pm::find_faults(part.steps->what)) FAIL_CHECK(fault);
        for (const pm::plan_step& s : part.steps->what.steps)
            for (const int v : s.outputs) {
                int& in = written_in[std::size_t(part.whole[std::size_t(v)])];
                CHECK((in < 0 || in == int(plain)));
                in = int(plain);
            }
    }
    CHECK(next == p.steps.size());
    CHECK(plain == stretches);
    CHECK(others == decisions);
}

}  // namespace

TEST_CASE("decisions: what does not wait for one stands before it, what does behind") {
    const auto home = std::make_shared<planning_engine>();
    const pm::any_tensor x = home->given({8, 4}), y = home->given({8, 4});
    const pm::any_tensor first = loop(pm::matmul(x, home->given({4, 4})));
    const pm::any_tensor beside = pm::softmax(y, 1), last = first * beside;
    const pm::any_tensor roots[] = {last, loop(last)};
    check_parts(home->plan_of(roots)->what, 2, 2);
}

TEST_CASE("decisions: a concatenation of parts from both sides is written on one") {
    const auto home = std::make_shared<planning_engine>();
    const pm::any_tensor x = home->given({8, 4}), y = home->given({8, 4});
    const pm::any_tensor parts[] = {pm::softmax(y, 1), loop(x), pm::apply<pm::op::exp>(x)};
    const pm::any_tensor roots[] = {pm::concat(parts)};
    check_parts(home->plan_of(roots)->what, 2, 1);
}

TEST_CASE("decisions: two loops side by side have no stretch between them") {
    const auto home = std::make_shared<planning_engine>();
    const pm::any_tensor x = home->given({8, 4}), y = home->given({8, 4});
    const pm::any_tensor roots[] = {loop(x) + loop(pm::apply<pm::op::exp>(y))};
    check_parts(home->plan_of(roots)->what, 2, 2);
}

TEST_CASE("decisions: plans without any know of none") {
    const auto home = std::make_shared<planning_engine>();
    const pm::any_tensor roots[] = {home->given({8, 4}) + 1.0};
    CHECK(home->plan_of(roots)->what.decisions == nullptr);
}
