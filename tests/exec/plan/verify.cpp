// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The rules of plans: every plan of random programs keeps them, and each fault that is planted is
// found, by the words that name it.
#include <tests/exec/random_programs.hpp>

#include <pumice/exec/graph_engine.hpp>
#include <pumice/exec/plan/verify.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

namespace {

/// Verifies what it is to run, keeps the last plan, and computes nothing.
class verifying final : public pm::graph_engine {
public:
    struct held final : pm::storage {};
    explicit verifying(pm::policy_set p = {}) : graph_engine(std::move(p)) {
        info_.name = "verifying";
    }
    pm::node_ptr create(pm::dtype type, const pm::shape& extent, const void*) override {
        return pm::make_data(type, extent, std::make_shared<held>(), shared_from_this());
    }
    void read(const pm::node_ptr&, void*) override {}
    void write(const pm::node_ptr&, std::int64_t, pm::span<const std::byte>) override {}
    std::byte* host(const pm::node_ptr&, bool) override { return nullptr; }
    pm::statistics stats() const override { return {}; }
    const pm::device_info& device() const override { return info_; }
    std::string device_report() const override { return "verifying"; }

    pm::plan last;
    int plans = 0, faults = 0, givings = 0, parts = 0;

private:
    void fetch(const pm::node_ptr&, void*) override {}
    void execute(pm::plan_run& run, pm::stop_view) override {
        last = run.what();
        ++plans;
        givings += int(last.givings.size());
        for (const std::string& f : pm::find_faults(last)) {
            MESSAGE(f);
            ++faults;
        }
        for (std::size_t v = 0; v < last.values.size(); ++v) {
            parts += last.values[v].alias >= 0;
            if (!run.given[v] && last.values[v].alias < 0) run.made[v] = std::make_shared<held>();
        }
    }
    pm::device_info info_;
};

struct place {
    std::shared_ptr<verifying> engine = std::make_shared<verifying>();
    pm::context home{engine};
    pm::any_tensor given(const pm::shape& extent) const {
        return pm::any_tensor(engine->create(pm::dtype::f32, extent, nullptr));
    }
    /// The plan of relu(a @ b + c), then an assignment to rows of d, which nobody else holds.
    pm::plan plan() const {
        const pm::any_tensor a = given({4, 4}), b = given({4, 4}), c = given({4});
        pm::any_tensor d = given({4, 4});
        const pm::any_tensor y =
            pm::apply<pm::op::relu>(pm::apply<pm::op::add>(pm::matmul(a, b), c));
        pm::at(d, pm::slice{1, 2}) = 3;
        const pm::any_tensor roots[] = {y, d};
        pm::eval(roots);
        return engine->last;
    }
};

/// Whether one of the plan's faults has these words.
bool found(const pm::plan& p, const std::string& words) {
    const std::vector<std::string> faults = pm::find_faults(p);
    for (const std::string& f : faults)
        if (f.find(words) != std::string::npos) return true;
    for (const std::string& f : faults) MESSAGE(f);
    return false;
}

}  // namespace

TEST_CASE("plan: what random programs are planned to is without fault") {
    const place p;
    for (unsigned seed = 0; seed < 300; ++seed) {
        test::variables held = test::run(p.home, seed);
        pm::eval(held);
    }
    CHECK(p.engine->plans >= 300);
    CHECK(p.engine->faults == 0);
    CHECK(p.engine->givings > 50);
    CHECK(p.engine->parts > 50);
}

TEST_CASE("plan: each rule finds the fault that breaks it") {
    const place here;
    const pm::plan good = here.plan();
    REQUIRE(pm::find_faults(good).empty());
    REQUIRE(good.steps.size() == 3);  // the product, the copy of d, the rows
    REQUIRE(good.givings.size() == 1);
    REQUIRE(good.steps[1].unless_given == 0);

    pm::plan p = good;
    p.steps[0].buffers[0] = 99;
    CHECK(found(p, "step 0 names value 99, which does not exist"));

    p = good;
    std::swap(p.inputs[0], p.inputs[1]);
    CHECK(found(p, "is listed in a role or a place that is not its own"));
    p = good;
    p.outputs.push_back(p.inputs[0]);
    CHECK(found(p, "has two roles"));
    p = good;
    p.outputs.pop_back();
    CHECK(found(p, "has no role"));

    p = good;  // a reader before its writer
    std::swap(p.steps[0], p.steps[2]);
    CHECK(found(p, "is said to be made by step"));
    p = good;
    p.at(p.inputs[0]).role = pm::value_role::output;
    CHECK(found(p, "before a step wrote it"));

    p = good;
    p.at(p.outputs[0]).extent = {4, 3};
    p.at(p.outputs[0]).layout = {3, 1};
    CHECK(found(p, "which has 48"));
    p = good;
    p.at(p.outputs[0]).type = pm::dtype::i32;
    CHECK(found(p, "as f32, it is i32"));

    p = good;
    p.steps[0].outputs[0] = p.outputs[1];
    CHECK(found(p, "which is not among its outputs"));
    CHECK(found(p, "does not write its output"));

    p = good;
    p.steps[0].place = 1;
    CHECK(found(p, "step 0 runs at place 1 and works on a value of another"));
    p = good;
    p.steps[0].place = -1;
    CHECK(found(p, "step 0 runs at place -1"));
    p = good;
    p.steps[1].place = 1;  // a copy of what it is given is no transfer of a value of the plan's
    CHECK(found(p, "step 1 runs at place 1 and works on a value of another"));

    p = good;
    p.at(p.outputs[0]).alias = p.outputs[1];
    CHECK(found(p, "which lies within another"));
    p.at(p.outputs[1]).alias = p.outputs[0];
    CHECK(found(p, "lies within itself"));
    p = good;
    p.at(p.outputs[0]).alias = p.outputs[1];
    p.at(p.outputs[0]).offset = 1;
    CHECK(found(p, "ends at byte 68 of value"));

    p = good;
    p.givings[0].from = p.inputs[0];
    CHECK(found(p, "may not give its memory"));
    p = good;
    p.steps[0].unless_given = 0;
    CHECK(found(p, "is not needless"));

    p = good;
    p.steps.pop_back();
    p.steps.pop_back();
    p.givings.clear();
    CHECK(found(p, "no step writes the output value"));

    CHECK_THROWS_AS(pm::verify(p), pm::error);
    CHECK_NOTHROW(pm::verify(good));
}
