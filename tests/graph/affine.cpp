// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The algebra of index maps: each law against indices counted out.
#include <pumice/graph/affine.hpp>

#include <doctest/doctest.h>

using namespace pumice;

namespace {

index_list apply_map(const affine& m, const index_list& at) {
    index_list r;
    for (int a = 0; a < m.axes; ++a) {
        std::int64_t v = m.start[a];
        for (int d = 0; d < m.coordinates; ++d) v += m.step[a][d] * at[d];
        r.push_back(v);
    }
    return r;
}

}  // namespace

TEST_CASE("identity, equality") {
    const affine id = affine::identity(3);
    CHECK(apply_map(id, {4, 5, 6}) == index_list{4, 5, 6});
    CHECK(id == affine::identity(3));
    CHECK(id != affine::identity(2));
    affine moved = id;
    moved.start[1] = 1;
    CHECK(moved != id);
    CHECK(affine::identity(0) == affine{});
}

TEST_CASE("broadcast_to aligns to the right and pins axes of length 1") {
    const affine id = affine::identity(3);
    const affine row = id.broadcast_to({2, 3, 4}, {4});
    CHECK(apply_map(row, {1, 2, 3}) == index_list{3});
    const affine column = id.broadcast_to({2, 3, 4}, {3, 1});
    CHECK(apply_map(column, {1, 2, 3}) == index_list{2, 0});
    CHECK(apply_map(id.broadcast_to({2, 3, 4}, {}), {1, 2, 3}) == index_list{});
    CHECK(id.broadcast_to({2, 3, 4}, {2, 3, 4}) == id);
}

TEST_CASE("but_for_unit_axes: axes of one element come and go, the others keep their indices") {
    const affine id = affine::identity(3);
    CHECK(apply_map(id.but_for_unit_axes({2, 1, 4}, {2, 4}), {1, 0, 3}) == index_list{1, 3});
    CHECK(apply_map(id.but_for_unit_axes({2, 1, 4}, {1, 2, 4, 1}), {1, 0, 3}) ==
          index_list{0, 1, 3, 0});
    CHECK(apply_map(id.but_for_unit_axes({1, 1, 1}, {}), {0, 0, 0}) == index_list{});
    CHECK(apply_map(affine::identity(2).but_for_unit_axes({0, 5}, {1, 0, 5}), {0, 4}) ==
          index_list{0, 0, 4});
}

TEST_CASE("through a view: slices, transposes and new axes compose") {
    // y[i, j] = x[10 - 2 i, j + 1] ; z = transpose(y): z[a, b] = y[b, a]
    const view_op slice{{10, 1}, {0, 1}, {-2, 1}}, turn{{0, 0}, {1, 0}, {1, 1}};
    const affine m = affine::identity(2).through(turn).through(slice);
    CHECK(apply_map(m, {3, 4}) == index_list{10 - 2 * 4, 3 + 1});
    // w[i, new, j] = x[i, j]
    const view_op added{{0, 0}, {0, -1, 1}, {1, 1, 1}};
    CHECK(apply_map(affine::identity(3).through(added), {3, 9, 4}) == index_list{3, 4});
    // The diagonal cannot be made by views of the library, but the algebra takes it.
    const view_op diagonal{{0}, {0, 0}, {1, 1}};
    CHECK(apply_map(affine::identity(2).through(diagonal), {3, 4}) == index_list{7});
}

TEST_CASE("picking orders the coordinates") {
    // Coordinates are (axis 2, axis 0, axis 1).
    const affine m = affine::picking({2, 0, 1});
    CHECK(apply_map(m, {7, 8, 9}) == index_list{8, 9, 7});
}

TEST_CASE("locate gives offset and strides of memory") {
    const view_op slice{{10, 1}, {0, 1}, {-2, 1}};
    operand o{0, dtype::f32, 5, {}};
    affine::identity(2).through(slice).locate({100, 1}, o);
    CHECK(o.offset == 5 + 10 * 100 + 1);
    CHECK(o.steps == strides{-200, 1});
    operand repeated{0, dtype::f32, 0, {}};
    affine::identity(2).broadcast_to({3, 4}, {4}).locate({1}, repeated);
    CHECK(repeated.steps == strides{0, 1});
}
