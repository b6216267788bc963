// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/model/onnx/resolve.hpp>

#include <tests/model/support.hpp>

#include <algorithm>
#include <random>

using namespace pumice_test;
using pumice::any_tensor;
using pumice::dtype;
using pumice::errc;
using pumice::shape;
namespace onnx = pumice::onnx;

namespace {

onnx::resolved_model plan_of(const message& m, const pumice::op_set& extra = {}) {
    return onnx::resolve(onnx::read(source_of(m)), {}, extra);
}

/// The code that a model is refused with; "" for the text where it is taken.
std::pair<errc, std::string> refusal(const message& m) {
    return thrown_by([&] { plan_of(m); });
}

std::vector<any_tensor> shapes_of(const onnx::resolved_model& p, const std::vector<shape>& inputs) {
    std::vector<any_tensor> places;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        places.push_back(pumice::make_abstract(*onnx::to_dtype(p.input_info[i].elem_type),
                                               inputs[i]));
    return onnx::build_graph(p, places, nullptr);
}

message graph_of(const std::vector<message>& nodes, const std::vector<message>& inputs,
                 const std::vector<std::string>& outputs,
                 const std::vector<message>& initializers = {}) {
    message g;
    for (const auto& n : nodes) g.put(1, n);
    for (const auto& i : initializers) g.put(5, i);
    for (const auto& i : inputs) g.put(11, i);
    for (const auto& o : outputs) g.put(12, message{}.text(1, o));
    return g;
}

const message x = value_of("x", 1, {2, 3});

}  // namespace

TEST_CASE("onnx/resolve: a graph whose parts do not fit is refused, naming them") {
    const auto relu = node_of("Relu", {"x"}, {"y"}, {}, "first");
    const auto fault = [](const message& graph, std::string_view part) {
        const auto [code, what] = refusal(model_of(graph));
        CHECK_MESSAGE(code == errc::bad_file, what);
        CHECK_MESSAGE(contains(what, part), what);
        CHECK_MESSAGE(contains(what, "test: "), what);
    };
    fault(graph_of({relu}, {x}, {}), "no output");
    fault(graph_of({relu}, {x}, {"z"}), "\"z\", which nothing gives");
    fault(graph_of({node_of("Relu", {"w"}, {"y"}, {}, "first")}, {x}, {"y"}),
          "node \"first\" (Relu) reads \"w\"");
    fault(graph_of({relu, relu}, {x}, {"y"}), "defines \"y\" twice");
    fault(graph_of({relu}, {x, x}, {"y"}), "defines \"x\" twice");
    fault(graph_of({relu}, {x}, {"y"}, {floats("w", {1}, {1}), floats("w", {1}, {1})}),
          "defines \"w\" twice");
    fault(graph_of({node_of("Relu", {"x"}, {"x"})}, {x}, {"x"}), "defines \"x\" twice");
    fault(graph_of({node_of("Add", {"x", "b"}, {"a"}), node_of("Add", {"x", "a"}, {"b"})}, {x},
                   {"b"}),
          "reads \"b\", which only it or a later node gives");
    fault(graph_of({node_of("Add", {"x", "a"}, {"a"})}, {x}, {"x"}), "only it or a later node");
    fault(graph_of({node_of("Relu", {"b"}, {"y"}), relu, node_of("Exp", {"x"}, {"b"})}, {x}, {"y"}),
          "nodes are not in order");
    fault(graph_of({relu}, {x}, {"y", "y"}), "gives \"y\" twice");
    fault(graph_of({node_of("", {"x"}, {"y"})}, {x}, {"y"}), "no operator");
    fault(graph_of({node_of("Relu", {"x", "x"}, {"y"})}, {x}, {"y"}), "has 2 inputs, takes 1");
    fault(graph_of({node_of("Conv", {"x"}, {"y"})}, {x}, {"y"}), "takes 2 to 3");
    fault(graph_of({node_of("Relu", {}, {"y"})}, {x}, {"y"}), "has 0 inputs");
    fault(graph_of({node_of("Relu", {"x"}, {"y"}, {}, "", "com.example")}, {x}, {"y"}),
          "does not import");
    fault(graph_of({node_of("Elu", {"x"}, {"y"},
                            {attribute("alpha", 1.f), attribute("alpha", 2.f)})},
                   {x}, {"y"}),
          "twice");
    fault(graph_of({node_of("Elu", {"x"}, {"y"}, {attribute("alpha", "1")})}, {x}, {"y"}),
          "no number");
    fault(graph_of({relu}, {value_of("x", 1, {2, 3, -7})}, {"y"}), "negative");
    fault(graph_of({relu}, {value_of("x", 1, {1, 1, 1, 1, 1, 1, 1, 1, 1})}, {"y"}), "8 axes");
    fault(graph_of({node_of("Constant", {}, {"y"},
                            {attribute("value_int", std::int64_t(1)),
                             attribute("value_float", 1.f)})},
                   {x}, {"y"}),
          "exactly one");
    CHECK(refusal(model_of(graph_of({relu}, {value_of("x", 8, {2})}, {"y"}))).first ==
          errc::unsupported);
    CHECK(refusal(model_of(graph_of({relu}, {x}, {"y"}).put(15, message{}))).first ==
          errc::unsupported);
    CHECK(refusal(message{}.number(1, 8).put(7, graph_of({relu}, {x}, {"y"}))).first ==
          errc::bad_file);  // no operator set
}

