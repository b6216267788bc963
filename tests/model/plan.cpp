// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The plan of a model: as its text stands in tests/data/expected (PUMICE_GOLDEN_WRITE=1 writes it),
// and bound again.
#include <pumice/exec/plan/bind.hpp>
#include <pumice/exec/plan/json.hpp>
#include <pumice/exec/plan/print.hpp>
#include <pumice/model.hpp>

#include <tests/model/support.hpp>

#include <cstdlib>
#include <sstream>

using namespace pumice_test;

namespace {

message list(std::string_view name, const std::vector<std::int64_t>& v) {
    return attribute(name, v);
}

/// ResNet-18 as PyTorch exports it, batch normalisation folded, with a sixteenth of its channels.
message resnet18() {
    message g = message{}.put(11, value_of("input", 1, {1, 3, 64, 64}));
    g.put(12, value_of("output", 1, {1, 10}));
    const auto weight = [&](const std::string& name, const std::vector<std::int64_t>& dims) {
        std::int64_t count = 1;
        for (const std::int64_t d : dims) count *= d;
        g.put(5, floats(name, dims, std::vector<float>(static_cast<std::size_t>(count), 0.01f)));
    };
    const auto conv = [&](const std::string& name, const std::string& from, std::int64_t in,
                          std::int64_t out, std::int64_t window, std::int64_t stride) {
        weight(name + ".weight", {out, in, window, window});
        weight(name + ".bias", {out});
        const std::int64_t pad = window / 2;
        g.put(1, node_of("Conv", {from, name + ".weight", name + ".bias"}, {name + "_output_0"},
                         {list("strides", {stride, stride}), list("pads", {pad, pad, pad, pad})},
                         name));
        return name + "_output_0";
    };
    const auto node = [&](const std::string& op, const std::string& name,
                          const std::vector<std::string>& in,
                          const std::vector<message>& attributes = {}) {
        g.put(1, node_of(op, in, {name + "_output_0"}, attributes, name));
        return name + "_output_0";
    };
    std::string x = node("Relu", "/relu/Relu", {conv("/conv1/Conv", "input", 3, 4, 7, 2)});
    x = node("MaxPool", "/maxpool/MaxPool", {x},
             {list("kernel_shape", {3, 3}), list("strides", {2, 2}), list("pads", {1, 1, 1, 1})});
    for (std::int64_t layer = 1, in = 4; layer <= 4; ++layer)
        for (int block = 0; block < 2; ++block) {
            const std::string at = "/layer" + std::to_string(layer) + "/layer" +
                                   std::to_string(layer) + "." + std::to_string(block);
            const std::int64_t out = 2 << layer, stride = out == in ? 1 : 2;
            std::string y =
                node("Relu", at + "/relu/Relu", {conv(at + "/conv1/Conv", x, in, out, 3, stride)});
            y = conv(at + "/conv2/Conv", y, out, out, 3, 1);
            if (stride == 2) x = conv(at + "/downsample/downsample.0/Conv", x, in, out, 1, 2);
            x = node("Relu", at + "/relu_1/Relu", {node("Add", at + "/Add", {y, x})});
            in = out;
        }
    x = node("GlobalAveragePool", "/avgpool/GlobalAveragePool", {x});
    x = node("Flatten", "/Flatten", {x});
    weight("fc.weight", {10, 32});
    weight("fc.bias", {10});
    g.put(1, node_of("Gemm", {x, "fc.weight", "fc.bias"}, {"output"},
                     {attribute("transB", std::int64_t(1))}, "/fc/Gemm"));
    return model_of(g);
}

int count(std::string_view text, std::string_view part) {
    int n = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
    return n;
}

}  // namespace

TEST_CASE("plan of a model: the text of mnist-12 has the file's names") {
    const pumice::context home(pumice::host_only{});
    const auto m = pumice::model::load(data("models/mnist-12.onnx"), home);
    CHECK(pumice::to_text(m.compile().planned()) == R"(5 steps, 12 values
0 conv: Convolution28_Output_0 f32 (1, 8, 28, 28) 25088 B at 0, use 1 <- Input3 3136 B input, Parameter5 800 B constant [Conv "Convolution28"]
1 pool add, relu: Pooling66_Output_0 f32 (1, 8, 14, 14) 6272 B at 0, use 1 <- Convolution28_Output_0 25088 B at 0, Parameter6 32 B constant [Add "Plus30", Relu "ReLU32", MaxPool "Pooling66"]
2 conv: Convolution110_Output_0 f32 (1, 16, 14, 14) 12544 B at 0, use 1 <- Pooling66_Output_0 6272 B at 0, Parameter87 12800 B constant [Conv "Convolution110"]
3 pool add, relu: Pooling160_Output_0 f32 (1, 16, 4, 4) 1024 B at 0, use 1 <- Convolution110_Output_0 12544 B at 0, Parameter88 64 B constant [Add "Plus112", Relu "ReLU114", MaxPool "Pooling160"]
4 matmul | add: Plus214_Output_0 f32 (1, 10) 40 B at 0, use 0 <- Pooling160_Output_0 1024 B at 0, Parameter193_reshape1 10240 B constant, Parameter194 40 B constant [Reshape "Times212_reshape0", MatMul "Times212", Add "Plus214"]
)");
    // An evaluation's plan has the same steps.
    const pumice::any_tensor x = pumice::zeros(pumice::dtype::f32, {1, 1, 28, 28}, home), y = m(x);
    CHECK(count(pumice::explain(y), "  for ") == 5);
    CHECK(contains(pumice::explain(y), "Add \"Plus214\""));
    CHECK(x.name().empty());
    CHECK(y.name() == "Plus214_Output_0");
}

