// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a pass may get wrong is found, one fault of each rule.
#include <pumice/graph/gather.hpp>
#include <pumice/graph/passes/verify_graph.hpp>
#include <pumice/graph/scan.hpp>

#include "../../support/walked_graph.hpp"
#include "../support.hpp"

#include <doctest/doctest.h>

using namespace pumice;
using namespace pumice_test;

namespace {

const std::shared_ptr<engine> home = std::make_shared<fake_engine>();
constexpr std::int64_t columns[] = {1};

/// A graph with a bit of everything.
struct sample {
    any_tensor x = data(home, {4, 6}), half = data(home, {4, 6}, dtype::f16),
               by = data(home, {2}, dtype::i64), e = apply<op::exp>(x),
               turned = permute_dims(e, std::vector<std::int64_t>{1, 0}), p = matmul(e, turned),
               total = reduce(reduction::sum, e, columns), soft = softmax(e, 1),
               flat = reshape(e, {24}), taken = take(e, by, 0),
               joined = concat(std::vector<any_tensor>{e, x}, 0), order = argsort(e, 1),
               other = apply<op::exp>(half), running = cumulative(reduction::sum, e, 1, {}),
               copied = copy<column_major>(e);
    walked_graph g{std::vector<any_tensor>{p, total, soft, flat, taken, joined, order, running,
                                           other, copied}};
    graph_node& at(const any_tensor& t) { return *g.at(t); }
};

/// The graph with a fault has one, and its text has these words.
template <class Plant>
void found(const char* words, Plant&& plant) {
    sample s;
    REQUIRE(verify(s.g.graph).empty());
    plant(s);
    s.g.graph.sort();
    const std::vector<std::string> faults = verify(s.g.graph);
    std::string all;
    for (const std::string& f : faults) all += f + "\n";
    CHECK_MESSAGE(all.find(words) != std::string::npos, "wanted: ", words, "\ngot: ", all);
}

}  // namespace

TEST_CASE("verify_graph: a fault of each rule is found") {
    const auto op_of = [](const any_tensor& t) {
        return operation(*t.get()->op.get_if<elementwise_op>());
    };
    found("(exp) reads node", [](sample& s) { s.at(s.e).inputs = {&s.at(s.p)}; });
    found("was asked for, and is not kept", [](sample& s) { s.at(s.p).kept = false; });
    found("was asked for, and is nobody's", [](sample& s) { s.at(s.p).origin = nullptr; });
    found("reads input 0 of 0", [&](sample& s) { s.g.graph.change(s.at(s.e), op_of(s.e), {}); });
    found("reads input 0 as f32, which is f16",
          [&](sample& s) { s.g.graph.change(s.at(s.e), op_of(s.e), {&s.at(s.half)}); });
    found("(exp) of shape (4, 6) reads (2,)", [&](sample& s) {
        graph_node& two = s.g.graph.add(dtype::f32, {2}, view_op{{0, 0}, {1}, {1}}, {&s.at(s.x)});
        s.g.graph.change(s.at(s.e), op_of(s.e), {&two});
    });
    found("(view) of shape (6, 4) shows what is not in (4, 6)", [](sample& s) {
        s.g.graph.change(s.at(s.turned), view_op{{1, 0}, {1, 0}, {1, 1}}, {&s.at(s.e)});
    });
    found("(reshape) to (24,) of (4,)",
          [](sample& s) { s.g.graph.change(s.at(s.flat), reshape_op{}, {&s.at(s.total)}); });
    found("(copy) does not lie as it is copied",
          [](sample& s) { s.g.graph.change(s.at(s.copied), copy_op{{6, 1}}, {&s.at(s.e)}); });
    found("(sum) names axis 2 of (4, 6)", [](sample& s) {
        s.g.graph.change(s.at(s.total), reduce_op{reduction::sum, {2}}, {&s.at(s.e)});
    });
    found("(sum) names its axes out of order", [](sample& s) {
        s.g.graph.change(s.at(s.total), reduce_op{reduction::sum, {1, 0}}, {&s.at(s.e)});
    });
    found("(sum) has shape (4,) and gives (6,)", [](sample& s) {
        s.g.graph.change(s.at(s.total), reduce_op{reduction::sum, {0}}, {&s.at(s.e)});
    });
    found("(argmax) is f32", [](sample& s) {
        s.g.graph.change(s.at(s.total), reduce_op{reduction::argmax, {1}}, {&s.at(s.e)});
    });
    found("(softmax) is f32, its input f16", [](sample& s) {
        s.g.graph.change(s.at(s.soft), normalize_op{normalization::softmax, {1}}, {&s.at(s.half)});
    });
    found("(matmul) has 1 inputs",
          [](sample& s) { s.g.graph.change(s.at(s.p), matmul_op{}, {&s.at(s.e)}); });
    found("(matmul) of (4, 6) and (4, 6) sums over 6 columns of the first and 4 rows of the second",
          [](sample& s) { s.g.graph.change(s.at(s.p), matmul_op{}, {&s.at(s.e), &s.at(s.e)}); });
    found("takes by indices of type f32",
          [](sample& s) { s.g.graph.change(s.at(s.taken), take_op{}, {&s.at(s.e), &s.at(s.x)}); });
    found("(concat) has shape (8, 6) and gives (4, 12)", [](sample& s) {
        s.g.graph.change(s.at(s.joined), concat_op{1}, {&s.at(s.e), &s.at(s.x)});
    });
    found("(argsort) has shape (4, 6) and gives (6, 4)",
          [](sample& s) { s.g.graph.change(s.at(s.order), sort_op{1}, {&s.at(s.turned)}); });
    found("(top_k) has shape (4, 6) and gives (4, 2)",
          [](sample& s) { s.g.graph.change(s.at(s.order), sort_op{1, true, 2}, {&s.at(s.e)}); });
    found("(top_k) picks 7 of (4, 6)",
          [](sample& s) { s.g.graph.change(s.at(s.order), sort_op{1, true, 7}, {&s.at(s.e)}); });
    found("has shape (4, 6) and gives (6, 4)", [](sample& s) {
        s.g.graph.change(s.at(s.running), scan_op{reduction::sum, 1}, {&s.at(s.turned)});
    });
}

