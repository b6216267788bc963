// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Graphs that are cut out of what a function made: what is inside, what is captured, and that what
// was there stays as it was.
#include <pumice/graph/graph_copy.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;
using pumice_test::fake_engine;

namespace {

/// While it is there, nodes are made in a scope of their own.
struct scope {
    explicit scope(std::uint64_t number) { pm::detail::current_scope = number; }
    ~scope() { pm::detail::current_scope = 0; }
};
pm::any_tensor add(const pm::any_tensor& a, const pm::any_tensor& b) {
    return pm::apply<pm::op::add>(a, b);
}

}  // namespace

TEST_CASE("closed graph: what was made in the scope is copied, the rest captured once") {
    const auto engine = std::make_shared<fake_engine>();
    const pm::any_tensor there = pumice_test::data(engine, {2, 3}), lazy = add(there, there);
    const int uses = lazy.get()->pending_uses;
    pm::any_tensor input, made, inside;
    {
        const scope in(7);
        input = pm::any_tensor(pm::make_data(pm::dtype::f32, {2, 3}, nullptr, engine));
        inside = add(input, lazy);
        made = add(add(inside, there), pm::flip(lazy));
    }
    pm::closed_graph g(7, {input.get()}, {}, "test", false);
    g.add(made.get());
    REQUIRE(g.captured.size() == 2);
    CHECK(g.captured[0] == lazy.get());
    CHECK(g.captured[1] == there.get());
    CHECK(g.graph.inputs.size() == 3);
    REQUIRE(g.graph.outputs.size() == 1);
    CHECK(g.graph.outputs[0] != made.get());
    CHECK(g.graph.outputs[0]->extent == made.shape());
    // The copy reads inputs of its graph alone, and the tensors that were there read what they did.
    CHECK(g.graph.outputs[0]->inputs[0]->inputs[0]->inputs[0] == input.get());
    CHECK(g.graph.outputs[0]->inputs[0]->inputs[0]->inputs[1] == g.graph.inputs[1]);
    CHECK(inside.get()->inputs[1] == lazy.get());
    CHECK(lazy.get()->pending_uses == uses + 2);  // those of the function's own nodes
    {
        const pm::closed_graph gone = std::move(g);
    }
    made = {}, inside = {};
    CHECK(lazy.get()->pending_uses == uses);
}

TEST_CASE("closed graph: outputs are distinct lazy nodes, no views") {
    const auto engine = std::make_shared<fake_engine>();
    const pm::any_tensor there = pumice_test::data(engine, {4});
    pm::any_tensor input, sum, view;
    {
        const scope in(3);
        input = pm::any_tensor(pm::make_data(pm::dtype::f32, {4}, nullptr, engine));
        sum = add(input, there);
        view = pm::flip(sum);
    }
    pm::closed_graph g(3, {input.get()}, {}, "test", false);
    for (const auto& t : {sum, sum, view, input, there}) g.add(t.get());
    REQUIRE(g.graph.outputs.size() == 5);
    for (std::size_t i = 0; i < 5; ++i) {
        CHECK_FALSE(g.graph.outputs[i]->realised());
        CHECK_FALSE(pm::is_view(*g.graph.outputs[i]));
        for (std::size_t k = 0; k < i; ++k) CHECK(g.graph.outputs[i] != g.graph.outputs[k]);
    }
}

TEST_CASE("closed graph: an argument of another function is refused") {
    const auto engine = std::make_shared<fake_engine>();
    pm::any_tensor other, made;
    {
        const scope in(5);
        other = pm::any_tensor(pm::make_data(pm::dtype::f32, {4}, nullptr, engine));
        made = add(other, other);
    }
    pm::closed_graph g(5, {}, {}, "test", false);
    CHECK(pumice_test::code_of([&] { g.add(made.get()); }) == pm::errc::invalid_argument);
}

TEST_CASE("closed graph: for many runs what kernels compute of no input is captured too") {
    const auto engine = std::make_shared<fake_engine>();
    const pm::any_tensor there = pumice_test::data(engine, {4, 4});
    const std::int64_t last[] = {1};
    const auto sums = [&](const pm::any_tensor& x) {
        return pm::reduce(pm::reduction::sum, x, last);
    };
    pm::any_tensor input, other, fixed, made, stale;
    {
        const scope in(5);
        input = pm::any_tensor(pm::make_data(pm::dtype::f32, {4, 4}, nullptr, engine));
        other = pm::any_tensor(pm::make_data(pm::dtype::f32, {4, 4}, nullptr, engine));
        fixed = sums(add(there, there));
        made = add(sums(add(input, there)), add(fixed, fixed));
        stale = sums(other);
    }
    for (const bool repeats : {false, true}) {
        pm::closed_graph g(5, {input.get()}, {}, "test", repeats);
        g.add(made.get());
        REQUIRE(g.captured.size() == (repeats ? 2 : 1));
        CHECK(g.captured[0] == there.get());
        CHECK((g.captured.back() == fixed.get()) == repeats);
        CHECK(pumice_test::code_of([&] { g.add(stale.get()); }) == pm::errc::invalid_argument);
    }
}

TEST_CASE("closed graph: a chain of nodes is copied without recursion") {
    const auto engine = std::make_shared<fake_engine>();
    pm::any_tensor x;
    {
        const scope in(9);
        x = pm::any_tensor(pm::make_data(pm::dtype::f32, {1}, nullptr, engine));
        const pm::node_ptr input = x.get();
        for (int i = 0; i < 200000; ++i) x = pm::apply<pm::op::negative>(x);
        pm::closed_graph g(9, {input}, {}, "test", false);
        g.add(x.get());
        CHECK(g.captured.empty());
    }
}

TEST_CASE("operation: ops are shared by nodes, and live as long as one of them") {
    pm::operation first(pm::copy_op{{4, 1}});
    pm::operation second;
    {
        const pm::operation third = first.share();
        second = third.share();
        first = pm::operation();
    }
    CHECK(second.get_if<pm::copy_op>()->layout == pm::strides{4, 1});
    CHECK(pm::operation().share().is<pm::source_op>());
}

TEST_CASE("make_control: results know each other") {
    const auto engine = std::make_shared<fake_engine>();
    const auto call = std::make_shared<pm::control_call>();
    call->results = {{pm::dtype::f32, {2}}, {pm::dtype::i32, {}}};
    const pm::any_tensor inputs[] = {pumice_test::data(engine, {2})};
    const std::vector<pm::any_tensor> made = pm::make_control(call, inputs, engine);
    REQUIRE(made.size() == 2);
    CHECK(made[1].dtype() == pm::dtype::i32);
    CHECK(made[0].get()->op.results() == made[1].get()->op.results());
    CHECK(made[0].get()->op.results() != nullptr);
}
