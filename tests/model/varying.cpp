// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Models whose files leave an axis open, recorded once for every extent of it.
#include <pumice/front.hpp>
#include <pumice/model.hpp>
#include <pumice/varying.hpp>

#include <tests/model/support.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace pumice_test;
using pumice::any_tensor;
using pumice::dtype;
using pumice::errc;
using pumice::model;
using pumice::shape;
using tensors = std::span<const any_tensor>;

namespace {

any_tensor normal(const shape& s, std::uint32_t key, dtype type = dtype::f32) {
    any_tensor t =
        pumice::astype(pumice::random::normal(dtype::f32, s, pumice::random::key(key)), type);
    pumice::eval(tensors(&t, 1));
    return t;
}
void check_same(const any_tensor& is, const any_tensor& wanted, float most) {
    REQUIRE(is.shape() == wanted.shape());
    REQUIRE(is.dtype() == wanted.dtype());
    const std::vector<float> a = pumice::to_vector<float>(pumice::astype(is, dtype::f32)),
                             b = pumice::to_vector<float>(pumice::astype(wanted, dtype::f32));
    for (std::size_t i = 0; i < a.size(); ++i)
        REQUIRE(std::fabs(a[i] - b[i]) <= most * std::fmax(1.f, std::fabs(b[i])));
}
std::string text_of(const std::function<void()>& f) {
    try {
        f();
    } catch (const pumice::error& e) {
        return e.what();
    }
    return "nothing was thrown";
}

/// softmax(x w) over (n, m, 4), and a head that joins the last two axes as exporters write it: by
/// Shape, Gather, Concat and Reshape.
message open_model() {
    message g;
    g.put(1, node_of("MatMul", {"x", "w"}, {"y"}))
        .put(1, node_of("Softmax", {"y"}, {"s"}, {attribute("axis", std::int64_t{1})}))
        .put(1, node_of("Add", {"s", "x"}, {"z"}))
        .put(1, node_of("Shape", {"z"}, {"size"}))
        .put(1, node_of("Gather", {"size", "zero"}, {"rows"}))
        .put(1, node_of("Concat", {"rows", "rest"}, {"to"}, {attribute("axis", std::int64_t{0})}))
        .put(1, node_of("Reshape", {"z", "to"}, {"out"}))
        .put(5, floats("w", {4, 4}, {1, 2, 3, 4, -1, 0, 1, 0, .5, .5, 1, 1, 0, 1, 0, -1}))
        .put(5, longs("zero", {1}, {0}))
        .put(5, longs("rest", {1}, {-1}))
        .put(11, value_of("x", 1, {-1, -2, 4}, "n"))
        .put(12, value_of("out", 1, {-1, -2}, "n"));
    return model_of(g);
}

/// A convolution, a pool and a product over (n, 1, 8, 8).
message convolution_model() {
    const auto numbers = [](std::size_t n) {
        std::vector<float> v(n);
        for (std::size_t i = 0; i < n; ++i) v[i] = float(i % 7) / 7 - 0.4f;
        return v;
    };
    using sizes = std::vector<std::int64_t>;
    message g;
    g.put(1, node_of("Conv", {"x", "w"}, {"c"}, {attribute("pads", sizes{1, 1, 1, 1})}))
        .put(1, node_of("Relu", {"c"}, {"r"}))
        .put(1,
             node_of("MaxPool", {"r"}, {"p"},
                     {attribute("kernel_shape", sizes{2, 2}), attribute("strides", sizes{2, 2})}))
        .put(1, node_of("Flatten", {"p"}, {"f"}))
        .put(1, node_of("MatMul", {"f", "v"}, {"out"}))
        .put(5, floats("w", {3, 1, 3, 3}, numbers(27)))
        .put(5, floats("v", {48, 5}, numbers(240)))
        .put(11, value_of("x", 1, {-1, 1, 8, 8}, "batch"))
        .put(12, value_of("out", 1, {-1, 5}, "batch"));
    return model_of(g);
}

}  // namespace

TEST_CASE("model: an open batch is recorded once for every extent") {
    const message convolutions = convolution_model();
    for (const bool own : {false, true}) {
        CAPTURE(own);
        const model m = own ? model::from_bytes(convolutions.view())
                            : model::load(data("models/mnist_mlp_png_probs.onnx"));
        REQUIRE(m.inputs()[0].open());
        const shape picture = m.compile().inputs()[0].shape;
        const auto of = [&](std::int64_t n) {
            shape s = picture;
            s[0] = n;
            return normal(s, static_cast<std::uint32_t>(n), m.inputs()[0].dtype);
        };
        const pumice::statistics before = pumice::stats();
        const pumice::executable e = m.compile(pumice::varying{.at_most = 33});
        CHECK(pumice::stats().plans - before.plans == 1);
        CHECK(e.inputs()[0].shape[0] == 33);
        std::vector<any_tensor> x, y, results;
        for (const std::int64_t n : {33, 1, 0, 2, 7, 16, 32}) x.push_back(of(n));
        const pumice::statistics made = pumice::stats();
        for (const any_tensor& each : x) {
            y = e.run({each});
            results.push_back(y[0]);
            e.run_into(y, tensors(&each, 1)).wait();
        }
        CHECK(pumice::stats().recordings - made.recordings <= 3);
        CHECK(pumice::stats().plans == made.plans);
        for (std::size_t i = 0; i < x.size(); ++i) {
            CAPTURE(x[i].shape()[0]);
            check_same(results[i], m.run({x[i]})[0], 2e-3f);
        }
    }
}

TEST_CASE("model: shapes that a file computes from an open axis follow it") {
    const message file = open_model();
    const model m = model::from_bytes(file.view());
    const shape open[] = {{1, 5, 4}};
    const pumice::executable e = m.compile(pumice::varying{.at_most = 40}, open);
    CHECK(e.outputs()[0].shape == shape{40, 20});
    for (const std::int64_t n : {40, 1, 3, 39}) {
        CAPTURE(n);
        const any_tensor x = normal({n, 5, 4}, 3);
        check_same(e.run({x})[0], m.run({x})[0], 1e-5f);
    }
}

TEST_CASE("model: which axes can vary") {
    const message both = open_model();
    const model m = model::from_bytes(both.view());
    const auto compiled = [&](std::vector<pumice::index_list> axes) {
        return text_of([&] { m.compile(pumice::varying{.at_most = 40, .axes = axes}); });
    };
    CHECK(contains(compiled({{2}}), "axis 2 of the input \"x\", which is f32 (n, ?, 4), cannot"));
    CHECK(contains(compiled({{0}, {0}}), "2 lists of axes for 1 inputs"));
    CHECK(contains(compiled({{}}), "no axis of an input is open"));
    const model fixed = model::load(data("models/mnist-12.onnx"));
    CHECK(contains(text_of([&] { fixed.compile(pumice::varying{.at_most = 4}); }),
                   "no axis of an input is open"));
}
