// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What ONNX forbids, and what asks for too much, is refused when a model is loaded, with a word of
// why; and the limits can be raised.
#include <pumice/front.hpp>
#include <pumice/model.hpp>
#include <pumice/model/onnx/resolve.hpp>

#include <tests/model/support.hpp>

using namespace pumice_test;
using pumice::any_tensor;
using pumice::dtype;
using pumice::errc;
using pumice::load_options;
using pumice::model;

namespace {

using list = std::vector<std::int64_t>;

message graph_of(const std::vector<message>& nodes, const std::vector<message>& constants = {},
                 const list& in = {2, 3}, std::int64_t type = 1) {
    message g;
    for (const auto& n : nodes) g.put(1, n);
    for (const auto& c : constants) g.put(5, c);
    return g.put(11, value_of("x", type, in)).put(12, message{}.text(1, "y"));
}

model load(const message& m, const load_options& options = {}) {
    return model::from_bytes(m.view(), options, storing_context());
}

/// Refused with that code and those words; what `load_options` allow is taken.
void refused(const message& m, errc code, std::string_view words) {
    const auto [is, text] = thrown_by([&] { load(m); });
    CHECK_MESSAGE(is == code, text);
    CHECK_MESSAGE(contains(text, words), text);
}
void taken(const message& m, const load_options& options = {}) {
    std::string fault;
    try {
        load(m, options);
    } catch (const pumice::error& e) {
        fault = e.what();
    }
    CHECK_MESSAGE(fault.empty(), fault);
}

message one(const message& node, const std::vector<message>& constants = {}) {
    return model_of(graph_of({node}, constants));
}

const message relu = node_of("Relu", {"x"}, {"y"});

}  // namespace

TEST_CASE("refusals: versions above the known ones, unless the limits say otherwise") {
    const message graph = graph_of({relu});
    const auto of_ir = [&](std::int64_t ir) {
        return message{}.number(1, ir).put(7, graph).put(8, message{}.text(1, "").number(2, 20));
    };
    taken(of_ir(pumice::onnx::newest_ir));
    refused(of_ir(99), errc::unsupported, "IR version 99");
    taken(of_ir(99), {.limits = {.ir_version = 99}});
    taken(model_of(graph, pumice::onnx::newest_opset));
    refused(model_of(graph, 77), errc::unsupported, "operator set 77; newest known is 28");
    taken(model_of(graph, 77), {.limits = {.opset = 77}});
    message with_function = model_of(graph);
    with_function.put(25, message{}.text(1, "f").put(9, message{}.text(1, "").number(2, 50)));
    refused(with_function, errc::unsupported, "a function's operator set 50");
    refused(model_of(graph).put(8, message{}.text(1, "ai.onnx").number(2, 11)), errc::bad_file,
            "two versions");
    taken(model_of(graph, 20, "com.example"));
}

TEST_CASE("refusals: operators and forms that the file's operator set does not have") {
    const auto at = [](const message& node, std::int64_t opset,
                       const std::vector<message>& constants = {}) {
        return model_of(graph_of({node}, constants, {1, 2, 3}), opset);
    };
    refused(at(node_of("Gelu", {"x"}, {"y"}), 19), errc::bad_file, "came with operator set 20");
    taken(at(node_of("Gelu", {"x"}, {"y"}), 20));
    refused(at(node_of("Mish", {"x"}, {"y"}), 17), errc::bad_file, "newer than the model's");
    refused(at(node_of("Where", {"x", "x", "x"}, {"y"}), 8), errc::bad_file, "operator set 9");
    const message axis = longs("a", {1}, {0});
    const message of_axis = attribute("axes", list{0});
    refused(at(node_of("Squeeze", {"x", "a"}, {"y"}), 12, {axis}), errc::bad_file, "2 inputs");
    refused(at(node_of("Squeeze", {"x"}, {"y"}, {of_axis}), 13), errc::unsupported_op, "\"axes\"");
    taken(at(node_of("Squeeze", {"x", "a"}, {"y"}), 13, {axis}));
    taken(at(node_of("Squeeze", {"x"}, {"y"}, {of_axis}), 12));
    refused(at(node_of("ReduceSum", {"x", "a"}, {"y"}), 12, {axis}), errc::bad_file, "2 inputs");
    refused(at(node_of("ReduceMax", {"x", "a"}, {"y"}), 17, {axis}), errc::bad_file, "2 inputs");
    refused(at(node_of("Slice", {"x"}, {"y"}), 10), errc::bad_file, "takes 3 to 5");
    refused(at(node_of("Reshape", {"x", "s"}, {"y"}, {attribute("allowzero", std::int64_t(1))}), 13,
               {longs("s", {1}, {6})}),
            errc::unsupported_op, "\"allowzero\"");
    refused(at(node_of("Elu", {"x"}, {"y"}, {attribute("alpha", std::int64_t(1))}), 20),
            errc::bad_file, "another type");
    refused(at(node_of("Cast", {"x"}, {"y"}), 20), errc::bad_file, "lacks the attribute \"to\"");
    refused(at(node_of("Relu", {"x"}, {"y", "z"}), 20), errc::bad_file, "2 outputs");
}

