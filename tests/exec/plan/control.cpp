// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Steps that decide, in plans: what the key tells apart, what breaks the rules, their text, their
// reference, and what a device that computes nothing makes of them.
#include "support.hpp"

#include <pumice/exec/control.hpp>
#include <pumice/exec/null_engine.hpp>
#include <pumice/exec/plan/bind.hpp>
#include <pumice/exec/plan/json.hpp>
#include <pumice/tensor/control.hpp>

#include <tests/exec/random_loops.hpp>
#include <tests/support/samples.hpp>

namespace pm = pumice;
using pumice_test::planning_engine;
using vec = pm::vector<float>;

namespace {

/// x = x * factor until the first element passes `bound`; where `with` then its square root.
pm::any_tensor work(const pm::any_tensor& x, double factor = 2, double bound = 100) {
    const pm::any_tensor grown =
        pm::while_loop([&](const pm::any_tensor&
                               v) { return pm::apply<pm::op::less>(pm::max(v), bound); },
                       [&](const pm::any_tensor& v) { return pm::any_tensor(v * factor); }, x);
    return pm::cond(
        pm::apply<pm::op::less>(pm::sum(grown), 1000.0),
        [&] { return pm::apply<pm::op::sqrt>(grown); }, [&] { return pm::any_tensor(grown + x); });
}
pm::plan planned() {
    const auto home = std::make_shared<planning_engine>();
    return home
        ->trace({{8}},
                [](const std::vector<pm::any_tensor>& x) {
                    return std::vector<pm::any_tensor>{work(x[0])};
                })
        ->what;
}
/// The plan with its decision number k as `change` leaves it.
pm::plan changed(std::size_t k, const std::function<void(pm::control_problem&)>& change) {
    pm::plan p = planned();
    for (pm::plan_step& s : p.steps)
        if (const auto* c = s.what.get_if<pm::control_problem>(); c && k-- == 0) {
            pm::control_problem other = *c;
            change(other);
            s.what = pm::problem(std::move(other));
        }
    return p;
}
bool found(const pm::plan& p, std::string_view words) {
    for (const std::string& fault : pm::find_faults(p))
        if (fault.find(words) != std::string::npos) return true;
    for (const std::string& fault : pm::find_faults(p)) MESSAGE(fault);
    return false;
}
/// With the plan of its part k as `change` leaves it.
auto within(std::size_t k, const std::function<void(pm::plan&)>& change) {
    return [k, change](pm::control_problem& c) {
        pm::plan p = *c.parts[k].what;
        change(p);
        c.parts[k].what = std::make_shared<const pm::plan>(std::move(p));
    };
}

}  // namespace

TEST_CASE("control: a plan with decisions keeps the rules, and what breaks them is named") {
    CHECK(pm::find_faults(planned()).empty());
    using problem = pm::control_problem;
    pm::plan silent = planned();
    silent.decisions = nullptr;
    CHECK(found(silent, "which the plan does not say"));
    CHECK(found(changed(0, [](problem& c) { c.carried = 2; }), "other operands, results or plans"));
    CHECK(found(changed(0, [](problem& c) { c.tested = false; }), "other operands"));
    CHECK(found(changed(1, [](problem& c) { c.parts.pop_back(); }), "other operands"));
    CHECK(found(changed(0, [](problem& c) { c.parts[0].what = nullptr; }), "lacks a plan"));
    CHECK(found(changed(0, [](problem& c) { c.parts[0].reads.pop_back(); }), "that takes"));
    CHECK(found(changed(0, [](problem& c) { c.parts[0].reads[0] = 1; }), "another value"));
    CHECK(found(changed(1, [](problem& c) { c.parts[1].reads[0] = 99; }), "another value"));
    CHECK(found(changed(0, [](problem& c) { c.result_shapes[0] = {4}; }), "carries value 0"));
    CHECK(found(changed(1, [](problem& c) { std::swap(c.operands[0], c.operands[1]); }), ""));
    CHECK(found(changed(1, within(0, [](pm::plan& p) { p.outputs.clear(); })), ""));
    CHECK(found(changed(1, within(1, [](pm::plan& p) { p.steps.pop_back(); })),
                "has a plan in which"));
}

