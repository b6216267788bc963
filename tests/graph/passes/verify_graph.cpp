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
    found("has shape (4, 6) and gives (6, 4)", [](sample& s) {
        s.g.graph.change(s.at(s.running), scan_op{reduction::sum, 1}, {&s.at(s.turned)});
    });
}
