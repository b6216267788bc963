// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A fused program says the types of its outputs; what is in it is tested where it is made
// (passes/flatten.cpp).
#include <pumice/graph/fused.hpp>

#include <pumice/expr/ops.hpp>

#include <doctest/doctest.h>

using namespace pumice;

// Its lists are copied, which takes memory: an operator that promised not to throw would end the
// process.
static_assert(!std::is_nothrow_copy_assignable_v<fused> &&
              std::is_nothrow_move_assignable_v<fused>);

TEST_CASE("fused: the types are those of the program's outputs, in their order") {
    auto body = std::make_shared<program>();
    const auto x = body->push({instruction::code::leaf, dtype::f32, 0, {}, nullptr});
    const auto below =
        body->push({instruction::code::apply, dtype::boolean, 0, {x, x}, &op_info_of<op::less>});
    const auto half = body->push({instruction::code::cast, dtype::f16, 0, {x}, nullptr});
    body->outputs = {half, below};
    fused f;
    f.body = body;
    CHECK(f.type() == dtype::f16);
    CHECK(f.type(0) == dtype::f16);
    CHECK(f.type(1) == dtype::boolean);
    CHECK(f.leaves.empty());
    CHECK(operand{}.buffer == -1);  // no memory, as an iota
}
