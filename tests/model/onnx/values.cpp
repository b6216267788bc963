// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Values of ONNX operators at the edges of types: integers that no float holds, types that a file
// leaves out, flags that a loop hands on.
#include <tests/model/support.hpp>

#include <pumice/front.hpp>
#include <pumice/model.hpp>
#include <pumice/package.hpp>

#include <cmath>

namespace pm = pumice;
using namespace pumice_test;

namespace {

template <class T>
pm::any_tensor list_of(const std::vector<T>& v, const pm::shape& extent = {}) {
    return pm::from_bytes(pm::dtype_of<T>,
                          extent.rank() ? extent : pm::shape{static_cast<std::int64_t>(v.size())},
                          std::as_bytes(std::span(v)));
}
/// What a graph gives for its inputs, at once and, where it can be, recorded.
template <class T>
std::vector<T> values_of(const message& graph, const std::vector<pm::any_tensor>& inputs,
                         std::size_t output = 0, std::int64_t opset = 20, bool records = true) {
    const pm::model m = pm::model::from_bytes(model_of(graph, opset).view());
    const pm::any_tensor once = m.run(inputs)[output];
    CHECK(once.dtype() == pm::dtype_of<T>);
    std::vector<T> values(static_cast<std::size_t>(once.size()));
    pm::read(once, std::as_writable_bytes(std::span(values)));
    if (!records) return values;
    std::vector<pm::shape> shapes;
    for (const pm::any_tensor& t : inputs) shapes.push_back(t.shape());
    const pm::any_tensor again = m.compile(shapes).run(inputs)[output];
    const auto bytes = [](const pm::any_tensor& t) {
        std::vector<std::byte> b(static_cast<std::size_t>(pm::byte_count(t.dtype(), t.size())));
        pm::read(t, b);
        return b;
    };
    CHECK(bytes(once) == bytes(again));
    return values;
}
message graph_as(std::string_view name, const message& graph) {
    return message{}.text(1, name).put(6, graph).number(20, 5);
}
using longs_list = std::vector<std::int64_t>;
constexpr std::int64_t i64 = 7, f32 = 1, f16 = 10, boolean = 9;

}  // namespace

TEST_CASE("onnx: means and norms of integers are computed in types that hold them") {
    const auto reduced = [](const char* op, const longs_list& v) {
        const std::int64_t n = std::ssize(v);
        const message graph =
            message{}
                .put(1, node_of(op, {"x"}, {"y"}, {attribute("keepdims", std::int64_t{0})}))
                .put(11, value_of("x", i64, {n}))
                .put(12, value_of("y", i64, {}));
        return values_of<std::int64_t>(graph, {list_of(v)}).at(0);
    };
    CHECK(reduced("ReduceMean", {16777217}) == 16777217);
    CHECK(reduced("ReduceMean", {(1ll << 40) + 3, (1ll << 40) + 3}) == (1ll << 40) + 3);
    CHECK(reduced("ReduceMean", {-3, -4}) == -3);  // toward zero
    CHECK(reduced("ReduceMean", {5, 2, 1}) == 2);
    CHECK(reduced("ReduceL2", {(1 << 25) + 1, 0}) == (1 << 25) + 1);
    CHECK(reduced("ReduceL2", {3, 4}) == 5);
    // What has no axes to reduce stays as it is.
    const std::int64_t large = (1ll << 60) + 1;
    const message scalar = message{}
                               .put(1, node_of("ReduceMean", {"x"}, {"y"}))
                               .put(11, value_of("x", i64, {}))
                               .put(12, value_of("y", i64, {}));
    CHECK(values_of<std::int64_t>(scalar, {pm::full(pm::dtype::i64, {}, large)}).at(0) == large);
    const message none = message{}
                             .put(1, node_of("ReduceMean", {"x"}, {"y"},
                                             {attribute("noop_with_empty_axes", std::int64_t{1})}))
                             .put(11, value_of("x", i64, {1}))
                             .put(12, value_of("y", i64, {1}));
    CHECK(values_of<std::int64_t>(none, {list_of<std::int64_t>({large})}).at(0) == large);
}