TEST_CASE("refusals: axes, bounds and shapes of the wrong sign, rank, type or number") {
    const auto axes = [](const list& a) { return longs("a", {std::int64_t(a.size())}, a); };
    refused(one(node_of("Transpose", {"x"}, {"y"}, {attribute("perm", list{-1, 0})})),
            errc::bad_file, "negative axis -1");
    refused(one(node_of("ReduceSum", {"x", "a"}, {"y"}), {axes({1, -1})}), errc::invalid_argument,
            "twice");
    refused(model_of(graph_of({node_of("Squeeze", {"x", "a"}, {"y"})}, {axes({0, 0})}, {1, 3})),
            errc::bad_file, "names axis 0 twice");
    refused(one(node_of("Unsqueeze", {"x", "a"}, {"y"}), {axes({0, -4})}), errc::bad_file, "twice");
    refused(one(node_of("Slice", {"x", "z", "z", "a"}, {"y"}),
                {longs("z", {2}, {0, 0}), axes({0, -2})}),
            errc::bad_file, "twice");
    refused(one(node_of("Pad", {"x", "p", "", "a"}, {"y"}),
                {longs("p", {4}, {1, 1, 1, 1}), axes({1, 1})}),
            errc::bad_file, "twice");
    refused(one(node_of("Clip", {"x", "b"}, {"y"}), {floats("b", {3}, {0, 1, 2})}),
            errc::shape_mismatch, "needs one number");
    refused(one(node_of("Clip", {"x", "b"}, {"y"}), {longs("b", {}, {0})}), errc::dtype_mismatch,
            "of i64");
    refused(one(node_of("Clip", {"x", "b"}, {"y"}), {floats("b", {1}, {0})}), errc::shape_mismatch,
            "needs one number");
    refused(one(node_of("Relu", {"x"}, {"y"}, {message{}.text(1, "a").text(21, "b")})),
            errc::bad_file, "of a function");
    refused(one(node_of("Split", {"x", "s"}, {"y"}, {attribute("num_outputs", std::int64_t(1))}),
                {longs("s", {1}, {2})}),
            errc::bad_file, "both split and num_outputs");
    taken(one(node_of("Clip", {"x", "b"}, {"y"}), {floats("b", {}, {0})}));
    refused(one(node_of("Reshape", {"x", "s"}, {"y"}), {longs("s", {1, 1}, {6})}),
            errc::rank_mismatch, "must be a list");
    refused(one(node_of("Reshape", {"x", "s"}, {"y"}), {longs("s", {}, {6})}), errc::rank_mismatch,
            "must be a list");
    refused(one(node_of("Reshape", {"x", "s"}, {"y"}), {tensor_of("s", 6, {1}).numbers(5, {6})}),
            errc::dtype_mismatch, "64 bits");
    refused(one(node_of("Expand", {"x", "s"}, {"y"}), {tensor_of("s", 9, {1}).numbers(5, {1})}),
            errc::dtype_mismatch, "64 bits");
}

