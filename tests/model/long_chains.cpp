// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Files that hold one operator many thousand times in a line: they load and run in seconds, on a
// small stack, and give what a short chain gives that is run many times.
#include <pumice/front.hpp>
#include <pumice/model.hpp>

#include <tests/model/support.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/small_stack.hpp>

#include <chrono>
#include <functional>

#include <sys/resource.h>

using namespace pumice_test;
namespace pm = pumice;

namespace {

constexpr int f32 = 1, i32 = 6, boolean = 9, f64 = 11;

/// Short, so that files are small: "a", "b" ... "aa" ...
std::string name_of(int number) {
    std::string text;
    for (int n = number; n >= 0; n = n / 52 - 1) {
        const int digit = n % 52;
        text += char(digit < 26 ? 'a' + digit : 'A' + digit - 26);
    }
    return text;
}

struct chain {
    std::string name;
    int type;  // of the tensor that goes through, in ONNX's numbers
    /// The node of that number in the line; its further inputs are initializers.
    std::function<message(int number, const std::string& in, const std::string& out)> node;
};

/// Initializers that the nodes read: names with a digit, which none in the line has.
std::vector<message> initializers() {
    return {longs("0", {1}, {0}),
            longs("1", {1}, {1}),
            longs("23", {2}, {2, 3}),
            longs("32", {2}, {3, 2}),
            longs("9", {1}, {9}),
            floats("f1", {}, {1.0f}),
            floats("f0", {}, {0.0f}),
            tensor_of("i1", i32, {}).numbers(5, {1}),
            tensor_of("b1", boolean, {}).numbers(5, {1})};
}

chain unary(std::string op, int type = f32) {
    return {op, type, [op](int, const std::string& in, const std::string& out) {
                return node_of(op, {in}, {out});
            }};
}
chain with(std::string op, int type, std::vector<std::string> more) {
    return {op, type, [op, more](int, const std::string& in, const std::string& out) {
                std::vector<std::string> inputs{in};
                inputs.insert(inputs.end(), more.begin(), more.end());
                return node_of(op, inputs, {out});
            }};
}
/// Two operators, or two forms of one, by turns.
chain by_turns(std::string name, chain even, chain odd) {
    return {name, even.type,
            [even, odd](int number, const std::string& in, const std::string& out) {
                return (number % 2 == 0 ? even : odd).node(number, in, out);
            }};
}
chain cast_to(int type) {
    return {"Cast", f32, [type](int, const std::string& in, const std::string& out) {
                return node_of("Cast", {in}, {out}, {attribute("to", std::int64_t{type})});
            }};
}

std::vector<chain> chains() {
    std::vector<chain> list;
    for (const char* op :
         {"Identity",   "Dropout", "Relu",     "Abs",      "Neg",       "Sqrt",
          "Reciprocal", "Exp",     "Log",      "Floor",    "Ceil",      "Round",
          "Sign",       "Erf",     "Sin",      "Cos",      "Tan",       "Sinh",
          "Cosh",       "Tanh",    "Asin",     "Acos",     "Atan",      "Asinh",
          "Acosh",      "Atanh",   "Sigmoid",  "Softplus", "Softsign",  "HardSigmoid",
          "HardSwish",  "Elu",     "Selu",     "Celu",     "LeakyRelu", "ThresholdedRelu",
          "Gelu",       "Mish",    "Transpose"})
        list.push_back(unary(op));
    list.push_back(unary("Not", boolean));
    list.push_back(unary("BitwiseNot", i32));
    for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum", "Mean", "PRelu"})
        list.push_back(with(op, f32, {"f1"}));
    for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor", "Mod"})
        list.push_back(with(op, i32, {"i1"}));
    for (const char* op : {"And", "Or", "Xor", "Equal"}) list.push_back(with(op, boolean, {"b1"}));
    list.push_back(with("Clip", f32, {"f0", "f1"}));
    list.push_back(with("CastLike", f32, {"f0"}));
    list.push_back({"Where", f32, [](int, const std::string& in, const std::string& out) {
                        return node_of("Where", {"b1", in, "f0"}, {out});
                    }});
    list.push_back({"Add to itself", f32, [](int, const std::string& in, const std::string& out) {
                        return node_of("Max", {in, in}, {out});
                    }});
    list.push_back(by_turns("Cast", cast_to(f64), cast_to(f32)));
    list.push_back(with("Slice", f32, {"0", "9"}));
    list.push_back(with("Expand", f32, {"23"}));
    list.push_back(by_turns("Unsqueeze, Squeeze", with("Unsqueeze", f32, {"1"}),
                            with("Squeeze", f32, {"1"})));
    list.push_back(by_turns("Reshape", with("Reshape", f32, {"32"}), with("Reshape", f32, {"23"})));
    list.push_back(unary("Flatten"));
    list.push_back(by_turns("Transpose, Reshape", unary("Transpose"),
                            with("Reshape", f32, {"23"})));
    return list;
}

message file_of(const chain& c, int length) {
    message graph;
    for (int i = 0; i < length; ++i) graph.put(1, c.node(i, name_of(i), name_of(i + 1)));
    graph.text(2, "g");
    for (const message& m : initializers()) graph.put(5, m);
    graph.put(11, value_of("a", c.type, {2, 3}));
    graph.put(12, value_of(name_of(length), c.type, {2, 3}));
    return model_of(graph);
}

pm::any_tensor input_of(const chain& c, const pm::context& home) {
    const float reals[] = {0.5f, -0.25f, 0.75f, 0.125f, -1.5f, 2.0f};
    const std::int32_t integers[] = {5, -3, 7, 0, 123456, -99};
    const bool bits[] = {true, false, true, true, false, false};
    if (c.type == f32)
        return pm::from_bytes(pm::dtype::f32, {2, 3}, std::as_bytes(std::span(reals)), home);
    if (c.type == i32)
        return pm::from_bytes(pm::dtype::i32, {2, 3}, std::as_bytes(std::span(integers)), home);
    return pm::from_bytes(pm::dtype::boolean, {2, 3}, std::as_bytes(std::span(bits)), home);
}
std::vector<std::byte> bytes_of(const pm::any_tensor& x) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(x.size_bytes()));
    pm::read(x, bytes);
    return bytes;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}
