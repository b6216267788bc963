// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a plan says of its values without a device: whose memory holds one, and which givings are
// carried out together.
#include <pumice/exec/plan/plan.hpp>

#include <doctest/doctest.h>

#include <initializer_list>
#include <utility>
#include <vector>

namespace pm = pumice;

namespace {

/// A plan of values alone, with these roles.
pm::plan of(std::initializer_list<pm::value_role> roles) {
    pm::plan p;
    for (const pm::value_role r : roles) p.values.push_back({r, pm::dtype::f32, {4}, {1}});
    return p;
}
constexpr pm::value_role input = pm::value_role::input, output = pm::value_role::output,
                         temporary = pm::value_role::temporary;

/// The numbers in a mask.
std::vector<int> in(pm::giving_mask m) {
    std::vector<int> list;
    for (int i = -2; i < 200; ++i)
        if (m.contains(i)) list.push_back(i);
    return list;
}
std::vector<int> chosen(const pm::plan& p, pm::value_role from) {
    return in(pm::choose_givings(p, from, [](int, int) { return true; }));
}
using numbers = std::vector<int>;

}  // namespace

TEST_CASE("plan: the root of a value is the end of its aliases") {
    pm::plan p = of({output, output, output, output});
    p.at(3).alias = 1;
    p.at(1).alias = 2;
    CHECK(p.root(0) == 0);
    CHECK(p.root(2) == 2);
    CHECK(p.root(1) == 2);
    CHECK(p.root(3) == 2);
}

TEST_CASE("plan: a value's bytes are those of its extent") {
    pm::plan_value v{temporary, pm::dtype::f16, {3, 5}, {5, 1}};
    CHECK(v.count() == 15);
    CHECK(v.bytes() == 30);
    CHECK(v.alias == -1);
    CHECK(v.made_by == -1);
    v.extent = {3, 0};
    CHECK(v.bytes() == 0);
}

TEST_CASE("plan: values that know their role and index are listed again") {
    pm::plan p = of({output, input, temporary, output, pm::value_role::state});
    p.at(0).index = 1;
    p.list_values();
    CHECK(p.inputs == pm::array_list<int>{1});
    CHECK(p.temporaries == pm::array_list<int>{2});
    CHECK(p.outputs == pm::array_list<int>{3, 0});
    CHECK(p.of_role(pm::value_role::state) == pm::array_list<int>{4});
    CHECK(p.constants.empty());
    CHECK(p.parameters.empty());
}

TEST_CASE("plan: inputs, constants and parameters are given, states and what steps make are not") {
    for (const pm::value_role r : {input, pm::value_role::constant, pm::value_role::parameter})
        CHECK(of({r}).at(0).is_given());
    for (const pm::value_role r : {pm::value_role::state, temporary, output})
        CHECK(!of({r}).at(0).is_given());
}

TEST_CASE("giving mask: it contains what was inserted, up to the last of 64") {
    pm::giving_mask m;
    CHECK(m.empty());
    CHECK(in(m).empty());
    m.insert(0);
    m.insert(33);
    m.insert(63);
    CHECK(!m.empty());
    CHECK(in(m) == numbers{0, 33, 63});
    pm::giving_mask other;
    CHECK(m != other);
    for (const std::size_t i : {63u, 33u, 0u}) other.insert(i);
    CHECK(m == other);
}

TEST_CASE("givings: a value gives once") {
    pm::plan p = of({input, output, output, input, output});
    p.givings = {{0, 0, 1}, {0, 0, 2}, {1, 3, 4}};
    CHECK(chosen(p, input) == numbers{0, 2});
}

TEST_CASE("givings: a value takes once") {
    pm::plan p = of({input, input, output, input, output});
    p.givings = {{0, 0, 2}, {0, 1, 2}, {1, 3, 4}};
    CHECK(chosen(p, input) == numbers{0, 2});
    // What is not carried out keeps nobody else from it.
    const pm::giving_mask m = pm::choose_givings(p, input, [](int from, int) { return from != 0; });
    CHECK(in(m) == numbers{1, 2});
}

TEST_CASE("givings: only values of the role that is asked for give, and are asked about") {
    pm::plan p = of({input, output, temporary, temporary});
    p.givings = {{0, 2, 3}, {1, 0, 1}};
    CHECK(chosen(p, input) == numbers{1});
    CHECK(chosen(p, temporary) == numbers{0});
    CHECK(chosen(p, pm::value_role::constant).empty());
    std::vector<std::pair<int, int>> asked;
    const pm::giving_mask none = pm::choose_givings(p, input, [&](int from, int to) {
        asked.emplace_back(from, to);
        return false;
    });
    CHECK(none.empty());
    CHECK(asked == std::vector<std::pair<int, int>>{{0, 1}});
}

TEST_CASE("givings: a value may take and then give") {
    pm::plan p = of({temporary, temporary, temporary});
    p.givings = {{0, 0, 1}, {1, 1, 2}};
    CHECK(chosen(p, temporary) == numbers{0, 1});
}

TEST_CASE("givings: beyond the first 64 nothing is carried out") {
    pm::plan p;
    for (int i = 0; i < 70; ++i) {
        p.values.push_back({input, pm::dtype::f32, {4}, {1}});
        p.values.push_back({output, pm::dtype::f32, {4}, {1}});
        p.givings.push_back({i, 2 * i, 2 * i + 1});
    }
    int asked = 0;
    const pm::giving_mask all = pm::choose_givings(p, input, [&](int, int) { return ++asked > 0; });
    CHECK(asked == 64);
    CHECK(in(all).size() == 64);
    CHECK(in(all).back() == 63);
    CHECK(!all.contains(64));
    CHECK(!all.contains(128));
}
