// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/model/onnx/dump.hpp>

#include <tests/model/support.hpp>

using namespace pumice_test;
using pumice::dtype;
using pumice::errc;
using pumice::shape;
namespace onnx = pumice::onnx;

TEST_CASE("onnx/dump: the layers of mnist_conv_fp16 have the shapes of the paper's table") {
    const onnx::resolved_model p = onnx::resolve(onnx::read(data("models/mnist_conv_fp16.onnx")));
    const shape in[] = {{1, 1, 28, 28}};
    std::string rows;
    for (const pumice::inferred_value& v : onnx::infer_shapes(p, in)) {
        CHECK(v.type == dtype::f16);
        rows += std::string(v.name) + to_string(v.shape) + " ";
    }
    CHECK(rows ==
          "input(1, 1, 28, 28) conv2d(1, 8, 28, 28) relu(1, 8, 28, 28) max_pool2d(1, 8, 14, 14) "
          "conv2d_1(1, 16, 14, 14) relu_1(1, 16, 14, 14) "
          "max_pool2d_1(1, 16, 4, 4) view(1, 256) matmul(1, 10) add(1, 10) probabilities(1, 10) ");
}

TEST_CASE("onnx/dump: mnist-12 as text") {
    const onnx::resolved_model p = onnx::resolve(onnx::read(data("models/mnist-12.onnx")));
    const shape in[] = {{1, 1, 28, 28}};
    CHECK(onnx::dump(p, in) ==
          R"(mnist-12.onnx: CNTK 2.5.1, IR 7, ai.onnx 12, 12 nodes, 1 folded, 11 steps
input  Input3 f32 (1, 1, 28, 28)
0 Conv Convolution28 : Input3 f32 (1, 1, 28, 28), Parameter5 f32 (8, 1, 5, 5) -> Convolution28_Output_0 f32 (1, 8, 28, 28)
1 Add Plus30 : Convolution28_Output_0 f32 (1, 8, 28, 28), Parameter6 f32 (8, 1, 1) -> Plus30_Output_0 f32 (1, 8, 28, 28)
2 Relu ReLU32 : Plus30_Output_0 f32 (1, 8, 28, 28) -> ReLU32_Output_0 f32 (1, 8, 28, 28)
3 MaxPool Pooling66 : ReLU32_Output_0 f32 (1, 8, 28, 28) -> Pooling66_Output_0 f32 (1, 8, 14, 14)
4 Conv Convolution110 : Pooling66_Output_0 f32 (1, 8, 14, 14), Parameter87 f32 (16, 8, 5, 5) -> Convolution110_Output_0 f32 (1, 16, 14, 14)
5 Add Plus112 : Convolution110_Output_0 f32 (1, 16, 14, 14), Parameter88 f32 (16, 1, 1) -> Plus112_Output_0 f32 (1, 16, 14, 14)
6 Relu ReLU114 : Plus112_Output_0 f32 (1, 16, 14, 14) -> ReLU114_Output_0 f32 (1, 16, 14, 14)
7 MaxPool Pooling160 : ReLU114_Output_0 f32 (1, 16, 14, 14) -> Pooling160_Output_0 f32 (1, 16, 4, 4)
8 Reshape Times212_reshape0 : Pooling160_Output_0 f32 (1, 16, 4, 4), Pooling160_Output_0_reshape0_shape i64 (2,) -> Pooling160_Output_0_reshape0 f32 (1, 256)
10 MatMul Times212 : Pooling160_Output_0_reshape0 f32 (1, 256), Parameter193_reshape1 f32 (256, 10) -> Times212_Output_0 f32 (1, 10)
11 Add Plus214 : Times212_Output_0 f32 (1, 10), Parameter194 f32 (1, 10) -> Plus214_Output_0 f32 (1, 10)
output Plus214_Output_0 f32 (1, 10)
)");
}

TEST_CASE("onnx/dump: open axes for each size, and in half precision") {
    const onnx::resolved_model p =
        onnx::resolve(onnx::read(data("models/mnist_mlp_png_probs.onnx")));
    for (std::int64_t batch : {1, 3, 32}) {
        const shape in[] = {{batch, 1, 28, 28}};
        const auto full = onnx::infer_shapes(p, in), half = onnx::infer_shapes(p, in, dtype::f16);
        CHECK(full.back().shape == shape{batch, 10});
        CHECK(half.back().type == dtype::f16);
        CHECK(half.size() == full.size());
    }
    CHECK(thrown_by([&] { onnx::infer_shapes(p, {}); }).first == errc::invalid_argument);
    const shape wrong[] = {{1, 1, 28, 27}};
    const auto [code, what] = thrown_by([&] { onnx::infer_shapes(p, wrong); });
    CHECK(code == errc::shape_mismatch);
    CHECK(contains(what, "mnist_mlp_png_probs.onnx: node \"node_"));
}
