// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Shapes that windows give, and where they do not fit.
#include <pumice/graph/window.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace pumice;
using namespace pumice_test;

namespace {

const std::shared_ptr<engine> home = std::make_shared<fake_engine>();
any_tensor of(const shape& s) { return data(home, s, dtype::f32); }

}  // namespace

TEST_CASE("windows: conv and pool") {
    CHECK(conv(of({1, 3, 8, 8}), of({6, 3, 3, 3})).shape() == shape{1, 6, 6, 6});
    conv_op c;
    c.stride[0] = c.stride[1] = 2;
    for (int i = 0; i < 2; ++i) c.pad_begin[i] = c.pad_end[i] = 1;
    CHECK(conv(of({1, 4, 7, 8}), of({6, 4, 3, 3}), c).shape() == shape{1, 6, 4, 4});
    c.group = 2;
    CHECK(conv(of({1, 4, 7, 8}), of({6, 2, 3, 3}), c).shape() == shape{1, 6, 4, 4});
    CHECK(code_of([&] { conv(of({1, 4, 7, 8}), of({5, 2, 3, 3}), c); }) == errc::invalid_argument);
    CHECK(code_of([] { conv(of({1, 3, 8, 8}), of({6, 4, 3, 3})); }) == errc::shape_mismatch);
    CHECK(code_of([] { conv(of({1, 3, 2, 8}), of({6, 3, 3, 3})); }) == errc::shape_mismatch);
    CHECK(code_of([] { conv(of({3, 8, 8}), of({6, 3, 3, 3})); }) == errc::rank_mismatch);
    for (const dtype t : {dtype::i8, dtype::u16, dtype::i32, dtype::u64}) {
        const any_tensor y = conv(data(home, {1, 3, 8, 8}, t), data(home, {6, 3, 3, 3}, t));
        CHECK(y.dtype() == t);
        CHECK(y.shape() == shape{1, 6, 6, 6});
    }
    pool_op p;
    for (int i = 0; i < 2; ++i) p.window[i] = p.stride[i] = 2;
    CHECK(pool(of({1, 3, 7, 8}), p).shape() == shape{1, 3, 3, 4});
    p.ceil_mode = true;
    CHECK(pool(of({1, 3, 7, 8}), p).shape() == shape{1, 3, 4, 4});
    p.pad_begin[0] = 2;
    CHECK(code_of([&] { pool(of({1, 3, 7, 8}), p); }) == errc::invalid_argument);
}
