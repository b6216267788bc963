// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Views of typed tensors show what NumPy's do.
#include "counting.hpp"

#include <pumice/tensor/index.hpp>
#include <pumice/tensor/view.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;
using pumice_test::counting, pumice_test::reals, pumice_test::values;

TEST_CASE("view: typed views of a tensor") {
    const auto x = counting<2, 3>();
    CHECK(values(pm::transpose(x)) == reals{0, 3, 1, 4, 2, 5});
    CHECK(values(pm::transpose(x, pm::axes<1, 0>)) == reals{0, 3, 1, 4, 2, 5});
    CHECK(values(pm::transpose(x, {1, 0})) == reals{0, 3, 1, 4, 2, 5});
    CHECK(values(pm::permute_dims(counting<2, 1, 3>(), pm::axes<2, 0, 1>)) ==
          reals{0, 3, 1, 4, 2, 5});
    CHECK(values(pm::flip(x)) == reals{5, 4, 3, 2, 1, 0});
    CHECK(values(pm::flip(x, pm::axis<1>)) == reals{2, 1, 0, 5, 4, 3});
    CHECK(values(pm::view(x, pm::slice{1, {}, 1}, pm::slice{{}, {}, 2})) == reals{3, 5});
    CHECK(values(pm::reshape<3, 2>(pm::transpose(x))) == reals{0, 3, 1, 4, 2, 5});
    CHECK(values(pm::reshape_to(x, std::int64_t{-1})) == reals{0, 1, 2, 3, 4, 5});
    CHECK(values(pm::reshape_to(pm::transpose(x), 3, std::size_t{2})) == reals{0, 3, 1, 4, 2, 5});
    CHECK(values(pm::broadcast_to<2, 2>(counting<2>())) == reals{0, 1, 0, 1});
    const pm::matrix<float> repeated = pm::broadcast_to(counting<2>(), {2, 2});
    CHECK(values(repeated) == reals{0, 1, 0, 1});
    CHECK_THROWS_AS(pm::broadcast_to(counting<2>(), {2, 3}), pm::error);
    CHECK(values(pm::expand_dims(x, pm::axis<-1>)) == reals{0, 1, 2, 3, 4, 5});
    CHECK(values(pm::squeeze(counting<1, 2>(), pm::axis<0>)) == reals{0, 1});
}
