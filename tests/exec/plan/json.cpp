// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Plans as JSON: what is written is read again, and what is no plan is refused by name.
#include "support.hpp"

#include <pumice/exec/plan/json.hpp>
#include <tests/exec/random_programs.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

namespace other {
PUMICE_OP(relu, 1, pm::rules::numeric, "", x + T(5));
PUMICE_OP(maximum, 2, pm::rules::numeric, "", x + y);
}  // namespace other

namespace {

/// The plan of a random program's results.
std::shared_ptr<pm::known_plan> random_plan(unsigned seed) {
    const auto home = std::make_shared<pumice_test::planning_engine>();
    test::program_kind kind;
    kind.evaluate = false;
    std::mt19937 random(seed);
    test::variables held = test::beginning(random, pm::context(home), kind);
    test::assign(random, held, kind);
    return home->plan_of(held);
}
/// The kernels of one's own that random programs call.
pm::plan_names names_of(const pm::plan& p) {
    pm::plan_names names;
    for (const pm::plan_step& s : p.steps)
        if (const auto* k = s.what.get_if<pm::custom_kernel_problem>())
            names.kernels.push_back(k->call->what);
    return names;
}
pm::plan simple() {
    const auto home = std::make_shared<pumice_test::planning_engine>();
    const pm::any_tensor roots[] = {
        pm::apply<pm::op::relu>(pm::matmul(home->given({2, 3}), home->given({3, 4})) * 2.0)};
    return home->plan_of(roots)->what;
}
std::string with(std::string text, std::string_view old, std::string_view now) {
    const std::size_t at = text.find(old);
    REQUIRE(at != std::string::npos);
    return text.replace(at, old.size(), now);
}
bool refused(const std::string& text, std::string_view words) {
    try {
        pm::plan_from_json(text);
    } catch (const pm::error& e) {
        if (std::string_view(e.what()).find(words) != std::string_view::npos) return true;
        MESSAGE(std::string(e.what()));
    }
    return false;
}

}  // namespace

TEST_CASE("plan in JSON: random plans are what they were") {
    int kernels = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        const auto planned = random_plan(seed);
        const pm::plan& p = planned->what;
        const pm::plan_names names = names_of(p);
        kernels += !names.kernels.empty();
        const std::string text = pm::to_json(p);
        const pm::plan again = pm::plan_from_json(text, names);
        CHECK_MESSAGE(pm::to_json(again) == text, "seed " << seed);
        CHECK(again.steps.size() == p.steps.size());
        CHECK(again.inputs.size() == p.inputs.size());
        CHECK(again.outputs.size() == p.outputs.size());
    }
    CHECK(kernels > 20);
}

TEST_CASE("plan in JSON: a step a line, with the ops by name") {
    const std::string text = pm::to_json(simple());
    CHECK(text.find(R"("kind":"matmul")") != std::string::npos);
    CHECK(text.find(R"(["apply","f32","relu",)") != std::string::npos);
    CHECK(text.find(R"("numbers": [
 ["f32",2.0]])") != std::string::npos);
}

TEST_CASE("plan in JSON: an op that reduces stands by its name, and has to take what it reduces") {
    const auto home = std::make_shared<pumice_test::planning_engine>();
    const pm::any_tensor roots[] = {
        pm::reduce(pm::op_info_of<pm::op::maximum>, home->given({2, 3}))};
    const std::string text = pm::to_json(home->plan_of(roots)->what);
    CHECK(text.find(R"("by":"maximum")") != std::string::npos);
    CHECK(pm::to_json(pm::plan_from_json(text)) == text);
    CHECK(refused(with(text, R"("by":"maximum")", R"("by":null)"), "reduces by no op"));
    CHECK(refused(with(text, R"("what":"by_op")", R"("what":"max")"), "reduces by no op"));
}

TEST_CASE("plan in JSON: ops are told by name and text, those that reduce among them") {
    const auto home = std::make_shared<pumice_test::planning_engine>();
    const pm::any_tensor x = home->given({2, 3});
    const pm::any_tensor roots[] = {
        pm::apply<pm::op::relu>(pm::apply<other::op::relu>(x)),
        pm::reduce(pm::op_info_of<other::op::maximum>, x),
        pm::reduce(pm::op_info_of<pm::op::maximum>, x),
    };
    const pm::plan p = home->plan_of(roots)->what;
    const std::string text = pm::to_json(p);
    const pm::plan_names names{
        .ops = {&pm::op_info_of<other::op::maximum>, &pm::op_info_of<other::op::relu>}};
    const pm::plan again = pm::plan_from_json(text, names);
    CHECK(pm::to_json(again) == text);
    REQUIRE(again.steps.size() == p.steps.size());
    for (std::size_t i = 0; i < p.steps.size(); ++i)
        if (const auto* was = p.steps[i].what.get_if<pm::reduce_problem>())
            CHECK(again.steps[i].what.get_if<pm::reduce_problem>()->by == was->by);
    CHECK(refused(text, "has another text here; put the one that was saved into plan_names::ops"));
}

