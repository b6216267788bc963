// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// An ONNX chain and the typed expression that says the same are one kernel: the same program, the
// same text, the same entry of the disk cache.
#include <pumice/front.hpp>
#include <pumice/model.hpp>

#include <tests/model/support.hpp>
#include <tests/support/kernel_text.hpp>

#include <functional>

namespace pm = pumice;
using namespace pumice_test;
using pm::any_tensor;
using list = std::vector<any_tensor>;

namespace {

constexpr std::int64_t f32 = 1, i32 = 6, f16 = 10, bf16 = 16;

struct value {
    std::string name;
    std::int64_t type;
    std::vector<std::int64_t> dims;
};

struct chain {
    std::string name;
    std::vector<value> inputs;
    std::vector<message> nodes;
    std::function<list(const list&)> typed;
    std::vector<std::string> outputs = {"y"};
    std::vector<message> constants = {};
    std::int64_t opset = 20;

    pm::model load(const pm::context& home) const {
        message graph;
        for (const message& n : nodes) graph.put(1, n);
        for (const message& c : constants) graph.put(5, c);
        for (const value& v : inputs) graph.put(11, value_of(v.name, v.type, v.dims));
        for (const std::string& o : outputs) graph.put(12, message{}.text(1, o));
        return pm::model::from_bytes(model_of(graph, opset).view(), home);
    }

    /// Small numbers of both signs that every element type holds.
    list data(const pm::context& home) const {
        list made;
        for (const value& v : inputs) {
            const pm::shape extent(v.dims);
            std::vector<float> numbers(static_cast<std::size_t>(pm::element_count(extent)));
            for (std::size_t i = 0; i < numbers.size(); ++i)
                numbers[i] = float(int((i * 5 + made.size() * 3) % 13) - 6);
            const auto type = pm::onnx::to_dtype(static_cast<std::int32_t>(v.type));
            made.push_back(pm::from_bytes(pm::dtype::f32, extent, std::as_bytes(std::span(numbers)),
                                          home));
            made.back() = pm::astype(made.back(), type.value());
        }
        pm::eval(std::span<const any_tensor>(made));
        return made;
    }
};

template <class T = float>
pm::matrix<T> m(const any_tensor& t) {
    return pm::matrix<T>(t);
}
pm::vector<float> v(const any_tensor& t) { return pm::vector<float>(t); }

constexpr std::int64_t rows = 900;  // of 5: more elements than the host computes at once

std::vector<chain> chains() {
    const value a{"a", f32, {rows, 5}}, b{"b", f32, {rows, 5}}, c{"c", f32, {rows, 5}},
        row{"c", f32, {5}}, column{"a", f32, {rows, 1}}, i{"a", i32, {rows, 5}},
        j{"b", i32, {rows, 5}};
    const auto halves = [](std::int64_t type) {
        return std::vector<value>{
            {"a", type, {rows, 5}}, {"b", type, {rows, 5}}, {"c", type, {rows, 5}}};
    };
    const std::vector<message> multiply_add_relu = {node_of("Mul", {"a", "b"}, {"p"}),
                                                    node_of("Add", {"p", "c"}, {"s"}),
                                                    node_of("Relu", {"s"}, {"y"})};
    std::vector<chain> all;
    all.push_back({"multiply, add, relu", {a, b, row}, multiply_add_relu, [](const list& x) {
                       return list{pm::relu(m(x[0]) * m(x[1]) + v(x[2]))};
                   }});
    all.push_back({"of f16", halves(f16), multiply_add_relu, [](const list& x) {
                       return list{
                           pm::relu(m<pm::f16>(x[0]) * m<pm::f16>(x[1]) + m<pm::f16>(x[2]))};
                   }});
    all.push_back({"of bf16", halves(bf16), multiply_add_relu, [](const list& x) {
                       return list{
                           pm::relu(m<pm::bf16>(x[0]) * m<pm::bf16>(x[1]) + m<pm::bf16>(x[2]))};
                   }});
    all.push_back({"sigmoids",
                   {a},
                   {node_of("Sigmoid", {"a"}, {"s"}), node_of("Mul", {"a", "s"}, {"p"}),
                    node_of("Tanh", {"p"}, {"t"}), node_of("Sigmoid", {"t"}, {"y"})},
                   [](const list& x) {
                       return list{pm::sigmoid(pm::tanh(m(x[0]) * pm::sigmoid(m(x[0]))))};
                   }});
    all.push_back({"where and less",
                   {a, b, c},
                   {node_of("Less", {"a", "b"}, {"l"}), node_of("Where", {"l", "a", "c"}, {"y"})},
                   [](const list& x) {
                       return list{pm::where(m(x[0]) < m(x[1]), m(x[0]), m(x[2]))};
                   }});
    all.push_back({"hard_swish",
                   {a, b},
                   {node_of("HardSwish", {"a"}, {"h"}), node_of("Add", {"h", "b"}, {"y"})},
                   [](const list& x) { return list{pm::hard_swish(m(x[0])) + m(x[1])}; }});
    all.push_back({"gelu",
                   {a, b},
                   {node_of("Gelu", {"a"}, {"g"}), node_of("Mul", {"g", "b"}, {"y"})},
                   [](const list& x) { return list{pm::gelu(m(x[0])) * m(x[1])}; }});
    all.push_back({"casts",
                   {a, i},
                   {node_of("Abs", {"a"}, {"p"}),
                    node_of("Cast", {"p"}, {"q"}, {attribute("to", i32)}),
                    node_of("Add", {"q", "k"}, {"s"}),
                    node_of("Cast", {"s"}, {"y"}, {attribute("to", f16)})},
                   [](const list& x) {
                       return list{pm::astype<pm::f16>(pm::astype<std::int32_t>(pm::abs(m(x[0]))) +
                                                       m<std::int32_t>(x[1]))};
                   }});
    all.back().inputs[1].name = "k";
    all.push_back({"broadcasting",
                   {column, row, b},
                   {node_of("Sub", {"a", "c"}, {"d"}), node_of("Mul", {"d", "b"}, {"p"}),
                    node_of("Add", {"p", "a"}, {"y"})},
                   [](const list& x) { return list{(m(x[0]) - v(x[1])) * m(x[2]) + m(x[0])}; }});
    all.push_back({"numbers are arguments",
                   {a},
                   {node_of("Mul", {"a", "two"}, {"p"}),
                    node_of("LeakyRelu", {"p"}, {"l"}, {attribute("alpha", 0.25f)}),
                    node_of("Clip", {"l", "low", "high"}, {"y"})},
                   [](const list& x) {
                       return list{pm::clip(pm::leaky_relu(m(x[0]) * 7.0f, 0.5f), -3.0f, 4.0f)};
                   },
                   {"y"},
                   {floats("two", {}, {2}), floats("low", {}, {-1}), floats("high", {}, {5})}});
    all.push_back({"a shared operand",
                   {a},
                   {node_of("Mul", {"a", "a"}, {"p"}), node_of("Add", {"p", "a"}, {"y"})},
                   [](const list& x) { return list{m(x[0]) * m(x[0]) + m(x[0])}; }});
    all.push_back({"integers and bool",
                   {i, j},
                   {node_of("Div", {"a", "b"}, {"d"}), node_of("BitwiseAnd", {"d", "a"}, {"e"}),
                    node_of("Equal", {"e", "b"}, {"q"}), node_of("Not", {"q"}, {"n"}),
                    node_of("Greater", {"a", "b"}, {"g"}), node_of("And", {"n", "g"}, {"y"})},
                   [](const list& x) {
                       const auto p = m<std::int32_t>(x[0]), q = m<std::int32_t>(x[1]);
                       return list{~((p / q & p) == q) & (p > q)};
                   }});
    all.push_back({"two outputs",
                   {a, b},
                   {node_of("Mul", {"a", "b"}, {"p"}), node_of("Relu", {"p"}, {"r"}),
                    node_of("Mul", {"r", "two"}, {"y"}), node_of("Add", {"r", "one"}, {"z"})},
                   [](const list& x) {
                       const auto r = pm::relu(m(x[0]) * m(x[1]));
                       return list{r * 2.0f, r + 1.0f};
                   },
                   {"y", "z"},
                   {floats("two", {}, {2}), floats("one", {}, {1})}});
    all.push_back({"padded and tiled",
                   {a, row},
                   {node_of("Pad", {"a", "widths"}, {"p"}),
                    node_of("Reshape", {"c", "line"}, {"l"}),
                    node_of("Tile", {"l", "times"}, {"t"}), node_of("Mul", {"p", "t"}, {"y"})},
                   [](const list& x) {
                       return list{pm::pad(m(x[0]), {{1, 1}, {3, 2}}) *
                                   pm::tile(v(x[1]), {rows + 2, 2})};
                   },
                   {"y"},
                   {longs("widths", {4}, {1, 3, 1, 2}), longs("line", {2}, {1, 5}),
                    longs("times", {2}, {rows + 2, 2})}});
    return all;
}

std::vector<std::byte> bytes_of(const any_tensor& t) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(t.size_bytes()));
    pm::read(t, bytes);
    return bytes;
}

}  // namespace

