// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Each file of data/expected/operators is a model that carries its inputs and ONNX Runtime's
// outputs (make_expected.py). Here every one is run and compared; the last case sees that none is
// missing.
#include <pumice/front.hpp>
#include <pumice/model/model.hpp>
#include <pumice/model/onnx/resolve.hpp>

#include <tests/model/support.hpp>

#include <cmath>

using namespace pumice_test;
using pumice::any_tensor;
using pumice::dtype;
using pumice::shape;
namespace onnx = pumice::onnx;
using named = std::map<std::string, any_tensor, std::less<>>;

namespace mine {
PUMICE_OP(double_it, 1, pumice::rules::numeric, "Twice", x + x);
PUMICE_OP(scale_shift, 3, pumice::rules::floating, "ScaleShift scale=2 shift=0.5", x* y + z);
PUMICE_OP(unspelled, 1, pumice::rules::floating, "", -x);
}  // namespace mine

namespace {

/// The initializers called prefix:NAME.
named carried(const onnx::model_proto& file, std::string_view prefix) {
    named found;
    onnx::tensor_decoder decode(file.from, {});
    for (const onnx::tensor_proto& t : file.initializers)
        if (t.name.starts_with(prefix))
            found.emplace(std::string(t.name.substr(prefix.size())), decode(t));
    return found;
}

std::vector<double> to_doubles(const any_tensor& t) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(t.size_bytes()));
    pumice::read(t, bytes);
    return pumice::constant_values<double>(pumice::make_constant(t.dtype(), t.shape(),
                                                                 std::move(bytes)));
}

void run_case(const std::filesystem::path& path) {
    const onnx::model_proto file = onnx::read(path);
    const auto feeds = carried(file, "feed:"), expected = carried(file, "expect:");
    const pumice::model m = pumice::model::load(path);
    std::vector<std::pair<std::string, any_tensor>> inputs;
    for (const auto& [name, t] : feeds)
        inputs.emplace_back(name, pumice::from_bytes(t.dtype(), t.shape(),
                                                     pumice::constant_of(t)->bytes()));
    const auto outputs = m.run(std::span<const std::pair<std::string, any_tensor>>(inputs));
    REQUIRE(outputs.size() == expected.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const any_tensor& wanted = expected.at(m.outputs()[i].name);
        CHECK(outputs[i].dtype() == wanted.dtype());
        REQUIRE(outputs[i].shape() == wanted.shape());
        const auto is = to_doubles(outputs[i]), should = pumice::constant_values<double>(wanted);
        const double bound = wanted.dtype() == dtype::f16          ? 2e-3
                             : pumice::is_floating(wanted.dtype()) ? 2e-5
                                                                   : 0;
        for (std::size_t k = 0; k < is.size(); ++k) {
            const bool same =
                is[k] == should[k] || (is[k] != is[k] && should[k] != should[k]) ||
                std::fabs(is[k] - should[k]) <= bound * std::max(1.0, std::fabs(should[k]));
            CHECK_MESSAGE(same, m.outputs()[i].name << "[" << k << "] is " << is[k]
                                                    << ", should be " << should[k]);
            if (!same) break;
        }
    }
}

message graph_of(const message& node, std::int64_t type = 1) {
    return message{}.put(1, node).put(11, value_of("x", type, {3})).put(12, message{}.text(1, "y"));
}

}  // namespace

TEST_CASE("onnx/ops: every operator agrees with ONNX Runtime") {
    std::set<std::filesystem::path> files;
    for (const auto& f : std::filesystem::directory_iterator(data("expected/operators")))
        files.insert(f.path());
    CHECK(files.size() > 200);
    for (const auto& f : files) {
        CAPTURE(f.stem().string());
        try {
            run_case(f);
        } catch (const std::exception& e) {
            FAIL_CHECK(std::string(e.what()));
        }
    }
}

TEST_CASE("onnx/ops: every operator of the tables has a case") {
    std::set<std::string_view> run;
    std::vector<onnx::model_proto> files;
    for (const auto& f : std::filesystem::directory_iterator(data("expected/operators")))
        files.push_back(onnx::read(f.path()));
    for (const auto& m : files)
        for (const auto& n : m.nodes) run.insert(n.op_type);
    for (std::string_view name : onnx::operator_names()) CHECK_MESSAGE(run.contains(name), name);
    CHECK(onnx::operator_names().size() > 100);
}