TEST_CASE("onnx/resolve: graphs within graphs read what is around them, to a limit of depth") {
    const auto if_of = [](const message& inner) {
        const auto attribute_of = [&](const char* name) {
            return message{}.text(1, name).put(6, inner).number(20, 5);
        };
        return node_of("If", {"c"}, {"y"},
                       {attribute_of("then_branch"), attribute_of("else_branch")});
    };
    const auto graph = [](const message& node) {
        return message{}.put(1, node).put(12, message{}.text(1, "y"));
    };
    const message c = value_of("c", 9, {});
    const auto model = [&](const message& node) {
        return model_of(graph_of({node}, {c, x}, {"y"}));
    };
    const onnx::resolved_model p = plan_of(model(if_of(graph(node_of("Relu", {"x"}, {"y"})))));
    REQUIRE(p.steps.size() == 1);
    REQUIRE(p.steps[0].graphs.size() == 2);
    CHECK(p.steps[0].captured == std::vector<int>{1, 1});
    CHECK(p.steps[0].graphs[0]->keys != p.steps[0].graphs[1]->keys);
    CHECK(contains(refusal(model(if_of(graph(node_of("Relu", {"z"}, {"y"}))))).second,
                   "\"z\", which nothing gives"));
    CHECK(contains(refusal(model(if_of(graph(node_of("Frobnicate", {"x"}, {"y"}))))).second,
                   "Frobnicate"));
    message within = graph(node_of("Relu", {"x"}, {"y"}));
    for (int i = 0; i < 6; ++i) within = graph(if_of(within));
    CHECK(plan_of(model(if_of(within))).steps.size() == 1);
    pumice::model_limits limits;
    limits.depth = 5;
    const auto [code, what] = thrown_by([&] {
        onnx::resolve(onnx::read(source_of(model(if_of(within))), limits), limits);
    });
    CHECK(code == errc::bad_file);
    CHECK(contains(what, "model_limits::depth"));
}

TEST_CASE("onnx/resolve: an unknown operator is refused with its name and a way out") {
    const auto [code, what] =
        refusal(model_of(graph_of({node_of("Relu", {"x"}, {"a"}),
                                   node_of("Frobnicate", {"a"}, {"y"}, {}, "frob", "com.example")},
                                  {x}, {"y"}),
                         17, "com.example"));
    CHECK(code == errc::unsupported_op);
    for (const char* part : {"Frobnicate", "node \"frob\"", "domain com.example", "operator set 1",
                             "PUMICE_OP(my_op", "pumice::ops<my_op>"})
        CHECK_MESSAGE(contains(what, part), part);
    CHECK(refusal(model_of(graph_of({node_of("Frobnicate", {"x"}, {"z"}),
                                     node_of("Relu", {"x"}, {"y"})},
                                    {x}, {"y"})))
              .first == errc::unsupported_op);  // even where nothing needs it
    const auto inner = message{}.put(1, node_of("Relu", {"x"}, {"y"}));
    CHECK(contains(refusal(model_of(graph_of({node_of("If", {"x"}, {"y"},
                                                      {message{}
                                                           .text(1, "then_branch")
                                                           .put(6, inner)
                                                           .number(20, 5)})},
                                             {x}, {"y"})))
                       .second,
                   "else_branch"));
    CHECK(contains(refusal(model_of(graph_of({node_of("Mine", {"x"}, {"y"}, {}, "", "local")}, {x},
                                             {"y"}),
                                    17, "local")
                               .put(25, message{}))
                       .second,
                   "inline"));
}

