// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Which kernel and which tile a product gets on devices of several kinds, and why others are
// refused.
#include <pumice/kernels/conv.hpp>
#include <pumice/kernels/matmul.hpp>

#include <doctest/doctest.h>

using namespace pumice;

namespace {

device_info gpu() {
    device_info d;
    d.type = device_type::discrete_gpu;
    d.subgroup_size = d.min_subgroup_size = d.max_subgroup_size = 32;
    d.subgroup_size_control = d.memory_model = d.cooperative_matrix = d.bfloat16 = true;
    d.float16_arithmetic = d.float64_arithmetic = d.int64_arithmetic = d.storage8 = d.storage16 =
        true;
    d.max_workgroup_invocations = 1024;
    d.max_workgroup_count = {0x7fffffff, 65535, 65535};
    d.shared_memory = 48 << 10;
    for (const dtype t : {dtype::f16, dtype::bf16})
        for (const int n : {16, 8})
            d.matrix_shapes.push_back({t, t, dtype::f32, dtype::f32, 16, n, 16});
    return d;
}

/// A program that reads buffer `number`, row-major over `domain`.
fused reads(dtype t, const shape& domain, int number) {
    fused f;
    program p;
    p.outputs.push_back(p.push({instruction::code::leaf, t, 0}));
    f.body = std::make_shared<program>(std::move(p));
    f.leaves.push_back({number, t, 0, row_major_strides(domain)});
    return f;
}
fused stores(dtype t, const shape& domain, int number) {
    fused f;
    program p;
    p.outputs.push_back(p.push({instruction::code::given, t, 0}));
    f.body = std::make_shared<program>(std::move(p));
    f.outputs.push_back({number, t, 0, row_major_strides(domain)});
    return f;
}

matmul_problem product(dtype t, std::int64_t m, std::int64_t n, std::int64_t k,
                       std::int64_t batch = 1) {
    matmul_problem p;
    p.batch = {batch};
    p.m = m, p.n = n, p.k = k;
    p.a = reads(t, {batch, m, k}, 0);
    p.b = reads(t, {batch, k, n}, 1);
    if (batch > 1) p.b.leaves[0].steps[0] = 0;
    p.epilogue = stores(t, {batch, m, n}, 2);
    p.accumulator = t == dtype::f64 ? t : dtype::f32;
    return p;
}

/// Name of the cheapest of the kernels that take the problem.
template <class... K, class P>
std::string chosen(const P& p, const device_info& d) {
    std::string best;
    double cost = 0;
    const auto ask = [&]<class Kernel>() {
        const support s = Kernel::supports(p, d);
        if (s.yes && (best.empty() || s.cost < cost)) best = Kernel::name, cost = s.cost;
    };
    (ask.template operator()<K>(), ...);
    return best;
}
std::string chosen(const matmul_problem& p, const device_info& d) {
    return chosen<matmul_cooperative, matmul_split_k, matmul_tiled>(p, d);
}

}  // namespace

TEST_CASE("tile: the kernel of a product") {
    const device_info d = gpu();
    device_info plain = d;
    plain.cooperative_matrix = false;
    plain.matrix_shapes.clear();
    for (const dtype t : {dtype::f16, dtype::bf16}) {
        CHECK(chosen(product(t, 4096, 4096, 4096), d) == "matmul/cooperative");
        CHECK(chosen(product(t, 1, 128, 784), d) == "matmul/cooperative");
        CHECK(chosen(product(t, 1, 10, 128), d) == "matmul/cooperative");
        CHECK(chosen(product(t, 7, 3, 5), d) == "matmul/cooperative");
        CHECK(chosen(product(t, 1024, 1024, 64), plain) == "matmul/tiled");
        CHECK(chosen(product(t, 64, 64, 64), plain) == "matmul/split_k");
        CHECK(chosen(product(t, 1, 128, 784), plain) == "matmul/split_k");
    }
    CHECK(chosen(product(dtype::f32, 4096, 4096, 4096), d) == "matmul/tiled");
    CHECK(chosen(product(dtype::f32, 1, 128, 784), d) == "matmul/split_k");
    CHECK(chosen(product(dtype::f32, 128, 1, 784), d) == "matmul/split_k");
    CHECK(chosen(product(dtype::f64, 1000, 1000, 100), d) == "matmul/tiled");
    CHECK(chosen(product(dtype::i32, 1000, 1000, 100), d) == "matmul/tiled");
    CHECK(chosen(product(dtype::f64, 100, 100, 100), d) == "matmul/split_k");
    CHECK(chosen(product(dtype::i32, 100, 100, 100), d) == "matmul/split_k");
}

TEST_CASE("tile: reasons against cooperative matrices") {
    const matmul_problem p = product(dtype::f16, 64, 64, 64), b = product(dtype::bf16, 64, 64, 64);
    const auto why = [](const matmul_problem& q, const device_info& d) {
        return matmul_cooperative::supports(q, d).reason;
    };
    device_info d = gpu();
    CHECK(why(p, d).empty());
    CHECK(why(b, d).empty());
    CHECK(why(product(dtype::f32, 64, 64, 64), d) ==
          "cooperative matrices multiply f16 or bf16, not f32");
    d.bfloat16 = false;
    CHECK(why(b, d) == "needs bf16 in shaders; the device lacks it");
    d.matrix_shapes.clear();
    CHECK(why(p, d) == "needs cooperative f16 matrices with sums in f32; the device lists none");
    d = gpu();
    d.shared_memory = 1024;
    CHECK(why(p, d) ==
          "no tile of 16x16x16 fragments fits in 1024 bytes of shared memory and 1024 invocations");
    d = gpu();
    d.memory_model = false;
    CHECK(why(p, d) == "needs the Vulkan memory model; the device lacks it");
    d.subgroup_size_control = false;
    d.memory_model = true;
    CHECK(why(p, d) == "needs subgroups of a fixed size; the device cannot promise it");
    d.storage16 = false;
    CHECK(why(p, d) == "the device has no f16");
}