TEST_CASE("onnx/ops: a spelling's attributes are the trailing operands") {
    const onnx::spelled_op selu(pumice::op_info_of<pumice::op::selu>),
        relu(pumice::op_info_of<pumice::op::relu>);
    CHECK(selu.name == "Selu");
    REQUIRE(selu.attributes.size() == 2);
    CHECK(selu.attributes[0].first == "alpha");
    CHECK(selu.attributes[1].second == doctest::Approx(1.0507009873554805));
    CHECK(relu.attributes.empty());
    CHECK(onnx::spelled_op(pumice::op_info_of<mine::op::unspelled>).name.empty());
}

TEST_CASE("onnx/ops: a user's own op runs in a model, with its attributes and defaults") {
    const float in[] = {1, 2, 3};
    const auto run = [&](const message& node) {
        const auto m = pumice::model::from_bytes(model_of(graph_of(node), 20, "com.example").view(),
                                                 pumice::ops<mine::double_it, mine::scale_shift,
                                                             mine::unspelled>);
        return pumice::to_vector<float>(m(pumice::from_bytes(dtype::f32, {3},
                                                             std::as_bytes(std::span(in)))));
    };
    CHECK(run(node_of("Twice", {"x"}, {"y"}, {}, "", "com.example")) ==
          std::vector<float>{2, 4, 6});
    CHECK(run(node_of("Twice", {"x"}, {"y"})) == std::vector<float>{2, 4, 6});
    CHECK(run(node_of("ScaleShift", {"x"}, {"y"}, {}, "", "com.example")) ==
          std::vector<float>{2.5f, 4.5f, 6.5f});
    CHECK(run(node_of("ScaleShift", {"x"}, {"y"}, {attribute("scale", 3.f)}, "", "com.example")) ==
          std::vector<float>{3.5f, 6.5f, 9.5f});
    CHECK(run(node_of("unspelled", {"x"}, {"y"}, {}, "", "com.example")) ==
          std::vector<float>{-1, -2, -3});
}

TEST_CASE("onnx/ops: what picks, puts and sorts refuses wrong constants when the model is loaded") {
    const auto why = [](const message& node, std::initializer_list<message> constants) {
        message graph = graph_of(node);
        for (const message& c : constants) graph.put(5, c);
        return thrown_by([&] { pumice::model::from_bytes(model_of(graph).view()); }).second;
    };
    const auto check = [](const std::string& text, std::string_view part) {
        CHECK_MESSAGE(contains(text, part), text);
        CHECK_MESSAGE(contains(text, "node"), text);
    };
    const message three = longs("i", {1}, {3}), tuple = longs("i", {1, 1}, {-4}),
                  one = floats("u", {1}, {1});
    check(why(node_of("GatherElements", {"x", "i"}, {"y"}), {three}), "index 3 of 3");
    check(why(node_of("GatherElements", {"x", "i"}, {"y"}), {tuple}), "(1, 1)");
    check(why(node_of("GatherND", {"x", "i"}, {"y"}), {tuple}), "index -4 of 3");
    check(why(node_of("GatherND", {"x", "i"}, {"y"}, {attribute("batch_dims", std::int64_t{-1})}),
              {tuple}),
          "batch axes");
    check(why(node_of("ScatterElements", {"x", "i", "u"}, {"y"}), {three, one}), "index 3 of 3");
    check(why(node_of("ScatterND", {"x", "i", "u"}, {"y"}), {tuple, one}), "index -4 of 3");
    check(why(node_of("ScatterND", {"x", "i", "u"}, {"y"}, {attribute("reduction", "mean")}),
              {longs("i", {1, 1}, {0}), one}),
          "unknown reduction");
    check(why(node_of("TopK", {"x", "i"}, {"y", "z"}), {longs("i", {1}, {4})}), "4 of the 3");
    check(why(node_of("TopK", {"x", "i"}, {"y", "z"}), {longs("i", {2}, {1, 1})}), "one number");
    check(why(node_of("Einsum", {"x"}, {"y"}, {attribute("equation", "ij->i")}), {}), "operand 0");
    check(why(node_of("Pad", {"x", "i"}, {"y"}, {attribute("mode", "mirror")}), {three}),
          "unknown mode");
}