TEST_CASE("onnx: constants beyond 2^53 keep their last bit") {
    const std::int64_t large = (1ll << 53) + 1;
    const auto with = [&](const char* op, std::int64_t type) {
        return message{}
            .put(1, node_of(op, {"x", "c"}, {"y"}))
            .put(5, longs("c", {}, {large}))
            .put(11, value_of("x", i64, {2}))
            .put(12, value_of("y", type, {2}));
    };
    CHECK(values_of<std::int64_t>(with("Add", i64), {list_of<std::int64_t>({0, 1})}) ==
          longs_list{large, large + 1});
    const message equal = with("Equal", boolean);
    const pm::any_tensor y = pm::model::from_bytes(model_of(equal).view())
                                 .run({list_of<std::int64_t>({large - 1, large})})[0];
    std::byte flags[2] = {};
    pm::read(y, flags);
    CHECK(flags[0] == std::byte{0});
    CHECK(flags[1] == std::byte{1});
    const message clip = message{}
                             .put(1, node_of("Clip", {"x", "c"}, {"y"}))
                             .put(5, longs("c", {}, {large}))
                             .put(11, value_of("x", i64, {2}))
                             .put(12, value_of("y", i64, {2}));
    CHECK(values_of<std::int64_t>(clip, {list_of<std::int64_t>({0, large + 1})}) ==
          longs_list{large, large + 1});
}

TEST_CASE("onnx: an output whose type the file leaves out has that of its values") {
    // The length of y is one that only a run knows, so loading cannot tell its type.
    const message untyped = message{}.text(1, "y");
    const message graph = message{}
                              .put(1, node_of("Expand", {"x", "s"}, {"y"}))
                              .put(11, value_of("x", i64, {1}))
                              .put(11, value_of("s", i64, {1}))
                              .put(12, untyped);
    const std::int64_t large = (1ll << 40) + 1;
    const pm::model m = pm::model::from_bytes(model_of(graph).view());
    const pm::any_tensor y = m.run({list_of<std::int64_t>({large}), list_of<std::int64_t>({2})})[0];
    REQUIRE(y.dtype() == pm::dtype::i64);
    CHECK(pm::to_vector<std::int64_t>(y) == longs_list{large, large});
}

TEST_CASE("onnx: a Loop whose condition is an input that its body hands on") {
    const message body = message{}
                             .put(1, node_of("Identity", {"go"}, {"gn"}))
                             .put(1, node_of("Add", {"v", "v"}, {"vn"}))
                             .put(1, node_of("Identity", {"v"}, {"row"}))
                             .put(11, value_of("i", i64, {}))
                             .put(11, value_of("go", boolean, {}))
                             .put(11, value_of("v", f32, {}))
                             .put(12, value_of("gn", boolean, {}))
                             .put(12, value_of("vn", f32, {}))
                             .put(12, value_of("row", f32, {}));
    const auto loop = [&](const std::vector<std::string>& outputs, bool trips) {
        message graph = message{}.put(1, node_of("Loop", {trips ? "n" : "", "c", "x"}, outputs,
                                                 {graph_as("body", body)}));
        if (trips) graph.put(5, longs("n", {}, {3}));
        graph.put(11, value_of("c", boolean, {})).put(11, value_of("x", f32, {}));
        for (std::size_t k = 0; k < outputs.size(); ++k)
            if (!outputs[k].empty())
                graph.put(12, value_of(outputs[k], f32, k == 0 ? longs_list{} : longs_list{3}));
        return graph;
    };
    const auto flag = [](bool on) { return pm::full(pm::dtype::boolean, {}, on); };  // lazy
    const pm::any_tensor one = pm::full(pm::dtype::f32, {}, 1.0);
    CHECK(values_of<float>(loop({"y"}, true), {flag(true), one}) == std::vector<float>{8});
    CHECK(values_of<float>(loop({"y"}, true), {flag(false), one}) == std::vector<float>{1});
    CHECK(values_of<float>(loop({"y", "rows"}, true), {flag(true), one}, 1, 20, false) ==
          std::vector<float>{1, 2, 4});
    const auto [code, what] =
        thrown_by([&] { pm::model::from_bytes(model_of(loop({"y"}, false)).view()); });
    CHECK(code == pm::errc::bad_file);
    CHECK(contains(what, "never ends"));
}