TEST_CASE("verify_graph: a fault of each rule of programs is found") {
    using code = instruction::code;
    using instructions = std::vector<instruction>;
    constexpr dtype f32 = dtype::f32;
    const instruction leaf{code::leaf, f32}, number{code::scalar, f32};
    const auto apply = [](const op_info& op, std::uint16_t a, std::uint16_t b = 0,
                          dtype type = dtype::f32) {
        return instruction{code::apply, type, 0, {a, b}, &op};
    };
    const auto of = [](code what, std::uint16_t index, dtype type = dtype::f32) {
        return instruction{what, type, index};
    };
    const op_info &e = op_info_of<op::exp>, &plus = op_info_of<op::add>;
    const auto programs = [](const char* words, const instructions& list, std::uint16_t output,
                             const array_list<scalar>& scalars = {}, std::size_t inputs = 1) {
        found(words, [&](sample& s) {
            program p;
            for (const instruction& i : list) p.push(i);
            p.outputs.push_back(output);
            array_list<graph_node*> from;
            for (std::size_t i = 0; i < inputs; ++i)
                from.push_back(i == 0 ? &s.at(s.x) : &s.g.graph.add_copy(s.at(s.x)));
            s.g.graph.change(s.at(s.e),
                             elementwise_op{std::make_shared<const program>(p), scalars, {}},
                             std::move(from));
        });
    };
    programs("has a program of 0 instructions", {}, 0);
    programs("has a program of 257 instructions, not of 1 to 256", instructions(257, leaf), 0);
    programs("instruction 1 reads instruction 1, which is not before it", {leaf, apply(e, 1)}, 1);
    programs("instruction 0 reads instruction 1, which is not before it", {apply(e, 1), leaf}, 0);
    programs("instruction 1 reads instruction 77, which", {leaf, apply(e, 77)}, 1);
    programs("instruction 1 applies no op", {leaf, {code::apply, f32}}, 1);
    programs("instruction 1 is none", {leaf, {static_cast<code>(77), f32}}, 1);
    programs("reads input 3 of 1", {of(code::leaf, 3)}, 0);
    programs("instruction 1 applies bitwise_and to f32, f32",
             {leaf, apply(op_info_of<op::bitwise_and>, 0)}, 1);
    programs("instruction 1 is f32, less gives bool", {leaf, apply(op_info_of<op::less>, 0)}, 1);
    programs("takes 1 scalars and has 0", {number}, 0);
    programs("instruction 0 is f32, its scalar i32: pm::scalar(type, value)", {number}, 0,
             {scalar(7)});
    scalar foreign(7.0f);
    foreign.graph = 12;
    programs("instruction 0 takes a number of another graph", {number}, 0, {foreign});
    programs("instruction 1 counts along an axis that elementwise_op::iota_axes does not give",
             {leaf, of(code::iota, 1), apply(plus, 0, 1)}, 2);
    programs("instruction 0 is given, but by no kernel", {of(code::given, 0)}, 0);
    programs("instruction 0 decodes by no format", {of(code::coded, 0)}, 0);
    programs("instruction 0 reads by a map, which the node does not have", {of(code::mapped, 0)},
             0);
    programs("without its one output", {leaf}, 5);
    programs("is f32, which its program does not give",
             {leaf, apply(op_info_of<op::less>, 0, 0, dtype::boolean)}, 1);
    instructions many{leaf};
    for (std::uint16_t i = 1; i < 17; ++i) many.push_back(of(code::leaf, i));
    programs("reads 17 operands, a kernel takes 16", many, 0, {}, 17);
}
