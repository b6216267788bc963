// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// One line in a file of one's own makes an op: here far from the library's namespace.
#include <pumice/expr/host.hpp>
#include <pumice/expr/ops.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace elsewhere {
PUMICE_OP(swish2, 1, pumice::rules::floating, "Swish2", x / (T(1) + pm_exp(-T(2) * x)));
PUMICE_OP(middle, 3, pumice::rules::numeric, "",
          x > y ? (y > z ? y : (x > z ? z : x)) : (x > z ? x : (y > z ? z : y)));
PUMICE_OP(unlike, 2, pumice::rules::compare, "", x != y);
}  // namespace elsewhere

using namespace pumice;

TEST_CASE("the line gives name, body, arity, rule and ONNX name") {
    constexpr const op_info& info = op_info_of<elsewhere::op::swish2>;
    static_assert(info.name == "swish2" && info.arity == 1 && info.onnx == "Swish2");
    CHECK(info.body == "x / (T(1) + pm_exp(-T(2) * x))");
    CHECK(info.rule.takes(dtype::bf16));
    CHECK(!info.rule.takes(dtype::i32));
    CHECK(op_info_of<elsewhere::op::middle>.onnx.empty());
}

TEST_CASE("and host code") {
    const float x[] = {-2, -0.0f, 0.5f, 3};
    const void* in[] = {x, nullptr, nullptr};
    float out[4] = {};
    op_info_of<elsewhere::op::swish2>.host(arithmetic::f32, in, out, 4);
    for (int i = 0; i < 4; ++i) CHECK(out[i] == doctest::Approx(x[i] / (1 + std::exp(-2 * x[i]))));

    using wide = host_arithmetic<arithmetic::i64>;
    const wide a[] = {5, -1, 7}, b[] = {3, 4, 7}, c[] = {4, -9, 1};
    const void* three[] = {a, b, c};
    wide m[3];
    op_info_of<elsewhere::op::middle>.host(arithmetic::i64, three, m, 3);
    CHECK(m[0].value == 4);
    CHECK(m[1].value == -1);
    CHECK(m[2].value == 7);

    const void* two[] = {a, b, nullptr};
    bool differs[3] = {};
    op_info_of<elsewhere::op::unlike>.host(arithmetic::i64, two, differs, 3);
    CHECK(differs[0]);
    CHECK(!differs[2]);
}

TEST_CASE("rules are sets of kinds") {
    for (int i = 0; i < 13; ++i) {
        const auto t = static_cast<dtype>(i);
        CHECK(rules::any.takes(t));
        CHECK(rules::numeric.takes(t) == (t != dtype::boolean));
        CHECK(rules::floating.takes(t) == is_floating(t));
        CHECK(rules::logical.takes(t) == (t == dtype::boolean));
        CHECK(rules::integral.takes(t) ==
              (info(t).kind == kind::signed_integer || info(t).kind == kind::unsigned_integer));
        CHECK(rules::bits.takes(t) == (t == dtype::boolean || rules::integral.takes(t)));
        CHECK(rules::signed_numeric.takes(t) ==
              (info(t).kind == kind::signed_integer || is_floating(t)));
    }
}

TEST_CASE("the body names no more operands than the op has") {
    static_assert(pumice::detail::operands_named("x * x + T(2)") == 1);
    static_assert(pumice::detail::operands_named("pm_pow(x, y)") == 2);
    static_assert(pumice::detail::operands_named("z") == 3);
    static_assert(pumice::detail::operands_named("z * x + y") == 3);
    static_assert(pumice::detail::operands_named("pm_y(x) + y2 * zz + any_z + by") == 1);
    static_assert(pumice::detail::operands_named("") == 1);
    for (const pumice::op_info* op : pumice::infos_of(pumice::all_ops{}))
        CHECK(pumice::detail::operands_named(op->body) == op->arity);
}