TEST_CASE("onnx/resolve: what a builder does not know is refused, not passed over") {
    const auto fails = [&](const message& node, errc code, std::string_view part) {
        const auto [c, what] = thrown_by([&] {
            shapes_of(plan_of(model_of(graph_of({node}, {value_of("x", 1, {1, 2, 6, 6})}, {"y"},
                                                {floats("w", {2, 2, 1, 1}, {1, 2, 3, 4}),
                                                 longs("s", {2}, {3, 5}), longs("far", {1}, {9}),
                                                 floats("m", {3}, {1, 2, 3})}))),
                      {{1, 2, 6, 6}});
        });
        CHECK_MESSAGE(c == code, what);
        CHECK_MESSAGE(contains(what, part), what);
        CHECK_MESSAGE(contains(what, "node "), what);
    };
    fails(node_of("Softmax", {"x"}, {"y"},
                  {attribute("axis", std::int64_t(1)), attribute("mystery", std::int64_t(1))}),
          errc::unsupported_op, "\"mystery\"");
    fails(node_of("Relu", {"x"}, {"y"}, {attribute("mystery", std::int64_t(1))}),
          errc::unsupported_op, "\"mystery\"");
    fails(node_of("MaxPool", {"x"}, {"y", "indices"},
                  {attribute("kernel_shape", std::vector<std::int64_t>{2, 2})}),
          errc::unsupported_op, "output 1");
    fails(node_of("MaxPool", {"x"}, {"y"}), errc::bad_file, "kernel_shape");
    fails(node_of("MaxPool", {"x"}, {"y"}, {attribute("kernel_shape", std::int64_t(2))}),
          errc::bad_file, "another type");
    for (std::int64_t v : {std::int64_t(0), std::int64_t(-1), std::int64_t(1) << 32,
                           std::numeric_limits<std::int64_t>::min()}) {
        fails(node_of("MaxPool", {"x"}, {"y"},
                      {attribute("kernel_shape", std::vector<std::int64_t>{v, 2})}),
              errc::bad_file, "window");
        fails(node_of("Conv", {"x", "w"}, {"y"},
                      {attribute("strides", std::vector<std::int64_t>{1, v})}),
              errc::bad_file, "stride");
        fails(node_of("Conv", {"x", "w"}, {"y"},
                      {attribute("dilations", std::vector<std::int64_t>{1, v})}),
              errc::bad_file, "dilation");
        if (v != 0)
            fails(node_of("Conv", {"x", "w"}, {"y"},
                          {attribute("pads", std::vector<std::int64_t>{0, v, 0, 0})}),
                  errc::bad_file, "pad");
    }
    fails(node_of("Conv", {"x", "w"}, {"y"}, {attribute("group", std::int64_t(0))}),
          errc::invalid_argument, "group 0");
    fails(node_of("Conv", {"x", "w"}, {"y"}, {attribute("auto_pad", "SIDEWAYS")}), errc::bad_file,
          "SIDEWAYS");
    fails(node_of("Conv", {"x", "w"}, {"y"},
                  {attribute("kernel_shape", std::vector<std::int64_t>{3, 3})}),
          errc::shape_mismatch, "kernel_shape");
    fails(node_of("Conv", {"x", "w", "m"}, {"y"}), errc::shape_mismatch, "bias");
    fails(node_of("MatMul", {"x", "m"}, {"y"}), errc::shape_mismatch, "matmul");
    fails(node_of("Add", {"x", "m"}, {"y"}), errc::shape_mismatch, "(3,)");
    fails(node_of("Reshape", {"x", "s"}, {"y"}), errc::shape_mismatch, "(3, 5)");
    fails(node_of("Reshape", {"x", "m"}, {"y"}), errc::dtype_mismatch, "integers");
    fails(node_of("Reshape", {"x", "x"}, {"y"}), errc::dtype_mismatch, "integers");
    fails(node_of("Gather", {"x", "far"}, {"y"}), errc::index_out_of_range, "index 9");
    fails(node_of("Transpose", {"x"}, {"y"},
                  {attribute("perm", std::vector<std::int64_t>{0, 1, 1, 2})}),
          errc::invalid_argument, "twice");
    fails(node_of("Flatten", {"x"}, {"y"}, {attribute("axis", std::int64_t(9))}),
          errc::axis_out_of_range, "axis 9");
    fails(node_of("Concat", {"x", "m"}, {"y"}, {attribute("axis", std::int64_t(0))}),
          errc::shape_mismatch, "concat");
    fails(node_of("Cast", {"x"}, {"y"}, {attribute("to", std::int64_t(8))}), errc::unsupported,
          "STRING");
    fails(node_of("Cast", {"x"}, {"y"}, {attribute("to", std::int64_t(1) << 40)}), errc::bad_file,
          "a type that ONNX lacks (1099511627776)");
    fails(node_of("And", {"x", "x"}, {"y"}), errc::dtype_mismatch, "not defined");
}

