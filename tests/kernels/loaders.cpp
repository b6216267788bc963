// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How factors are read.
#include <tests/kernels/products.hpp>

#include <doctest/doctest.h>

using namespace pumice_test;

TEST_CASE("loaders: how factors are read") {
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