/// The most that this process ever held, in MiB.
long peak() {
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    return use.ru_maxrss >> 10;
}

}  // namespace

TEST_CASE("chains of sixty thousand nodes load and run in seconds on a small stack" *
          doctest::test_suite("host alone")) {
    const pm::context home(pm::host_only{});
    // Every operator at full length, on this stack too: PUMICE_LONG_CHAINS=all.
    const bool all = std::getenv("PUMICE_LONG_CHAINS") != nullptr;
    constexpr int piece = 500;
    for (const chain& c : chains()) {
        const bool full = c.name == "Relu" || c.name == "Slice" || c.name == "Reshape";
        const int length = all || (full && !test::address_sanitizer) ? 60'000 : 1'000;
        INFO(c.name, ", ", length, " nodes");
        const temporary_folder folder;
        const pm::any_tensor x = input_of(c, home);
        // A short chain, run again and again on what it gave.
        const auto brief =
            pm::model::load(folder.write("short.onnx", file_of(c, piece).bytes), home);
        pm::any_tensor wanted = x;
        for (int i = 0; i < length / piece; ++i) {
            wanted = brief.run({wanted})[0];
            pm::eval(wanted);
        }
        const std::vector<std::byte> expected = bytes_of(wanted);
        if (full) {
            const auto whole =
                pm::model::load(folder.write("b.onnx", file_of(c, length).bytes), home);
            test::on_small_stack([&] {
                CHECK(whole.infer_shapes().size() > std::size_t(length));
                CHECK(whole.dump().size() > std::size_t(length));
            });
        }
        const std::filesystem::path file = folder.write("long.onnx", file_of(c, length).bytes);
        const auto run = [&] {
            CHECK(bytes_of(pm::model::load(file, home).run({x})[0]) == expected);
        };
        const auto begin = std::chrono::steady_clock::now();
        test::on_small_stack(run);
        const double took = seconds_since(begin);
        CHECK(took < 10);
        if (!all) continue;
        run();
        std::printf("measured %s: %d nodes, %zu bytes, %.2f s, %ld MiB\n", c.name.c_str(), length,
                    std::size_t(std::filesystem::file_size(file)), took, peak());
    }
    if (!test::address_sanitizer) CHECK(peak() < 1024);
}

TEST_CASE("long chains of constants, of values that nothing needs, and sums of many") {
    const auto line = [](std::size_t number) {
        return number == 0 ? std::string("0") : name_of(int(number));
    };
    const std::size_t length = test::address_sanitizer ? 6'000 : 60'000;
    test::on_small_stack([&] {
        message graph;
        graph.put(5, longs("0", {1}, {1}));
        for (std::size_t i = 0; i < length; ++i)
            graph.put(1, node_of("Neg", {line(i)}, {line(i + 1)}));
        graph.put(1, node_of("Add", {"x1", line(length)}, {"y1"}));
        graph.put(11, value_of("x1", 7, {2})).put(12, message{}.text(1, "y1"));
        CHECK(pm::model::from_bytes(model_of(graph).view(), storing_context()).inputs().size() ==
              1);
        message dead = message{}.put(1, node_of("Relu", {"x1"}, {"y1"}));
        for (std::size_t i = 0; i < length; ++i)
            dead.put(1, node_of("Neg", {i == 0 ? "x1" : line(i)}, {line(i + 1)}));
        dead.put(11, value_of("x1", 1, {2})).put(12, message{}.text(1, "y1"));
        CHECK(pm::model::from_bytes(model_of(dead).view(), storing_context()).dump().size() < 300);
        std::vector<std::string> many(length, "c1");
        many.push_back("x1");
        const message sum = message{}
                                .put(5, floats("c1", {}, {1}))
                                .put(1, node_of("Sum", many, {"y1"}))
                                .put(11, value_of("x1", 1, {2}))
                                .put(12, message{}.text(1, "y1"));
        CHECK(pm::model::from_bytes(model_of(sum).view(), storing_context()).inputs().size() == 1);
        message wide = model_of(message{}
                                    .put(1, node_of("Relu", {"x1"}, {"y1"}, {}, "", "d0"))
                                    .put(11, value_of("x1", 1, {2}))
                                    .put(12, message{}.text(1, "y1")));
        for (std::size_t i = 0; i < length; ++i)
            wide.put(8, message{}.text(1, "d" + std::to_string(i)).number(2, 1));
        CHECK(thrown_by([&] { pm::model::from_bytes(wide.view(), storing_context()); }).first ==
              pumice::errc::unsupported_op);
    });
}