TEST_CASE("control: equal loops have one plan; another number, bound or body has its own") {
    const auto home = std::make_shared<planning_engine>();
    const auto key_of = [&](const pm::any_tensor& t) {
        const pm::any_tensor roots[] = {t};
        return home->plan_of(roots).get();
    };
    const pm::any_tensor x = home->given({8});
    const auto* const known = key_of(work(x));
    CHECK(key_of(work(home->given({8}))) == known);
    CHECK(key_of(work(x, 3)) != known);
    CHECK(key_of(work(x, 2, 101)) != known);
    CHECK(key_of(work(home->given({9}))) != known);
    const auto counted = [&](int n) {
        return pm::fori_loop(
            0, n,
            [](const pm::any_tensor&, const pm::any_tensor& v) { return pm::any_tensor(v * 2.0); },
            x);
    };
    CHECK(key_of(counted(3)) == key_of(counted(3)));
    CHECK(key_of(counted(3)) != key_of(counted(4)));
}

TEST_CASE("control: the text of a plan with decisions is read again, bound, and runs") {
    const std::string text = pm::to_json(planned());
    const pm::plan read = pm::plan_from_json(text);
    CHECK(read.decisions != nullptr);
    CHECK(pm::to_json(read) == text);
    const pm::context home(pm::host_only{});
    const pm::executable e = pm::bind(home, read);
    for (const float start : {1.0f, 0.5f}) {
        const pm::any_tensor x = pm::full(pm::dtype::f32, {8}, start, home);
        CHECK(pm::to_vector<float>(e.run({x})[0]) == pm::to_vector<float>(work(x)));
    }
    std::string deep = R"({"plan": 2, "ops": {}, "kernels": {}, "programs": [], "numbers": [],
        "values": [], "givings": [], "steps": [)",
                end = "]}";
    for (int i = 0; i < 40; ++i) {
        deep += R"({"problem": {"kind": "control", "plans": [{"plan": {"steps": [)";
        end = "]}}]}}" + end;
    }
    CHECK_THROWS_WITH_AS(pm::plan_from_json(deep + end), doctest::Contains("deeper than 32"),
                         pm::error);
}

TEST_CASE("control: the reference of decisions gives what plain C++ gives") {
    const pm::context home(pm::host_only{});
    const int count = test::samples(60);
    int decided = 0;
    for (int k = 0; k < count; ++k) {
        const test::random_loop loop(900 + unsigned(k));
        const pm::executable e = loop.recorded(home);
        const pm::plan& p = e.planned();
        std::vector<std::vector<std::byte>> memory(p.values.size());
        std::vector<std::byte*> at;
        for (std::size_t v = 0; v < memory.size(); ++v) {
            const pm::plan_value& value = p.values[v];
            memory[v].resize(std::size_t(value.bytes()));
            at.push_back(memory[v].data());
            if (value.is_given())
                std::memcpy(at[v], loop.given(value.role, value.index).data(), memory[v].size());
        }
        for (const pm::plan_step& s : p.steps) {
            pm::host_buffers buffers{{}, {p.numbers.data(), p.numbers.size()}};
            for (const int v : s.buffers) buffers.memory.push_back(at[std::size_t(v)]);
            decided += pm::decides(s);
            pm::solve_on_host(s.what, buffers);
        }
        const std::vector<test::integers> want = loop.plainly();
        for (std::size_t i = 0; i < want.size(); ++i)
            CHECK_MESSAGE(std::memcmp(at[std::size_t(p.outputs[i])], want[i].data(),
                                      want[i].size() * sizeof(std::int32_t)) == 0,
                          "seed " << 900 + k << ", result " << i);
    }
    CHECK(decided >= count);
}

TEST_CASE("control: a device that computes nothing runs both branches and one step") {
    pm::device_info device = pumice_test::described();
    device.storage8 = true;
    const auto engine = std::make_shared<pm::null_engine>(device, pm::policy_set{});
    const pm::context home{engine};
    const pm::any_tensor x = pm::full(pm::dtype::f32, {8}, 1, home);
    const pm::any_tensor y = work(x);
    pm::eval(std::span(&y, 1));
    const auto names = [&](std::size_t from) {
        std::string all;
        const auto list = engine->launches();
        for (std::size_t i = from; i < list.size(); ++i)
            for (const auto& program : list[i].programs)
                for (const pm::instruction& each : program->code)
                    if (each.op) all += each.op->name;
        return all;
    };
    CHECK(engine->stats().plans == 1);
    CHECK(names(0).find("sqrt") != std::string::npos);  // where true
    CHECK(names(0).find("add") != std::string::npos);   // where false
    CHECK(names(0).find("multiply") != std::string::npos);
    const std::size_t before = engine->launches().size();
    const auto recorded = pm::compile([](const pm::any_tensor& v) { return work(v); });
    recorded(x);
    CHECK(names(before).find("sqrt") != std::string::npos);
}