TEST_CASE("plan in JSON: what is no plan is refused by name") {
    const std::string good = pm::to_json(simple());
    CHECK(pm::plan_from_json(good).steps.size() == 1);
    CHECK(refused("", "no plan"));
    CHECK(refused("[1, 2", "no plan"));
    CHECK(refused(good.substr(0, good.size() / 2), "no plan"));
    CHECK(refused(with(good, "\"plan\": 2", "\"plan\": 1"), "version 1"));
    CHECK(refused(with(good, "\"steps\"", "\"stops\""), "there is no `steps`"));
    CHECK(refused(with(good, "\"relu\":\"", "\"relu\":\"0"), "`relu` has another text here"));
    CHECK(refused(with(good, "\"relu\":", "\"relux\":"),
                  "`relux` is not known here; put the one that was saved into plan_names::ops"));
    CHECK(refused(with(good, "\"relu\",", "\"relux\","), "`relux` is not in the table of ops"));
    CHECK(refused(with(good, "\"kind\":\"matmul\"", "\"kind\":\"mutmal\""), "no problem `mutmal`"));
    CHECK(refused(with(good, "\"role\":\"input\"", "\"role\":\"guest\""), "there is no `guest`"));
    CHECK(refused(with(good, "\"m\":2", "\"m\":-2"), "cannot be counted"));
    CHECK(refused(with(good, "\"m\":2", "\"m\":3"), "reaches bytes"));
    CHECK(refused(with(good, "\"m\":2", "\"m\":9223372036854775807"), "cannot be counted"));
    CHECK(refused(with(good, "\"m\":2", "\"m\":2.5"), "problem.m: wants a whole number"));
    CHECK(refused(with(good, "\"m\":2", "\"mm\":2"), "a field that is not known"));
    CHECK(refused(with(good, "[\"leaf\",\"f32\",0]", "[\"leaf\",\"f32\",9]"),
                  "reads an operand that is not there"));
    CHECK(refused(with(good, "[\"leaf\",\"f32\",0]", "[\"leaf\",\"f16\",0]"), "another type"));
    CHECK(refused(with(good, "\"buffers\":[", "\"buffers\":[77,"), "value 77"));
    for (const char* bits : {"", "0123456789abcdef0123", "12g"})
        CHECK(refused(with(good, "[\"f32\",2.0]", pm::cat({"[\"f32\",\"", bits, "\"]"})),
                      "wants bits"));
}

TEST_CASE("plan in JSON: no more elements are picked than there are") {
    const auto home = std::make_shared<pumice_test::planning_engine>();
    const pm::any_tensor roots[] = {pm::top_k(home->given({2, 9}), 4).indices};
    const std::string text = pm::to_json(home->plan_of(roots)->what);
    CHECK(pm::to_json(pm::plan_from_json(text)) == text);
    CHECK(refused(with(text, R"("first":4)", R"("first":10)"), "picks 10 of 9 elements"));
    CHECK(refused(with(text, R"("first":4)", R"("first":-1)"), "cannot be counted"));
}

TEST_CASE("plan in JSON: no text ends the process") {
    const std::string good = pm::to_json(simple());
    std::mt19937 random(7);
    int read = 0;
    for (int i = 0; i < 3000; ++i) {
        std::string text = good;
        for (auto k = 1 + random() % 3; k > 0; --k) {
            const std::size_t at = random() % text.size();
            switch (random() % 4) {
                case 0: text[at] = char(random()); break;
                case 1: text[at] = char('0' + random() % 10); break;
                case 2: text.erase(at, random() % 9); break;
                default: text.insert(at, text.substr(random() % text.size(), random() % 30));
            }
        }
        try {
            pm::plan_from_json(text);
            ++read;
        } catch (const pm::error&) {
        }
    }
    CHECK(read < 3000);
}