TEST_CASE(
    "same kernel: chain for chain, the program and the text of a model are those of the type") {
    const pm::context home;
    for (const chain& c : chains()) {
        CAPTURE(c.name);
        const list inputs = c.data(home);
        const auto typed = fused_program(c.typed(inputs)),
                   loaded = fused_program(c.load(home).run(inputs));
        CHECK(pm::key_of(typed->view()) == pm::key_of(loaded->view()));
        CHECK(pm::emitted_name(typed->view()) == pm::emitted_name(loaded->view()));
        CHECK(pm::emit(typed->view()) == pm::emit(loaded->view()));
    }
}

TEST_CASE(
    "same kernel: what typed code has compiled, a model in another context takes from the disk") {
    const temporary_folder folder;
    const pm::cache_folder cache{folder.path().string()};
    const pm::context first(cache), second(cache);
    if (first.device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "the host device compiles no kernels");
    for (const chain& c : chains()) {
        CAPTURE(c.name);
        const list mine = c.data(first), theirs = c.data(second);
        const auto spent = [](const pm::context& home, const pm::statistics& before) {
            const pm::statistics now = home.stats();
            CHECK(now.dispatches - before.dispatches == 1);
            return std::pair(now.slang_compiles - before.slang_compiles,
                             now.cache_hits - before.cache_hits);
        };
        pm::statistics before = first.stats();
        const list typed = c.typed(mine);
        pm::eval(std::span<const any_tensor>(typed));
        CHECK(spent(first, before) == std::pair<std::uint64_t, std::uint64_t>(1, 0));

        const pm::model loaded = c.load(second);
        before = second.stats();
        const list run = loaded.run(theirs);
        pm::eval(std::span<const any_tensor>(run));
        CHECK(spent(second, before) == std::pair<std::uint64_t, std::uint64_t>(0, 1));

        REQUIRE(run.size() == typed.size());
        if (c.name == "numbers are arguments") continue;  // other numbers, the same kernel
        for (std::size_t k = 0; k < run.size(); ++k) CHECK(bytes_of(run[k]) == bytes_of(typed[k]));
    }
}
