// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Plans cut where another engine goes on: what each part is given, and what of it is let go.
#include <pumice/exec/plan/member_parts.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

namespace {

pm::plan_value value(pm::value_role role, std::int64_t count, int place) {
    pm::plan_value v{role, pm::dtype::f32, {count}, pm::row_major_strides({count})};
    v.place = place;
    return v;
}
/// Copies four elements to some of a value.
pm::plan_step step(int from, int to, int place, std::int64_t offset = 0) {
    pm::plan_step s = pm::copy_step(value(pm::value_role::temporary, 4, 0), from, to);
    if (offset > 0) {
        auto moved = *s.what.get_if<pm::elementwise_problem>();
        moved.body.outputs[0].offset = offset;
        s.what = pm::problem(std::make_shared<pm::elementwise_problem>(moved));
    }
    s.place = place;
    return s;
}
pm::plan made_of(pm::array_list<pm::plan_value> values, pm::array_list<pm::plan_step> steps) {
    pm::plan p;
    p.values = std::move(values);
    p.steps = std::move(steps);
    for (pm::plan_value& v : p.values)
        v.index = p.of_role(v.role).size(), p.of_role(v.role).push_back(int(&v - p.values.data()));
    p.list_values();
    return p;
}
using enum pm::value_role;
constexpr pm::member_place places[] = {{0, 0}, {1, 0}, {1, 1}, {2, 0}};

}  // namespace

TEST_CASE("member_parts: a part for each stretch of an engine, transfers between them are none") {
    // 0 -> 1 at the first engine; 1 is copied to both lanes of the second, which read it.
    const pm::plan p = made_of({value(input, 4, 0), value(temporary, 4, 0), value(temporary, 4, 1),
                                value(output, 4, 1), value(temporary, 4, 2), value(output, 4, 2),
                                value(temporary, 4, 2)},
                               {step(0, 1, 0), step(1, 2, 1), step(2, 3, 1), step(1, 4, 2),
                                step(4, 5, 2), step(3, 6, 2), step(6, 5, 2)});
    const pm::member_parts parts(p, places);
    REQUIRE(parts.list.size() == 2);
    CHECK(parts.list[0].member == 0);
    CHECK(parts.list[0].steps->what.outputs.size() == 1);
    CHECK(parts.list[1].member == 1);
    const pm::plan& second = parts.list[1].steps->what;
    CHECK(second.inputs.size() == 1);  // the copies are one tensor
    CHECK(second.outputs.size() == 2);
    REQUIRE(second.steps.size() == 4);  // a copy from lane to lane is a step
    CHECK(second.steps[0].place == 0);
    CHECK(second.steps[1].place == 1);
    CHECK(second.is_transfer(second.steps[2]));
    CHECK(parts.list[1].step_of[0] == 2);
    CHECK(parts.same[2] == 1);
    CHECK(parts.list[1].dies[std::size_t(second.inputs[0])]);
    CHECK_FALSE(parts.ends(1, 0));
    CHECK(parts.ends(1, 1));
}

TEST_CASE(
    "member_parts: what is written in two parts goes on from a copy, needless if it is given") {
    const pm::plan p =
        made_of({value(input, 4, 0), value(output, 8, 0), value(temporary, 4, 0),
                 value(temporary, 4, 3), value(temporary, 4, 3), value(temporary, 4, 0)},
                {step(0, 1, 0), step(0, 2, 0), step(2, 3, 3), step(3, 4, 3), step(4, 5, 0),
                 step(5, 1, 0, 4)});
    const pm::member_parts parts(p, places);
    REQUIRE(parts.list.size() == 3);
    const pm::member_parts::part& last = parts.list[2];
    const pm::plan& own = last.steps->what;
    REQUIRE(own.steps.size() == 2);
    CHECK(own.steps[0].unless_given == 0);
    CHECK(own.givings.size() == 1);
    CHECK(last.step_of[0] == 5);
    CHECK(last.step_of[1] == 5);
    CHECK(own.inputs.size() == 2);
    for (const int v : own.inputs) CHECK(last.dies[std::size_t(v)]);
    CHECK(parts.list[0].steps->what.outputs.size() == 2);
}

TEST_CASE("member_parts: what another part made is copied where the copy lies") {
    // To the host, by the lane that has made it; then what it made is an input.
    const pm::plan p = made_of({value(input, 4, 1), value(temporary, 4, 1), value(output, 4, 2)},
                               {step(0, 1, 1), step(1, 2, 1)});
    CHECK(p.is_transfer(p.steps[1]));
    CHECK(pm::part_of(p, 0, 2).steps->what.steps[1].place == 1);
    CHECK(pm::part_of(p, 1, 2).steps->what.steps[0].place == 2);
}

TEST_CASE("member_parts: the source of a copy that a run gives away is kept to its end") {
    const pm::plan p = made_of({value(input, 4, 0), value(temporary, 4, 0), value(output, 4, 3)},
                               {step(0, 1, 0), step(1, 2, 3)});
    const pm::member_parts parts(p, places);
    REQUIRE(parts.list.size() == 1);
    CHECK(parts.same[2] == 1);
    CHECK_FALSE(parts.ends(1, 0));
    CHECK(parts.list[0].steps->what.outputs.size() == 1);
}
