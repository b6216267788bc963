// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Rows of floats that are read and written in place where they lie so, and computed where they do
// not.
#include <pumice/host/values.hpp>

#include <tests/expr/support.hpp>

#include <doctest/doctest.h>

using namespace pumice;
using pumice_test::builder;

namespace {

fused made_of(const builder& b, array_list<operand> leaves, array_list<operand> outputs) {
    const program_view v = b.view();
    return {std::make_shared<program>(program{{v.code.begin(), v.code.end()},
                                              {v.outputs.begin(), v.outputs.end()}}),
            std::move(leaves),
            {},
            std::move(outputs)};
}

}  // namespace

TEST_CASE("host values: a dense float leaf is read where it lies, anything else is computed") {
    float data[] = {1, 2, 3, 4, 5, 6};
    const host_buffers buffers{{reinterpret_cast<std::byte*>(data)}};
    builder plain, turned_sign;
    plain.out({plain.leaf(0)});
    turned_sign.out({turned_sign.apply<op::negative>(turned_sign.leaf(0))});
    const fused dense = made_of(plain, {{0, dtype::f32, 1, {2, 1}}}, {}),
                turned = made_of(plain, {{0, dtype::f32, 0, {1, 2}}}, {}),
                computed = made_of(turned_sign, {{0, dtype::f32, 0, {3, 1}}}, {});
    CHECK((computes_in_float(dense) && computes_in_float(computed)));
    float_rows a(dense, buffers), b(turned, buffers), c(computed, buffers);
    CHECK((a.in_place() && !b.in_place() && !c.in_place()));
    CHECK(a.read({1, 0}, 2) == data + 3);
    const float* const column = b.read({1, 0}, 3);
    CHECK((column[0] == 2 && column[1] == 4 && column[2] == 6));
    const float* const row = c.read({1, 1}, 2);
    CHECK((row[0] == -5 && row[1] == -6));
}

TEST_CASE("host values: results are put where they belong, or go through the epilogue") {
    float data[6] = {};
    const host_buffers buffers{{reinterpret_cast<std::byte*>(data)}};
    builder plain, turned_sign;
    plain.out({plain.given()});
    turned_sign.out({turned_sign.apply<op::negative>(turned_sign.given())});
    const fused dense = made_of(plain, {}, {{0, dtype::f32, 0, {3, 1}}}),
                computed = made_of(turned_sign, {}, {{0, dtype::f32, 0, {3, 1}}});
    float_results a(dense, buffers), b(computed, buffers);
    CHECK((a.in_place() && !b.in_place()));
    float* const to = a.place({1, 0}, 3);
    CHECK(to == data + 3);
    to[0] = 9;
    a.write({1, 0}, 3, to);
    float* const values = b.place({0, 0}, 3);
    values[0] = 1, values[1] = 2, values[2] = 3;
    b.write({0, 0}, 3, values);
    CHECK((data[0] == -1 && data[2] == -3 && data[3] == 9));
}

TEST_CASE("host values: rows are counted in row-major order") {
    const shape domain{2, 3, 5};
    index_list at = row_at(domain, 0);
    for (std::int64_t i = 0; i < 6; ++i, next_row(domain, at))
        CHECK((row_at(domain, i) == index_list{i / 3, i % 3, 0} && at == row_at(domain, i)));
}
