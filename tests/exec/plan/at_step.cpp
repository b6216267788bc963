// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/exec/plan/at_step.hpp>

#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

namespace {

pm::plan_step step(std::initializer_list<pm::node_label> origin) {
    pm::plan_step s{pm::elementwise_problem()};
    for (const pm::node_label& l : origin) s.origin.push_back(l);
    return s;
}
const pm::node_label conv("y", "Conv \"c\""), relu("z", "Relu \"r\""), h("h");

template <class F>
std::string text_of(F&& f) {
    const pm::error e = test::thrown_by(f);
    CHECK(e.code() == pm::errc::out_of_memory);
    CHECK(e.where() == "memory");
    return e.what();
}
[[noreturn]] void full() { pm::fail(pm::errc::out_of_memory, "memory", {"no room"}); }

}  // namespace

TEST_CASE("at_step: an error in a step says what the step computes, where that has names") {
    CHECK(pm::origin_of(step({conv, relu, h})) == "Conv \"c\", Relu \"r\", h");
    CHECK(pm::origin_of(step({conv, relu, h}), 1) == "Conv \"c\" and 2 more");
    CHECK(text_of([] { pm::at_step(step({conv, relu}), full); }) ==
          "[memory] no room\n  - in the step that computes Conv \"c\", Relu \"r\"");
    CHECK(text_of([] { pm::at_step(step({}), full); }) == "[memory] no room");
    CHECK(pm::at_step(step({conv}), [] { return 7; }) == 7);
    CHECK_THROWS_AS(pm::at_step(step({conv}), [] { throw std::bad_alloc(); }), std::bad_alloc);
}

TEST_CASE("at_step: of several, the first and the last that have names; of a value, who makes it") {
    pm::plan p;
    for (const auto& s : {step({}), step({conv}), step({}), step({relu}), step({h}), step({})})
        p.steps.push_back(s);
    CHECK(text_of([&] { pm::at_steps(p, 0, 6, full); }) ==
          "[memory] no room\n  - in the steps from Conv \"c\" to h");
    CHECK(text_of([&] { pm::at_steps(p, 2, 4, full); }) ==
          "[memory] no room\n  - in the step that computes Relu \"r\"");
    CHECK(text_of([&] { pm::at_steps(p, 5, 6, full); }) == "[memory] no room");
    p.values.resize(2);
    p.values[1].made_by = 3;
    CHECK(text_of([&] { pm::at_value(p, 0, full); }) == "[memory] no room");
    CHECK(text_of([&] { pm::at_value(p, 1, full); }) ==
          "[memory] no room\n  - in the step that computes Relu \"r\"");
}
