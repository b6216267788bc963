// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/model/onnx/reader.hpp>

#include <tests/model/support.hpp>

using namespace pumice_test;
using pumice::errc;
namespace onnx = pumice::onnx;

namespace {

onnx::model_proto read(std::span<const std::byte> bytes, const pumice::model_limits& limits = {}) {
    return onnx::read(onnx::source{"test", bytes, nullptr, {}, false}, limits);
}
onnx::model_proto read(const message& m, const pumice::model_limits& limits = {}) {
    return onnx::read(source_of(m), limits);
}

}  // namespace

TEST_CASE("onnx/reader: mnist-12 as its writer meant it") {
    const onnx::model_proto m = onnx::read(data("models/mnist-12.onnx"));
    CHECK(m.ir_version == 7);
    CHECK(m.producer == "CNTK");
    CHECK(m.version_of("") == 12);
    CHECK(m.version_of("ai.onnx") == 12);
    CHECK(m.version_of("com.example") == 0);
    REQUIRE(m.nodes.size() == 12);
    CHECK(m.nodes[0].op_type == "Conv");
    CHECK(m.nodes[0].name == "Convolution28");
    CHECK(m.nodes[0].attributes[0].integers == std::vector<std::int64_t>{5, 5});
    CHECK(m.nodes[0].attributes[2].text == "SAME_UPPER");
    REQUIRE(m.inputs.size() >= 1);
    CHECK(m.inputs[0].name == "Input3");
    CHECK(m.inputs[0].dims.size() == 4);
    CHECK(m.outputs[0].name == "Plus214_Output_0");
}

TEST_CASE("onnx/reader: names and raw data are views into the bytes that were read") {
    const onnx::model_proto m = onnx::read(data("models/mnist_conv_fp16.onnx"));
    const auto inside = [&](const void* p, std::size_t n) {
        const auto* at = static_cast<const std::byte*>(p);
        return at >= m.from.bytes.data() && at + n <= m.from.bytes.data() + m.from.bytes.size();
    };
    for (const onnx::tensor_proto& t : m.initializers) {
        CHECK(t.has_raw);
        CHECK(inside(t.raw.data(), t.raw.size()));
        CHECK(inside(t.name.data(), t.name.size()));
    }
    CHECK(m.initializers.size() == 7);
}

TEST_CASE("onnx/reader: symbols, open axes and shapes that are not given") {
    message graph;
    graph.put(11, value_of("a", 1, {-1, 3, -2}, "batch"))
        .put(11, message{}.text(1, "b").put(2, message{}.put(1, message{}.number(1, 1))));
    const onnx::model_proto m = read(model_of(graph));
    REQUIRE(m.inputs.size() == 2);
    CHECK(m.inputs[0].dims[0].symbol == "batch");
    CHECK(m.inputs[0].dims[0].size == -1);
    CHECK(m.inputs[0].dims[1].size == 3);
    CHECK(m.inputs[0].dims[2].size == -1);
    CHECK(m.inputs[0].has_shape);
    CHECK(!m.inputs[1].has_shape);
}

TEST_CASE("onnx/reader: attributes of each kind, packed and not") {
    message ints = message{}.text(1, "loose").number(8, 4).number(8, -5).number(20, 7);
    const auto n =
        node_of("X", {}, {"y"},
                {attribute("i", std::int64_t(-3)), attribute("f", 0.5f), attribute("s", "text"),
                 attribute("is", std::vector<std::int64_t>{1, -2}),
                 attribute("t", floats("", {1}, {2})), ints,
                 message{}.text(1, "empty").number(20, 7),
                 message{}.text(1, "fs").reals(7, {1, 2}).number(20, 6),
                 message{}.text(1, "g").put(6, message{}).number(20, 5)});
    const onnx::model_proto m = read(model_of(message{}.put(1, n)));
    const auto& a = m.nodes[0].attributes;
    REQUIRE(a.size() == 9);
    CHECK(a[0].integer == -3);
    CHECK(a[1].real == 0.5f);
    CHECK(a[2].text == "text");
    CHECK(a[3].integers == std::vector<std::int64_t>{1, -2});
    CHECK(a[4].type == onnx::attribute_type::tensor);
    CHECK(a[5].integers == std::vector<std::int64_t>{4, -5});
    CHECK((a[6].type == onnx::attribute_type::integers && a[6].integers.empty()));
    CHECK(a[7].reals == std::vector<float>{1, 2});
    CHECK(a[8].type == onnx::attribute_type::graph);
}

