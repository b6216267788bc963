// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/front.hpp>
#include <pumice/model.hpp>
#include <pumice/model/provider.hpp>

#include <tests/model/support.hpp>

#include <atomic>

using namespace pumice_test;
namespace pm = pumice;
using pm::any_tensor;

TEST_CASE("provider: asked in order, one takes an operator, what none takes the library does") {
    const pm::context home;
    message graph;
    graph.put(5, floats("w", {2, 2}, {1, 2, 3, 4}))
        .put(1, node_of("LeakyRelu", {"x"}, {"a"}, {attribute("alpha", 0.5f)}, "first"))
        .put(1, node_of("MatMul", {"a", "w"}, {"b"}))
        .put(1, node_of("Neg", {"b"}, {"y"}))
        .put(11, value_of("x", 1, {1, 2}))
        .put(12, value_of("y", 1, {1, 2}));
    const message whole = model_of(graph, 20);
    std::vector<std::string> asked;
    const pm::op_provider looks = [&](const pm::op_request& r) {
        asked.push_back(std::string(r.op));
        CHECK(r.outputs == 1);
        return std::vector<any_tensor>();
    };
    const pm::op_provider leaks = [](const pm::op_request& r) -> std::vector<any_tensor> {
        if (r.op != "LeakyRelu") return {};
        CHECK(r.name == "first");
        CHECK(r.opset == 20);
        CHECK(r.real("alpha", 0) == doctest::Approx(0.5));
        CHECK(r.integer("none", 7) == 7);
        return {any_tensor(r.inputs[0] * 10.0f)};
    };
    const pm::op_provider never = [](const pm::op_request& r) -> std::vector<any_tensor> {
        CHECK(r.op != "LeakyRelu");  // it was taken before
        return {};
    };
    const std::vector<float> numbers{1, -1};
    const any_tensor x =
        pm::from_bytes(pm::dtype::f32, {1, 2}, std::as_bytes(std::span(numbers)), home);
    const auto result = [&](const pm::model& m) { return pm::to_vector<float>(m(x)); };
    CHECK(result(pm::model::from_bytes(whole.view(), home)) == std::vector<float>{0.5f, -0.0f});
    const pm::model m = pm::model::from_bytes(whole.view(), home, looks, leaks, never);
    asked.clear();
    CHECK(result(m) == std::vector<float>{20, 20});
    CHECK(asked == std::vector<std::string>{"LeakyRelu", "MatMul", "Neg"});
    CHECK(pm::to_vector<float>(m.compile().run({x})[0]) == std::vector<float>{20, 20});
    // The same by the struct, and with the other options beside it.
    CHECK(result(pm::model::from_bytes(whole.view(), pm::load_options{.providers = {leaks}},
                                       home)) == std::vector<float>{20, 20});
}

TEST_CASE("provider: what it gives wrongly, and what it throws, is told with the node") {
    const pm::context home, other;
    message graph;
    graph.put(1, node_of("Neg", {"x"}, {"y"}, {}, "mine"))
        .put(11, value_of("x", 1, {2}))
        .put(12, value_of("y", 1, {2}));
    const message whole = model_of(graph, 20);
    const auto with = [&](const pm::op_provider& p) {
        return thrown_by([&] { pm::model::from_bytes(whole.view(), home, p); });
    };
    const auto two = with([](const pm::op_request& r) {
        return std::vector<any_tensor>{r.inputs[0], r.inputs[0]};
    });
    CHECK(two.first == pm::errc::invalid_argument);
    CHECK(contains(two.second, "2 outputs by a provider"));
    CHECK(with([&](const pm::op_request&) {
              return std::vector<any_tensor>{pm::zeros(pm::dtype::f32, {2}, other)};
          }).first == pm::errc::context_mismatch);
    CHECK(with([](const pm::op_request& r) {
              return std::vector<any_tensor>{pm::astype(r.inputs[0], pm::dtype::i32)};
          }).first == pm::errc::bad_file);
    CHECK(contains(with([](const pm::op_request&) -> std::vector<any_tensor> {
                       throw pm::error(pm::errc::unsupported, "mine", "not today");
                   }).second,
                   "not today"));
}