TEST_CASE("onnx: mean and deviation of a LayerNormalization of f16 are f32") {
    const message graph = message{}
                              .put(1, node_of("LayerNormalization", {"x", "s"}, {"y", "m", "d"}))
                              .put(11, value_of("x", f16, {1, 2}))
                              .put(11, value_of("s", f16, {2}))
                              .put(12, value_of("y", f16, {1, 2}))
                              .put(12, value_of("m", f32, {1, 1}))
                              .put(12, value_of("d", f32, {1, 1}));
    const std::vector<pm::any_tensor> inputs{
        list_of<pm::f16>({pm::f16(1.0f), pm::f16(3.0f)}, {1, 2}),
        list_of<pm::f16>({pm::f16(1.0f), pm::f16(1.0f)})};
    CHECK(values_of<float>(graph, inputs, 1) == std::vector<float>{2});
    CHECK(std::abs(values_of<float>(graph, inputs, 2).at(0) - 1) < 1e-4f);
}

TEST_CASE("onnx: the quotient of QuantizeLinear is of the scale's type from operator set 23 on") {
    const auto codes = [](std::int64_t opset, std::vector<message> attributes) {
        const message graph = message{}
                                  .put(1, node_of("QuantizeLinear", {"x", "s"}, {"y"}, attributes))
                                  .put(11, value_of("x", f16, {1}))
                                  .put(11, value_of("s", f16, {}))
                                  .put(12, value_of("y", 2, {1}));
        return values_of<std::uint8_t>(graph,
                                       {list_of<pm::f16>({pm::f16(304.25f)}),
                                        pm::full(pm::dtype::f16, {}, 2.998046875)},
                                       0, opset)
            .at(0);
    };
    // 304.25 / 2.998046875 is 101.483, and the nearest f16 101.5, which is rounded to even.
    CHECK(codes(21, {}) == 101);
    CHECK(codes(23, {}) == 102);
    CHECK(codes(23, {attribute("precision", f32)}) == 101);
}

TEST_CASE("onnx: a negative axis of quantisation is told from the front, and packed so") {
    const message graph = message{}
                              .put(1, node_of("QuantizeLinear", {"x", "s"}, {"y"},
                                              {attribute("axis", std::int64_t{-1})}))
                              .put(5, floats("s", {4}, {1, 2, 4, 8}))
                              .put(11, value_of("x", f32, {2, 4}))
                              .put(12, value_of("y", 2, {2, 4}));
    const pm::model m = pm::model::from_bytes(model_of(graph).view());
    CHECK(m.inputs()[0].axis == 1);
    const temporary_folder folder;
    pm::package::save(folder.path() / "m.pumice", m);
    CHECK(pm::package::load(folder.path() / "m.pumice").inputs()[0].axis == 1);
}

TEST_CASE("onnx: loops within loops are bounded together while a graph is built") {
    // Its shape grows with each step, so each is built on its own: 1000 times 1000 in all.
    const auto loop = [](const char* name, const message& body, const char* in, const char* out) {
        return node_of("Loop", {"n", "", in}, {out}, {graph_as("body", body)}, name);
    };
    const auto body_of = [&](const message& node, const char* in, const char* out) {
        return message{}
            .put(1, node_of("Identity", {"go"}, {"gn"}))
            .put(1, node)
            .put(11, value_of("i", i64, {}))
            .put(11, value_of("go", boolean, {}))
            .put(11, message{}.text(1, in))
            .put(12, value_of("gn", boolean, {}))
            .put(12, message{}.text(1, out));
    };
    const message inner =
        body_of(node_of("Concat", {"v", "x"}, {"vn"}, {attribute("axis", std::int64_t{0})}), "v",
                "vn");
    const message outer = body_of(loop("inner", inner, "w", "wn"), "w", "wn");
    const message graph = message{}
                              .put(1, loop("outer", outer, "x", "y"))
                              .put(5, longs("n", {}, {1000}))
                              .put(11, value_of("x", f32, {1}))
                              .put(12, value_of("y", f32, {-1}));
    const auto [code, what] = thrown_by([&] {
        const pm::model m = pm::model::from_bytes(model_of(graph).view());
        m.run({pm::zeros(pm::dtype::f32, {1})});
    });
    CHECK_MESSAGE(code == pm::errc::unsupported, what);
}