TEST_CASE("onnx/resolve: shape arithmetic becomes constants, for every batch anew") {
    const auto g =
        graph_of({node_of("Shape", {"x"}, {"s"}), node_of("Gather", {"s", "zero"}, {"n"}),
                  node_of("Unsqueeze", {"n", "zeros"}, {"n1"}),
                  node_of("Concat", {"n1", "rest"}, {"to"}, {attribute("axis", std::int64_t(0))}),
                  node_of("Reshape", {"x", "to"}, {"y"})},
                 {value_of("x", 1, {-1, 3, 4}, "batch")}, {"y"},
                 {longs("zero", {}, {0}), longs("zeros", {1}, {0}), longs("rest", {1}, {-1})});
    const onnx::resolved_model p = plan_of(model_of(g));
    for (std::int64_t batch : {1, 2, 7}) {
        const auto slots = shapes_of(p, {{batch, 3, 4}});
        CHECK(slots[static_cast<std::size_t>(p.outputs[0])].shape() == shape{batch, 12});
    }
}

TEST_CASE("onnx/resolve: a shape that only a run knows is told apart from a fault") {
    const onnx::resolved_model p =
        plan_of(model_of(graph_of({node_of("Reshape", {"x", "to"}, {"y"})},
                                  {x, value_of("to", 7, {2})}, {"y"})));
    CHECK_THROWS_AS(shapes_of(p, {{2, 3}, {2}}), pumice::needs_value);
    CHECK(contains(thrown_by([&] { shapes_of(p, {{2, 3}, {2}}); }).second,
                   "needs input 1 (\"to\") when the graph is built"));
}

TEST_CASE("onnx/resolve: dead nodes left out, constants folded") {
    const auto g = graph_of({node_of("Mul", {"k", "k"}, {"k2"}), node_of("Exp", {"x"}, {"unused"}),
                             node_of("Add", {"x", "k2"}, {"b"}), node_of("Relu", {"b"}, {"y"})},
                            {x}, {"y"}, {floats("k", {3}, {1, 2, 3})});
    const onnx::resolved_model p = plan_of(model_of(g));
    REQUIRE(p.steps.size() == 2);
    CHECK(p.steps[0].from->op_type == "Add");
    CHECK(p.steps[1].from->op_type == "Relu");
    CHECK(p.folded == 1);
    const auto k2 = std::find(p.names.begin(), p.names.end(), "k2") - p.names.begin();
    CHECK(pumice::constant_values<float>(p.constants[static_cast<std::size_t>(k2)]) ==
          std::vector<float>{1, 4, 9});
}

