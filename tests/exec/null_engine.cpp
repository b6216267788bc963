// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The null device plans, fuses and selects for a device that is only described.
#include <pumice/exec/null_engine.hpp>
#include <pumice/front.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

namespace {

pm::device_info described() {
    pm::device_info d;
    d.name = "a described GPU";
    d.type = pm::device_type::discrete_gpu;
    d.subgroup_size = d.min_subgroup_size = d.max_subgroup_size = 32;
    d.subgroup_size_control = d.memory_model = d.cooperative_matrix = true;
    d.float16_arithmetic = d.storage16 = true;
    d.max_workgroup_invocations = 1024;
    d.max_workgroup_count = {65535, 65535, 65535};
    d.shared_memory = 48 << 10;
    d.matrix_shapes.push_back({pm::dtype::f16, pm::dtype::f16, pm::dtype::f32, pm::dtype::f32, 16,
                               16, 16});
    return d;
}

struct nothing_there {
    std::shared_ptr<pm::null_engine> engine;
    pm::context home;
    explicit nothing_there(pm::device_info d = described(), pm::policy_set p = {})
        : engine(std::make_shared<pm::null_engine>(std::move(d), std::move(p))), home(engine) {}
};

}  // namespace

TEST_CASE("null device: a chain is one launch, counted and kept, without a device") {
    const nothing_there n;
    const pm::matrix<float> a(pm::zeros(pm::dtype::f32, {8, 16}, n.home));
    pm::matrix<float> y = pm::relu(a * 2.0f + a) - pm::abs(a);
    pm::eval(y);
    CHECK(n.home.stats().evals == 1);
    CHECK(n.home.stats().dispatches == 1);
    CHECK(n.home.stats().submits == 0);
    const pm::array_list<pm::launch> l = n.engine->launches();
    REQUIRE(l.size() == 1);
    CHECK(l[0].module == "elementwise");
    CHECK(l[0].programs.size() == 1);
    CHECK(pm::emit(l[0].programs[0]->view()).find(l[0].arguments[0]) != std::string::npos);
    CHECK(y.get()->realised());
    pm::eval(y);
    CHECK(n.home.stats().dispatches == 1);
}

TEST_CASE(
    "null device: with fusion off each op is a launch, in an order that computes inputs first") {
    pm::policy_set apart;
    apart.fusion = false;
    const nothing_there n(described(), apart);
    const pm::matrix<float> a(pm::zeros(pm::dtype::f32, {8, 16}, n.home));
    pm::matrix<float> y = pm::softmax(pm::relu(a * 2.0f), pm::axis<1>);
    pm::eval(y);
    const pm::array_list<pm::launch> l = n.engine->launches();
    REQUIRE(l.size() == 3);
    CHECK(l[0].module == "elementwise");
    CHECK(l[1].module == "elementwise");
    CHECK(l[2].module == "normalize");
    CHECK(pm::explain(y).starts_with("normalize/"));
}

TEST_CASE("null device: what is described decides, not this machine") {
    const auto kernel_on = [](const pm::device_info& d) {
        const nothing_there n(d);
        const pm::matrix<pm::f16> a = pm::zeros<pm::f16>({512, 512}, n.home);
        pm::matrix<pm::f16> y = pm::matmul(a, a);
        pm::eval(y);
        return pm::explain(y).substr(0, pm::explain(y).find(' '));
    };
    CHECK(kernel_on(described()) == "matmul/cooperative");
    pm::device_info plain = described();
    plain.matrix_shapes.clear();
    plain.cooperative_matrix = false;
    CHECK(kernel_on(plain) != "matmul/cooperative");
    plain.storage16 = false;
    CHECK(kernel_on(plain) == "host/matmul");
    const pm::context strict(pm::null_device{plain}, pm::cpu_fallback::forbid{});
    const pm::matrix<pm::f16> a = pm::zeros<pm::f16>({512, 512}, strict);
    CHECK_THROWS_AS(pm::eval(pm::matrix<pm::f16>(pm::matmul(a, a))), pm::error);
}

TEST_CASE("null device: there is nothing to read, and it says so") {
    const nothing_there n;
    const pm::matrix<float> a = pm::zeros<float>({2, 2}, n.home);
    pm::errc code{};
    try {
        a.to_vector();
    } catch (const pm::error& e) {
        code = e.code();
    }
    CHECK(code == pm::errc::unsupported);
    CHECK(n.home.device_report().find("a described GPU") != std::string::npos);
    CHECK(n.home.device().name == "a described GPU");
    CHECK_THROWS_AS(pm::zeros(pm::dtype::f32, {std::int64_t(1) << 40, std::int64_t(1) << 40},
                              n.home),
                    pm::error);
}

TEST_CASE("null device: it remembers the launches of the last evaluations, not of all") {
    const nothing_there n;
    const pm::vector<float> a(pm::zeros(pm::dtype::f32, {16}, n.home));
    for (int i = 0; i < 5000; ++i) {
        pm::vector<float> y = a + float(i);
        pm::eval(y);
    }
    CHECK(n.home.stats().dispatches == 5000);
    CHECK(n.engine->launches().size() >= 1024);
    CHECK(n.engine->launches().size() <= 2048);
}
