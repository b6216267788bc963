// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Matrix products and convolutions as the product that kernels see.
#include <pumice/kernels/conv.hpp>
#include <tests/kernels/products.hpp>

#include <doctest/doctest.h>

using namespace pumice_test;

TEST_CASE("product: a batch that shares the right factor becomes rows") {
    const detail::product p = detail::product_of(product(dtype::f32, 10, 20, 30, 6));
    CHECK(p.batch == shape{1});
    CHECK(p.m == 60);
    matmul_problem q = product(dtype::f32, 10, 20, 30, 6);
    q.b = reads(dtype::f32, {6, 30, 20}, 1);
    CHECK(detail::product_of(q).batch == shape{6});
}

TEST_CASE("product: outputs that are contiguous along rows are computed transposed") {
    matmul_problem q = product(dtype::f32, 10, 20, 30);
    q.epilogue.outputs[0].steps = {200, 1, 10};
    const detail::product p = detail::product_of(q);
    CHECK(p.m == 20);
    CHECK(p.n == 10);
    CHECK(p.epilogue.outputs[0].steps.back() == 1);
}

TEST_CASE("product: convolutions as products") {
    conv_problem q;
    q.batch = 2, q.in_channels = 8, q.out_channels = 6;
    q.shape_of.group = 2;
    for (int i = 0; i < 2; ++i) q.in_size[i] = q.out_size[i] = 16, q.window[i] = 1;
    q.input = reads(dtype::f32, {2, 8, 16, 16}, 0);
    q.weight = reads(dtype::f32, {6, 4, 1, 1}, 1);
    q.epilogue = stores(dtype::f32, {2, 6, 16, 16}, 2);
    detail::product c = detail::product_of(q);
    CHECK_FALSE(c.gathers());
    CHECK(c.batch == shape{2, 2});
    CHECK(c.n == 256);
    CHECK(c.columns == shape{256});
    CHECK(c.k == 4);
    CHECK(c.right.leaves[0].steps == strides{2048, 1024, 1, 256});
    q.shape_of.stride[0] = q.shape_of.stride[1] = 2;
    q.out_size[0] = q.out_size[1] = 8;
    q.epilogue = stores(dtype::f32, {2, 6, 8, 8}, 2);
    c = detail::product_of(q);
    CHECK(c.image == shape{2, 8, 16, 16});
    CHECK(c.n == 128);
    CHECK(c.columns == shape{2, 64});
}