TEST_CASE("refusals: declarations that are not so") {
    const auto with = [](std::uint32_t field, const message& value, message graph) {
        return model_of(graph.put(field, value));
    };
    const message graph = graph_of({relu});
    taken(with(13, value_of("y", 1, {2, -1}), graph));
    refused(with(13, value_of("y", 1, {2, 4}), graph), errc::bad_file, "declared otherwise");
    refused(with(13, value_of("y", 1, {2, 3, 1}), graph), errc::bad_file, "declared otherwise");
    refused(with(13, value_of("y", 7, {2, 3}), graph), errc::bad_file, "declared otherwise");
    const auto output = [&](const message& value) {
        return model_of(message{}.put(1, relu).put(11, value_of("x", 1, {2, 3})).put(12, value));
    };
    taken(output(value_of("y", 1, {-1, 3})));
    refused(output(value_of("y", 1, {3, 3})), errc::bad_file, "is declared as");
    refused(output(value_of("y", 10, {2, 3})), errc::bad_file, "is declared as");
    refused(output(value_of("y", 8, {2, 3})), errc::bad_file, "STRING");
    const message add = node_of("Add", {"x", "w"}, {"y"}), w = floats("w", {3}, {1, 2, 3});
    taken(with(11, value_of("w", 1, {3}), graph_of({add}, {w})));
    refused(with(11, value_of("w", 1, {4}), graph_of({add}, {w})), errc::bad_file, "initializer");
    refused(with(11, value_of("w", 7, {3}), graph_of({add}, {w})), errc::bad_file, "initializer");
}

TEST_CASE("refusals: a tensor with its data in two fields, or in one of another type") {
    const message add = node_of("Add", {"x", "w"}, {"y"});
    refused(one(add, {floats("w", {1}, {1}).text(9, std::string(4, '\0'))}), errc::bad_file,
            "twice, in float_data and in raw_data");
    refused(one(add, {floats("w", {1}, {1}).numbers(7, {1})}), errc::bad_file, "twice");
    refused(one(add, {tensor_of("w", 1, {1}).numbers(7, {1})}), errc::bad_file, "never kept");
}

TEST_CASE("refusals: types that Pumice lacks are named as ONNX names them") {
    constexpr const char* names[] = {"STRING",         "COMPLEX64",  "COMPLEX128", "FLOAT8E4M3FNUZ",
                                     "FLOAT8E5M2FNUZ", "FLOAT4E2M1", "FLOAT8E8M0", "UINT2",
                                     "INT2",           "FLOAT6E2M3", "FLOAT6E3M2"};
    constexpr int codes[] = {8, 14, 15, 18, 20, 23, 24, 25, 26, 27, 28};
    for (std::size_t i = 0; i < std::size(codes); ++i) {
        refused(model_of(graph_of({relu}, {}, {2}, codes[i])), errc::unsupported, names[i]);
        refused(one(node_of("Add", {"x", "w"}, {"y"}), {tensor_of("w", codes[i], {1})}),
                errc::unsupported, names[i]);
        refused(one(node_of("Cast", {"x"}, {"y"}, {attribute("to", std::int64_t(codes[i]))})),
                errc::unsupported, names[i]);
    }
    refused(model_of(graph_of({relu}, {}, {2}, 77)), errc::bad_file, "a type that ONNX lacks (77)");
    const auto of_kind = [](std::uint32_t field) {
        return model_of(message{}
                            .put(1, relu)
                            .put(11, message{}.text(1, "x").put(2, message{}.put(field, message{})))
                            .put(12, message{}.text(1, "y")));
    };
    refused(of_kind(4), errc::unsupported, "a sequence");
    refused(of_kind(5), errc::unsupported, "a map");
    refused(of_kind(8), errc::unsupported, "a sparse tensor");
    refused(of_kind(9), errc::unsupported, "an optional value");
}