TEST_CASE("onnx/resolve: initializers that are inputs too are constants") {
    const onnx::resolved_model p =
        plan_of(model_of(graph_of({node_of("Add", {"x", "w"}, {"y"})}, {x, value_of("w", 1, {3})},
                                  {"y"}, {floats("w", {3}, {1, 2, 3})})));
    CHECK(p.inputs.size() == 1);
}

TEST_CASE("onnx/resolve: shape bombs take no memory") {
    const std::int64_t big = std::int64_t(1) << 31;
    const auto g =
        graph_of({node_of("ConstantOfShape", {"s"}, {"c"}), node_of("Expand", {"x", "t"}, {"e"}),
                  node_of("Tile", {"x", "s"}, {"t2"}), node_of("Add", {"c", "e"}, {"y"})},
                 {value_of("x", 1, {1, 1})}, {"y", "t2"},
                 {longs("s", {2}, {big, 2}), longs("t", {2}, {big, 2})});
    const onnx::resolved_model p = plan_of(model_of(g));
    CHECK(shapes_of(p, {{1, 1}})[static_cast<std::size_t>(p.outputs[0])].shape() == shape{big, 2});
    for (const std::vector<std::int64_t>& s :
         {std::vector<std::int64_t>{1LL << 62, 4}, {1LL << 62, 1LL << 62}, {-1, 2}, {-5}})
        CHECK(test::code_of([&] {
                  plan_of(model_of(graph_of({node_of("ConstantOfShape", {"s"}, {"y"})}, {x}, {"y"},
                                            {longs("s", {static_cast<std::int64_t>(s.size())},
                                                   s)})));
              }).has_value());
    CHECK(test::code_of([&] {
              plan_of(model_of(graph_of({node_of("Range", {"a", "b", "c"}, {"y"})}, {x}, {"y"},
                                        {longs("a", {}, {0}), longs("b", {}, {1LL << 62}),
                                         longs("c", {}, {1})})));
          }) == errc::unsupported);
}

TEST_CASE("onnx/resolve: a long chain takes no stack") {
    std::vector<message> nodes;
    for (int i = 0; i < 20000; ++i)
        nodes.push_back(node_of("Neg", {i == 0 ? "x" : "v" + std::to_string(i)},
                                {"v" + std::to_string(i + 1)}));
    const onnx::resolved_model p = plan_of(model_of(graph_of(nodes, {x}, {"v20000"})));
    CHECK(shapes_of(p, {{2, 3}})[static_cast<std::size_t>(p.outputs[0])].shape() == shape{2, 3});
}

TEST_CASE("onnx/resolve: mnist-12 with any byte changed, or cut anywhere, is taken or refused") {
    const auto try_it = [](const std::vector<std::byte>& bytes) {
        return test::code_of([&] {
            const onnx::resolved_model p =
                onnx::resolve(onnx::read(onnx::source{"hurt", bytes, nullptr, {}, false}));
            std::vector<shape> shapes;
            for (const auto& v : p.input_info) {
                shape s;
                for (const auto& d : v.dims) s.push_back(d.size < 0 ? 1 : d.size);
                shapes.push_back(s);
            }
            shapes_of(p, shapes);
        });
    };
    const auto chain = slurp(data("models/multi_chain_add-10.onnx")),
               mnist = slurp(data("models/mnist-12.onnx"));
    for (std::size_t n = 0; n < chain.size(); ++n)
        try_it({chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(n)});
    for (std::size_t n = 0; n < mnist.size(); n += n < 4000 ? 1 : 97)
        try_it({mnist.begin(), mnist.begin() + static_cast<std::ptrdiff_t>(n)});
    std::mt19937 random(7);
    int taken = 0, refused = 0;
    for (int i = 0; i < 6000; ++i) {
        auto bytes = i % 2 ? chain : mnist;
        for (unsigned k = 0; k <= random() % 3; ++k)
            bytes[random() % std::min<std::size_t>(bytes.size(), 2500)] =
                static_cast<std::byte>(random());
        ++(try_it(bytes) ? refused : taken);
    }
    CHECK(taken > 0);
    CHECK(refused > 1000);
}
