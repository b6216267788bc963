// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Products in slices of k: which can be cut, what each slice reads, where its sums lie.
#include "products.hpp"

#include <pumice/kernels/matmul.hpp>

#include <doctest/doctest.h>

using namespace pumice;
using namespace pumice_test;

TEST_CASE("slices: k is cut into whole parts of some length") {
    const auto can = [](std::int64_t k, int slices) {
        return detail::can_slice(detail::product_of(product(dtype::f16, 64, 64, k)), slices);
    };
    CHECK(can(512, 2));
    CHECK(can(512, 8));
    CHECK_FALSE(can(512, 16));
    CHECK_FALSE(can(500, 2));
    CHECK_FALSE(detail::can_slice(detail::product_of(product(dtype::f64, 64, 64, 512)), 2));
}

TEST_CASE("slices: each is a product of its part, and the join adds them up") {
    const detail::product p = detail::product_of(product(dtype::f16, 64, 48, 512));
    const detail::product q = detail::sliced(p, 4);
    REQUIRE(q.batch == shape{1, 4});
    CHECK(q.k == 128);
    CHECK(q.left.leaves[0].steps[1] == 128);        // along the row
    CHECK(q.right.leaves[0].steps[1] == 128 * 48);  // down the columns
    CHECK(q.epilogue.outputs[0].buffer == -2);
    const reduce_problem join = detail::join_of(p, 4);
    CHECK(join.outer == shape{1, 64, 48});
    CHECK(join.inner == shape{4});
    CHECK(join.prologue.leaves[0].steps == strides{4 * 64 * 48, 48, 1, 64 * 48});
    CHECK(detail::slice_sums(p, 4).end() == 4 * 64 * 48 * 4);
}

TEST_CASE("slices: products of few sums over a deep k are cut, others are not") {
    const device_info d = gpu();
    const auto slices = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
        return matmul_cooperative::supports(product(dtype::f16, m, n, k), d).best().sizes[3];
    };
    CHECK(slices(4096, 512, 14336) == 2);
    CHECK(slices(512, 512, 8192) > 2);
    CHECK(slices(4096, 4096, 4096) == 0);
    CHECK(slices(512, 512, 512) == 0);
}
