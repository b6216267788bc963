// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The graph as Graphviz text: every node once, every edge with its type and shape, kernels as
// clusters.
#include <pumice/graph/naming.hpp>
#include <pumice/graph/print.hpp>
#include <pumice/graph/scan.hpp>
#include <pumice/graph/window.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace pumice;
using namespace pumice_test;

namespace {

const std::shared_ptr<engine> home = host();

int count(const std::string& text, std::string_view part) {
    int n = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
    return n;
}

}  // namespace

TEST_CASE("graph print: every kind of node has a name") {
    const any_tensor x = data(home, {2, 3}), image = data(home, {1, 1, 4, 4});
    const std::int64_t last[] = {1};
    const any_tensor both[] = {x, x};
    pool_op average;
    average.what = pooling::average;
    const std::pair<any_tensor, const char*> rows[] = {
        {x, "data"},
        {apply<op::add>(apply<op::multiply>(x, x), 1.0), "add"},
        {astype(x, dtype::f16), "astype"},
        {flip(x), "view"},
        {reshape(x, {3, 2}), "reshape"},
        {copy<column_major>(x), "copy"},
        {reduce(reduction::logsumexp, x, last), "logsumexp"},
        {softmax(x), "softmax"},
        {cumulative(reduction::prod, x, 0), "cumulative_prod"},
        {softmax(x, 0, true), "log_softmax"},
        {normalize(normalization::layer_norm, x, last), "layer_norm"},
        {softmax(x, 0, true), "log_softmax"},
        {matmul(x, data(home, {3, 2})), "matmul"},
        {conv(image, data(home, {1, 1, 2, 2})), "conv"},
        {pool(image, {}), "max_pool"},
        {pool(image, average), "average_pool"},
        {concat(both), "concat"},
        {take(x, data(home, {1}, dtype::i64)), "take"},
    };
    for (const auto& [t, name] : rows) CHECK(describe(*t.get()) == name);
    elementwise_op fill;
    fill.body = std::make_shared<program>();
    CHECK(describe(*make_node(dtype::f32, {1}, std::move(fill), {})) == "fill");
}

TEST_CASE("graph print: a product with bias and relu is one cluster with its three data") {
    const any_tensor a = data(home, {2, 3}), b = data(home, {3, 4}), c = data(home, {4});
    const any_tensor y = apply<op::relu>(apply<op::add>(matmul(a, b), c));
    const std::string text = to_dot(y);
    CHECK(text.starts_with("digraph pumice {\n"));
    CHECK(text.ends_with("}\n"));
    CHECK(count(text, "subgraph cluster_") == 1);
    for (const char* name : {"\"matmul\"", "\"add\"", "\"relu\""}) CHECK(count(text, name) == 1);
    CHECK(count(text, "ellipse") == 3);
    CHECK(count(text, " -> ") == 5);
    CHECK(count(text, "f32 (3, 4)") == 1);
    CHECK(count(text, "f32 (2, 4)") == 2);
    CHECK_FALSE(y.get()->realised());
}

TEST_CASE("graph print: views lie outside the kernels, shared nodes are drawn once") {
    const any_tensor x = data(home, {3, 3}), shared = apply<op::exp>(x);
    const std::int64_t swap[] = {1, 0};
    const any_tensor roots[] = {matmul(shared, permute_dims(shared, swap)), softmax(shared)};
    const std::string text = to_dot(roots);
    CHECK(count(text, "\"exp\"") == 1);
    CHECK(count(text, "\"view\", style=dashed") == 1);
    CHECK(count(text, "subgraph cluster_") >= 2);
}

TEST_CASE("graph print: what has run is data") {
    const any_tensor y = apply<op::exp>(data(home, {3}));
    values(y);
    CHECK(describe(*y.get()) == "data");
    CHECK(count(to_dot(y), "->") == 0);
}

TEST_CASE("graph print: nodes show their names, as DOT quotes them") {
    const any_tensor x = named(data(home, {2, 3}), "x \"1\"");
    const std::string text = to_dot(named(apply<op::add>(x, 1.0), "a\\b"));
    CHECK(count(text, R"(label="data\nx \"1\"")") == 1);
    CHECK(count(text, R"(label="add\na\\b")") == 1);
}
