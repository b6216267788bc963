// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What tracing hands to a function and keeps of it, without an engine that runs anything.
#include <pumice/front.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

#include <functional>

namespace pm = pumice;
using pumice_test::fake_engine;

namespace {

struct fixture {
    std::shared_ptr<fake_engine> engine = std::make_shared<fake_engine>();
    pm::context home{engine};
    pm::any_tensor x = pumice_test::data(engine, {2, 3});
    ~fixture() { engine->traced.clear(); }  // its nodes hold the engine that keeps them
};

}  // namespace

TEST_CASE("trace: inputs have no values, outputs are distinct and lazy, keys are listed") {
    fixture f;
    const pm::executable::value in[] = {{pm::dtype::f32, {2, 3}}};
    const pm::executable e = pm::trace(f.home, in, [&](std::span<const pm::any_tensor> t) {
        CHECK(t[0].get()->realised());
        CHECK_FALSE(t[0].get()->data);
        const auto y = pm::apply<pm::op::tanh>(t[0]);
        const auto noise =
            pm::random::normal(pm::dtype::f32, {2, 3}, pm::random::detail::fresh(), 0, 1, f.home);
        return std::vector<pm::any_tensor>{y, y, t[0], f.x, pm::apply<pm::op::add>(y, noise)};
    });
    REQUIRE(f.engine->traced.size() == 1);
    const pm::traced_graph& g = f.engine->traced[0];
    CHECK(g.inputs.size() == 1);
    CHECK(g.keys.size() == 1);
    CHECK(g.keys[0]->type == pm::dtype::u32);
    REQUIRE(g.outputs.size() == 5);
    for (std::size_t i = 0; i < 5; ++i) {
        CHECK_FALSE(g.outputs[i]->realised());
        for (std::size_t k = 0; k < i; ++k) CHECK(g.outputs[i] != g.outputs[k]);
    }
    CHECK(e.inputs().size() == 1);
    CHECK(e.outputs()[4].shape == pm::shape{2, 3});
    CHECK(f.engine->evaluated == 0);
}

TEST_CASE("trace: nothing is evaluated meanwhile, whatever the policies say") {
    pm::policy_set set;
    set.eager = true;
    const auto engine = std::make_shared<fake_engine>(set);
    const pm::context home{engine};
    const pm::executable::value in[] = {{pm::dtype::f32, {4}}};
    pm::trace(home, in, [&](std::span<const pm::any_tensor> t) {
        return std::vector<pm::any_tensor>{pm::tanh(t[0] + 1.0)};
    });
    CHECK(engine->evaluated == 0);
    const pm::any_tensor after = pm::tanh(data(engine, {4}));
    CHECK(engine->evaluated > 0);
    engine->traced.clear();
}

TEST_CASE("compile: results keep their static types") {
    const auto one = [](const pm::matrix<float>& x) { return x + 1.0f; };
    const auto two = [](const pm::matrix<float>& x) {
        return std::tuple(x * 2.0f, pm::any_tensor(x));
    };
    const auto many = [](const pm::any_tensor& x) { return std::vector<pm::any_tensor>{x, x}; };
    using x = pm::matrix<float>;
    CHECK(std::same_as<decltype(pm::compile(one)(std::declval<x>())), x>);
    CHECK(std::same_as<decltype(pm::compile(two)(std::declval<x>())),
                       std::tuple<x, pm::any_tensor>>);
    CHECK(std::same_as<decltype(pm::compile(many)(std::declval<x>())),
                       std::vector<pm::any_tensor>>);
}

TEST_CASE("random: a key that a trace brings gives further such keys") {
    fixture f;
    const pm::executable::value in[] = {{pm::dtype::f32, {2}}};
    pm::trace(f.home, in, [&](std::span<const pm::any_tensor> t) {
        pm::random::key k = pm::random::detail::fresh();
        const pm::random::key next = k.next();
        CHECK(k.traced());
        CHECK(next.traced());
        CHECK(next.traced() != k.traced());
        return std::vector<pm::any_tensor>{t[0]};
    });
    CHECK(f.engine->traced[0].keys.size() == 2);
    CHECK_FALSE(pm::random::detail::fresh().traced());
}

TEST_CASE("compile: a function may ask for its recordings, and be copied, while it is traced") {
    fixture f;
    std::size_t recorded = 7;
    std::function<std::size_t()> ask;
    auto work = pm::compile([&](const pm::any_tensor& x) {
        recorded = ask();
        return pm::apply<pm::op::tanh>(x);
    });
    ask = [&] {
        const auto copy = work;
        return copy.recorded() + work.recorded();
    };
    static_cast<void>(work.get(f.x));
    CHECK(recorded == 0);
}
