// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What every engine promises of an evaluation: what is planned, what is stored, and that a failure
// changes nothing.
#include <pumice/exec/graph_engine.hpp>
#include <pumice/front.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

namespace {

/// Takes note of what it is to run, and fails as often as it is told to.
class observed final : public pm::graph_engine {
public:
    struct held final : pm::storage {};
    explicit observed(pm::policy_set p = {}) : graph_engine(std::move(p)) {
        info_.name = "observed";
        info_.max_workgroup_count = {1 << 20, 1 << 16, 1 << 16};
        info_.max_workgroup_invocations = 1024;
        info_.shared_memory = 32 << 10;
    }
    pm::node_ptr create(pm::dtype type, const pm::shape& extent, const void*) override {
        return pm::make_data(type, extent, std::make_shared<held>(), shared_from_this());
    }
    void read(const pm::node_ptr&, void*) override {}
    pm::statistics stats() const override { return {}; }
    const pm::device_info& device() const override { return info_; }
    std::string device_report() const override { return "observed"; }

    int failures = 0, runs = 0;
    std::size_t steps = 0, stored = 0;

private:
    void write(const pm::node_ptr&, std::int64_t, pm::span<const std::byte>) override {}
    std::byte* host(const pm::node_ptr&, bool) override { return nullptr; }
    void fetch(const pm::node_ptr&, void*) override {}
    void execute(pm::plan_run& run, pm::stop_view) override {
        ++runs;
        if (failures > 0) {
            --failures;
            throw pm::error(pm::errc::out_of_memory, "test", "no");
        }
        const pm::plan& p = run.what();
        steps = p.steps.size();
        stored = 0;
        for (const int v : p.outputs) {
            if (p.at(v).alias >= 0) continue;
            ++stored;
            run.made[std::size_t(v)] = std::make_shared<held>();
        }
        for (std::size_t i = 0; i < steps; ++i)
            run.records[i] = std::make_shared<pm::kernel_record>(pm::kernel_record{
                "k", fused_name(p.steps[i].what), {}});
    }
    pm::device_info info_;
};

struct place {
    std::shared_ptr<observed> engine = std::make_shared<observed>();
    pm::context home{engine};
    pm::matrix<float> given(std::int64_t n = 4) const {
        return pm::matrix<float>(pm::zeros(pm::dtype::f32, {n, n}, home));
    }
};

}  // namespace

TEST_CASE(
    "graph engine: a failure leaves every node lazy, with its inputs, and the next try does it") {
    const place p;
    const pm::matrix<float> a = p.given();
    pm::matrix<float> x = pm::matmul(a, a), y = pm::softmax(x, pm::axis<1>);
    const auto turned = pm::transpose(y);
    p.engine->failures = 2;
    for (int i = 0; i < 2; ++i) {
        CHECK_THROWS_AS(pm::eval(turned), pm::error);
        for (const pm::any_tensor& t :
             {pm::any_tensor(x), pm::any_tensor(y), pm::any_tensor(turned)}) {
            CHECK_FALSE(t.get()->realised());
            CHECK_FALSE(t.get()->data);
            CHECK(t.get()->inputs.size() >= 1);
        }
    }
    pm::eval(turned);
    CHECK(p.engine->runs == 3);
    CHECK(turned.get()->realised());
    CHECK(turned.get()->inputs.empty());
    CHECK(turned.get()->data == y.get()->data);  // a view looks at the memory of what it is of
    CHECK(turned.get()->layout() == pm::strides{1, 4});
    pm::eval(turned, y);
    CHECK(p.engine->runs == 3);  // nothing is left to run
}

TEST_CASE("graph engine: roots of one evaluation are planned together, and each is stored once") {
    const place p;
    const pm::matrix<float> a = p.given();
    auto y = pm::relu(a);
    pm::matrix<float> u = y * 2.0f, v = y + 1.0f;
    pm::eval(u, v, u);
    CHECK(p.engine->runs == 1);
    CHECK(p.engine->steps == 1);
    CHECK(p.engine->stored == 2);
    CHECK(u.get()->record->fused == "relu, multiply, add");
    CHECK(u.get()->record == v.get()->record);
}

TEST_CASE("graph engine: what has no elements is realised without a step") {
    const place p;
    const pm::any_tensor none = pm::zeros(pm::dtype::f32, {0, 4}, p.home);
    const pm::any_tensor y = pm::apply<pm::op::abs>(none);
    pm::eval(std::span<const pm::any_tensor>(&y, 1));
    CHECK(p.engine->steps == 0);
    CHECK(y.get()->realised());
}

TEST_CASE("graph engine: explain tells the plan before, and what was done after") {
    const place p;
    const pm::matrix<float> a = p.given();
    pm::matrix<float> y = pm::relu(pm::matmul(a, a) + 1.0f);
    const std::string plan = pm::explain(y);
    CHECK(plan.starts_with("not evaluated yet; the plan:\nmatmul/split_k (4, 4):"));
    CHECK(plan.find("add, relu") != std::string::npos);
    CHECK(plan.find("  not matmul/cooperative: ") != std::string::npos);
    CHECK(p.engine->runs == 0);
    CHECK_FALSE(y.get()->realised());
    pm::eval(y);
    CHECK(pm::explain(y).starts_with("k (4, 4): "));
    CHECK(pm::explain(a) == "data from the host\n");
    const pm::any_tensor none = pm::apply<pm::op::abs>(pm::zeros(pm::dtype::f32, {0, 4}, p.home));
    CHECK(pm::explain(none) == "not evaluated yet; no kernel has to run\n");
}

TEST_CASE("graph engine: a product that one evaluation computed within a kernel, the next stores") {
    const place at;
    const auto a = at.given(), b = at.given();
    const pm::matrix<float> y = pm::matmul(a, b);
    const auto evaluated = [&](float factor) {
        const pm::matrix<float> z = y * factor;
        static_cast<void>(pm::explain(z));  // computes nothing
        pm::eval(z);
        return std::pair(at.engine->steps, at.engine->stored);
    };
    at.engine->failures = 1;  // what fails has computed nothing
    CHECK_THROWS_AS(evaluated(1), pm::error);
    CHECK(evaluated(2) == std::pair<std::size_t, std::size_t>(1, 1));
    CHECK(evaluated(3) == std::pair<std::size_t, std::size_t>(2, 2));
    CHECK(evaluated(4) == std::pair<std::size_t, std::size_t>(1, 1));
}

TEST_CASE("graph engine: what is elementwise is computed again, as fast as it would be read") {
    const place at;
    const auto a = at.given();
    const pm::matrix<float> y = pm::relu(a + 1.0f);
    for (int i = 0; i < 3; ++i) {
        const pm::matrix<float> z = pm::sum(y, pm::axis<1>, pm::keepdims);
        pm::eval(z);
        CHECK(at.engine->steps == 1);
        CHECK(at.engine->stored == 1);
    }
}