TEST_CASE("onnx/reader: an attribute with two values or another type than declared is refused") {
    const auto refused = [](const message& a) {
        return thrown_by([&] { read(model_of(message{}.put(1, node_of("X", {}, {"y"}, {a})))); })
            .first;
    };
    CHECK(refused(message{}.text(1, "a").number(3, 1).real(2, 1)) == errc::bad_file);
    CHECK(refused(message{}.text(1, "a").number(3, 1).number(20, 1)) == errc::bad_file);
}

TEST_CASE("onnx/reader: what is no model, or has two graphs, is refused with a reason") {
    for (const std::string& text :
         {std::string(), std::string("hello, I am no model"), std::string(100, '\0'),
          std::string(100, '\xff'), message{}.number(1, 7).bytes,
          model_of({}).put(7, message{}).bytes}) {
        const auto [code, what] = thrown_by([&] { read(std::as_bytes(std::span(text))); });
        CHECK(code == errc::bad_file);
        CHECK(contains(what, "[onnx] test: "));
    }
}

TEST_CASE("onnx/reader: a fault names its offset and what it is in") {
    message graph = message{}.put(1, node_of("Relu", {"x"}, {"y"}));
    std::string bad = model_of(graph).bytes;
    const std::size_t at = bad.find("Relu") - 1;  // the length of the operator's name
    bad[at] = '\x7f';
    const auto [code, what] = thrown_by([&] { read(std::as_bytes(std::span(bad))); });
    CHECK(code == errc::bad_file);
    CHECK(contains(what, "offset " + std::to_string(at - 1)));
    CHECK(contains(what, "node"));
}

TEST_CASE("onnx/reader: the depth of a file is no depth of calls") {
    message nested;  // a graph in an attribute of a node in a graph ...
    for (int i = 0; i < 400; ++i)
        nested =
            message{}.put(1, node_of("If", {}, {"y"},
                                     {message{}.text(1, "then").put(6, nested).number(20, 5)}));
    CHECK(read(model_of(nested)).nodes.size() == 1);
    message type = message{}.put(1, message{}.number(1, 1));  // sequence(sequence(...))
    for (int i = 0; i < 400; ++i) type = message{}.put(4, message{}.put(1, type));
    CHECK(!read(model_of(message{}.put(11, message{}.text(1, "x").put(2, type))))
               .inputs[0]
               .is_tensor);
}

TEST_CASE("onnx/reader: a field of the wrong wire type is skipped, never misread") {
    message n = message{}.number(4, 5).real(1, 1.f).text(4, "Relu").text(3, "n").number(5, 9);
    const onnx::model_proto m = read(model_of(message{}.put(1, n).number(1, 3).real(5, 1)));
    REQUIRE(m.nodes.size() == 1);
    CHECK(m.nodes[0].op_type == "Relu");
    CHECK(m.nodes[0].inputs.empty());
    CHECK(m.nodes[0].attributes.empty());
}

TEST_CASE("onnx/reader: many small things in a small file pass a limit, not the memory") {
    message graph;
    for (int i = 0; i < 2000; ++i) graph.put(1, message{});
    CHECK(read(model_of(graph)).nodes.size() == 2000);
    pumice::model_limits limits;
    limits.items = 1000;
    CHECK(thrown_by([&] { read(model_of(graph), limits); }).first == errc::bad_file);
    message many = message{}.put(1, node_of("X", {}, {},
                                            {attribute("a", std::vector<std::int64_t>(2000, 1))}));
    CHECK(thrown_by([&] { read(model_of(many), limits); }).first == errc::bad_file);
}

TEST_CASE("onnx/reader: cut anywhere, a model is read or refused") {
    for (const char* name : {"models/mnist-12.onnx", "models/multi_chain_add-10.onnx"}) {
        const auto whole = slurp(data(name));
        for (std::size_t n = 0; n < whole.size(); ++n) {
            const std::vector<std::byte>
                part(whole.begin(),
                     whole.begin() + static_cast<std::ptrdiff_t>(n));  // so that asan sees its end
            const auto fault = test::code_of([&] { read(part); });
            REQUIRE(fault.value_or(errc::bad_file) == errc::bad_file);
        }
    }
}