TEST_CASE("plan of a model: each node of ResNet-18 stands at the step that computes it") {
    const message file = resnet18();
    for (const pumice::context& home : {pumice::context(pumice::host_only{}), pumice::context()}) {
        const auto m = pumice::model::from_bytes(file.view(), home);
        const pumice::executable e = m.compile();
        const std::string text = pumice::to_text(e.planned());
        for (const pumice::plan_step& s : e.planned().steps) {
            CHECK(!s.origin.empty());
            CHECK(e.planned().at(s.outputs[0]).label);
        }
        std::set<std::string> found;  // one may be computed by two kernels, its bias by the second
        for (std::size_t at = 0; (at = text.find("Conv \"", at)) != text.npos; ++at)
            found.insert(text.substr(at, text.find('"', at + 6) - at));
        CHECK(found.size() == 20);
        for (const char* name :
             {"Add \"/layer1/layer1.0/Add\"", "Relu \"/relu/Relu\"", "MaxPool \"/maxpool/MaxPool\"",
              "Relu \"/layer4/layer4.1/relu_1/Relu\""})
            CHECK_MESSAGE(count(text, name) == 1, std::string(name));
        CHECK(contains(text, "<- input 49152 B input, /conv1/Conv.weight"));
        CHECK(contains(pumice::explain(m(pumice::zeros(pumice::dtype::f32, {1, 3, 64, 64}, home))),
                       "Conv \"/layer3/layer3.1/conv2/Conv\", Add"));
    }
}

TEST_CASE("plan of a model: nodes without names are numbered, a user's tensors keep theirs") {
    const pumice::context home(pumice::host_only{});
    message g = message{}.put(11, value_of("x", 1, {2, 2})).put(12, value_of("w", 1, {2, 2}));
    g.put(1, node_of("MatMul", {"x", "x"}, {"y"}));
    g.put(1, node_of("Gelu", {"y"}, {"z"})).put(1, node_of("Transpose", {"z"}, {"w"}));
    const auto m = pumice::model::from_bytes(model_of(g).view(), home);
    const pumice::any_tensor u = pumice::zeros(pumice::dtype::f32, {2, 2}, home) + 1.0;
    const std::int64_t swap[] = {1, 0};
    const pumice::any_tensor x = pumice::permute_dims(u, swap), w = m(x);
    CHECK(u.name().empty());
    CHECK(x.name().empty());
    CHECK(w.name() == "w");
    const std::string said = pumice::explain(w);
    CHECK(contains(said, "MatMul #0"));
    CHECK(contains(said, "Gelu #1"));
}

TEST_CASE("plan of a model: mnist-12 is five steps, as the golden text says") {
    const std::filesystem::path golden = data("expected/mnist-12.plan.json");
    const pumice::context home(pumice::host_only{});
    const auto m = pumice::model::load(data("models/mnist-12.onnx"), home);
    const std::string text = pumice::to_json(m.compile().planned());
    if (std::getenv("PUMICE_GOLDEN_WRITE")) std::ofstream(golden) << text;
    std::ostringstream expected;
    expected << std::ifstream(golden).rdbuf();
    CHECK(text == expected.str());
    CHECK(pumice::plan_from_json(text).steps.size() == 5);
}

TEST_CASE("plan of a model: bound with its weights it gives the model's results") {
    const pumice::npy_array in = pumice::read_npy(data("expected/mnist-12.0.in.npy"));
    for (const pumice::context& home : {pumice::context(pumice::host_only{}), pumice::context()}) {
        const auto m = pumice::model::load(data("models/mnist-12.onnx"), home);
        const pumice::executable e = m.compile();
        const pumice::executable bound =
            pumice::bind(home, pumice::plan_from_json(pumice::to_json(e.planned())), e.constants());
        const pumice::any_tensor x = pumice::from_bytes(in.dtype, in.shape, in.bytes, home);
        CHECK(pumice::to_vector<float>(bound.run({x})[0]) ==
              pumice::to_vector<float>(e.run({x})[0]));
    }
}