TEST_CASE("refusals: what asks for too much, unless the limits say otherwise") {
    const std::int64_t big = std::int64_t(1) << 42;
    const message bomb = model_of(graph_of({node_of("Expand", {"x", "s"}, {"e"}),
                                            node_of("ReduceSum", {"e"}, {"y"})},
                                           {longs("s", {2}, {big, 1})}, {1, 1}));
    refused(bomb, errc::bad_file, "model_limits::elements");
    CHECK(contains(thrown_by([&] { load(bomb, {.limits = {.elements = big}}); }).second,
                   "model_limits::kernel_work"));
    taken(bomb, {.limits = {.elements = big, .kernel_work = big}});
    const message constant_bomb =
        model_of(graph_of({node_of("Expand", {"c", "s"}, {"e"}), node_of("ReduceSum", {"e"}, {"r"}),
                           node_of("Add", {"x", "r"}, {"y"})},
                          {longs("s", {2}, {big, 1}), floats("c", {}, {1})}));
    refused(constant_bomb, errc::bad_file, "model_limits::elements");
    const std::int64_t side = std::int64_t(1) << 16;
    const message product = model_of(graph_of({node_of("Expand", {"x", "s"}, {"e"}),
                                               node_of("MatMul", {"e", "e"}, {"y"})},
                                              {longs("s", {2}, {side, side})}, {1, 1}));
    refused(product, errc::bad_file, "model_limits::kernel_work");
    taken(product, {.limits = {.kernel_work = side * side * side}});
    refused(model_of(graph_of({relu}, {}, {big})), errc::bad_file, "model_limits::elements");
    message chain;
    for (int i = 0; i < 20; ++i)
        chain.put(1, node_of("Neg", {i == 0 ? "x" : "a" + std::to_string(i)},
                             {"a" + std::to_string(i + 1)}));
    chain.put(11, value_of("x", 1, {2})).put(12, message{}.text(1, "a20"));
    CHECK(contains(thrown_by([&] { load(model_of(chain), {.limits = {.nodes = 19}}); }).second,
                   "model_limits::nodes"));
    refused(one(node_of("DepthToSpace", {"x"}, {"y"},
                        {attribute("blocksize", std::int64_t(1) << 32)})),
            errc::shape_mismatch, "4294967296");
    refused(model_of(graph_of({node_of("ConvTranspose", {"x", "w"}, {"y"},
                                       {attribute("group", std::int64_t(0))})},
                              {floats("w", {1, 1, 1, 1}, {1})}, {1, 1, 2, 2})),
            errc::unsupported_op, "ConvTranspose");
}

TEST_CASE("refusals: functions that call functions are never entered") {
    message m = model_of(graph_of({node_of("f0", {"x"}, {"y"}, {}, "", "local")}), 20, "local");
    for (int i = 0; i < 3000; ++i) {  // each twice the next: 2^3000 nodes if they were put in place
        const std::string next = "f" + std::to_string(i + 1);
        m.put(25, message{}
                      .text(1, "f" + std::to_string(i))
                      .text(4, "x")
                      .text(5, "y")
                      .put(7, node_of(next, {"x"}, {"h"}, {}, "", "local"))
                      .put(7, node_of(next, {"h"}, {"y"}, {}, "", "local"))
                      .text(10, "local"));
    }
    refused(m, errc::unsupported_op, "inline");
}

TEST_CASE("refusals: folding divides by -1 and by 0 without a trap") {
    const std::int64_t least = std::numeric_limits<std::int64_t>::min();
    for (const char* op : {"Div", "Mod"})
        for (std::int64_t by : {-1, 0})
            taken(model_of(graph_of({node_of(op, {"a", "b"}, {"q"}),
                                     node_of("Add", {"x", "q"}, {"y"})},
                                    {longs("a", {1}, {least}), longs("b", {1}, {by})}, {2}, 7)));
}

TEST_CASE("refusals: a reduction of nothing is its identity") {
    const auto value = [](const char* op, std::int64_t type, bool constant) {
        message g = message{}.put(1, node_of(op, {constant ? "c" : "x", "a"}, {"y"},
                                             {attribute("keepdims", std::int64_t(0))}));
        g.put(5, longs("a", {1}, {1})).put(5, tensor_of("c", type, {2, 0}));
        g.put(11, value_of("x", type, {2, 0})).put(12, message{}.text(1, "y"));
        const model m = model::from_bytes(model_of(g).view());
        const any_tensor y = m(pumice::zeros(m.inputs()[0].dtype, {2, 0}));
        CHECK(y.shape() == pumice::shape{2});
        return pumice::to_vector<double>(pumice::astype(y, dtype::f64))[1];
    };
    const double infinity = std::numeric_limits<double>::infinity();
    for (bool constant : {false, true}) {
        CHECK(value("ReduceSum", 1, constant) == 0);
        CHECK(value("ReduceL1", 1, constant) == 0);
        CHECK(value("ReduceL2", 1, constant) == 0);
        CHECK(value("ReduceSumSquare", 1, constant) == 0);
        CHECK(value("ReduceProd", 1, constant) == 1);
        CHECK(value("ReduceMax", 1, constant) == -infinity);
        CHECK(value("ReduceMin", 1, constant) == infinity);
        CHECK(value("ReduceMax", 10, constant) == -infinity);
        CHECK(value("ReduceMax", 6, constant) == std::numeric_limits<std::int32_t>::lowest());
        CHECK(value("ReduceMin", 6, constant) == std::numeric_limits<std::int32_t>::max());
        CHECK(value("ReduceLogSum", 1, constant) == -infinity);
        CHECK(value("ReduceLogSumExp", 1, constant) == -infinity);
    }
}