TEST_CASE("tile: sizes follow the problem and stay within the device") {
    device_info d = gpu();
    const auto type = [&](const matmul_problem& p) {
        return matmul_cooperative::make(p, d).arguments.at(5);
    };
    CHECK(type(product(dtype::f16, 4096, 4096, 4096)) ==
          "Matrices<Half,128,128,64,64,64,16,16,16,32,true,false>");
    CHECK(type(product(dtype::bf16, 1, 128, 784)) ==
          "Matrices<Bfloat,32,32,32,16,16,16,16,16,32,true,false>");
    d.shared_memory = 32 << 10;
    CHECK(type(product(dtype::f16, 4096, 4096, 4096)) ==
          "Matrices<Half,128,128,32,64,64,16,16,16,32,true,false>");
    d = gpu();
    CHECK(matmul_tiled::make(product(dtype::f32, 4096, 4096, 4096), d).arguments.at(5) ==
          "Registers<float,128,128,16,16,8>");
    d.max_workgroup_invocations = 64;
    CHECK(matmul_tiled::make(product(dtype::f32, 4096, 4096, 4096), d).arguments.at(5) ==
          "Registers<float,32,32,16,4,4>");
    d.max_workgroup_invocations = 32;
    CHECK_FALSE(matmul_tiled::supports(product(dtype::f32, 64, 64, 64), d).yes);
}

TEST_CASE("tile: a batch that shares the right factor becomes rows") {
    const detail::product p = detail::product_of(product(dtype::f32, 10, 20, 30, 6));
    CHECK(p.batch == shape{1});
    CHECK(p.m == 60);
    matmul_problem q = product(dtype::f32, 10, 20, 30, 6);
    q.b = reads(dtype::f32, {6, 30, 20}, 1);
    CHECK(detail::product_of(q).batch == shape{6});
}

TEST_CASE("tile: outputs that are contiguous along rows are computed transposed") {
    matmul_problem q = product(dtype::f32, 10, 20, 30);
    q.epilogue.outputs[0].steps = {200, 1, 10};
    const detail::product p = detail::product_of(q);
    CHECK(p.m == 20);
    CHECK(p.n == 10);
    CHECK(p.epilogue.outputs[0].steps.back() == 1);
}

TEST_CASE("tile: how factors are read") {
    const shape batch{1};
    const auto way = [&](const strides& steps, std::int64_t rows, std::int64_t depth,
                         std::int64_t offset = 0) {
        fused f = reads(dtype::f16, {1, rows, depth}, 0);
        f.leaves[0].steps = steps;
        f.leaves[0].offset = offset;
        return detail::packed_reading(f, batch, rows, {depth}, dtype::f16);
    };
    using detail::reading;
    CHECK(way({0, 64, 1}, 32, 64).way == reading::vectors_along_k);
    CHECK(way({0, 64, 1}, 32, 64).bare == reading::aligned);
    CHECK(way({0, 68, 1}, 32, 64).way == reading::vectors_along_k);
    CHECK(way({0, 68, 1}, 32, 64).bare == reading::ragged);
    CHECK(way({0, 64, 1}, 32, 64, 4).bare == reading::ragged);
    CHECK(way({0, 1, 32}, 32, 64).way == reading::vectors_along_rows);
    CHECK(way({0, 1, 32}, 32, 64).bare == reading::aligned);
    CHECK(way({0, 65, 1}, 32, 65).way == reading::vectors_along_k);
    CHECK(way({0, 65, 1}, 32, 65).bare == reading::ragged);
    CHECK(way({0, 1, 33}, 33, 64).way == reading::vectors_along_rows);
    CHECK(way({0, 1, 33}, 33, 64).bare == reading::ragged);
    CHECK(way({0, -64, 1}, 32, 64).bare == reading::aligned);
    CHECK(way({0, 64, -1}, 32, 64).way == reading::elements_along_k);
    CHECK(way({0, 64, -1}, 32, 64).bare == reading::no);
}

TEST_CASE("tile: convolutions as products") {
    conv_problem q;
    q.batch = 2, q.in_channels = 8, q.out_channels = 6;
    q.shape_of.group = 2;
    for (int i = 0; i < 2; ++i) q.in_size[i] = q.out_size[i] = 16, q.window[i] = 1;
    q.input = reads(dtype::f32, {2, 8, 16, 16}, 0);
    q.weight = reads(dtype::f32, {6, 4, 1, 1}, 1);
    q.epilogue = stores(dtype::f32, {2, 6, 16, 16}, 2);
    detail::convolution c = detail::product_of(q);
    CHECK_FALSE(c.windows);
    CHECK(c.p.batch == shape{2, 2});
    CHECK(c.p.n == 256);
    CHECK(c.p.columns == shape{256});
    CHECK(c.p.k == 4);
    CHECK(c.p.right.leaves[0].steps == strides{2048, 1024, 1, 256});
    q.shape_of.stride[0] = q.shape_of.stride[1] = 2;
    q.out_size[0] = q.out_size[1] = 8;
    q.epilogue = stores(dtype::f32, {2, 6, 8, 8}, 2);
    c = detail::product_of(q);
    CHECK(c.windows);
    CHECK(c.p.n == 128);
    CHECK(c.p.columns == shape{2, 64});
    CHECK(chosen<conv_cooperative, conv_tiled>(q, gpu()) == "conv/tiled");
}
