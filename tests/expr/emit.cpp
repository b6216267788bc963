// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The parts of the emitted text; whole texts are compared in tests/golden.
#include <pumice/expr/emit.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace pumice;
using pumice_test::builder;

namespace {

std::string text_of(const builder& b) {
    operand_order order;
    const auto p = canonical<basic_program<max_program>>(b.view(), order);
    return emit(p.view());
}
bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the struct is named after the program's key, and says what it computes") {
    builder b;
    const auto x = b.leaf(0), y = b.leaf(1);
    b.out({b.apply<op::relu>(b.apply<op::multiply>(x, y))});
    operand_order order;
    const auto p = canonical<basic_program<max_program>>(b.view(), order);
    const std::string text = emit(p.view());
    CHECK(has(text, "// multiply, relu\n"));
    CHECK(has(text, "public struct " + emitted_name(p.view()) + " : IProgram"));
    CHECK(emitted_name(p.view()).size() == 18);
    CHECK(has(text, "float t0 = v.x0 * v.x1;"));
    CHECK(has(text, "float t1 = t0 < float(0) ? float(0) : t0;"));
    CHECK(!has(text, "import math;"));
    CHECK(std::string_view(emit<fixed_string<8192>>(p.view())) == text);
}

TEST_CASE("math is imported where a body calls it") {
    builder b;
    b.out({b.apply<op::exp>(b.leaf(0))});
    CHECK(has(text_of(b), "import math;"));
    CHECK(has(text_of(b), "pm_exp(v.x0)"));
}

TEST_CASE("literals carry the suffix of the arithmetic type") {
    builder single, wide;
    single.out({single.apply<op::degrees>(single.leaf(0))});
    wide.out({wide.apply<op::degrees>(wide.leaf(0, dtype::f64))});
    CHECK(has(text_of(single), "float(57.29577951308232f)"));
    CHECK(has(text_of(wide), "double(57.29577951308232lf)"));
}

TEST_CASE("small integers are wrapped after each op, halves are not rounded before the store") {
    builder small, half;
    const auto s = small.leaf(0, dtype::i8);
    small.out({small.apply<op::add>(s, small.leaf(1, dtype::i8))});
    CHECK(has(text_of(small), "int t0 = I8.wrap(v.x0 + v.x1);"));
    const auto h = half.leaf(0, dtype::f16);
    half.out({half.apply<op::add>(h, half.leaf(1, dtype::f16))});
    CHECK(has(text_of(half), "float t0 = v.x0 + v.x1;"));
    CHECK(has(text_of(half), "F16.store(a.y0, o[2], r.y0);"));
}

TEST_CASE("arguments: addresses first, then scalars in slots of eight bytes") {
    builder b;
    const auto x = b.leaf(0), s = b.number(0), w = b.cast(dtype::f64, x);
    b.out({b.apply<op::add>(x, s), b.apply<op::multiply>(w, b.number(1, dtype::f64))});
    const std::string text = text_of(b);
    CHECK(has(text,
              "        public F32.Storage* x0;\n        public F32.Storage* y0;\n        public "
              "F64.Storage* y1;\n        public float s0; public uint s_0;\n        public double "
              "s1;\n"));
    CHECK(has(text, "leaves = 1;"));
    CHECK(has(text, "operands = 3;"));
    CHECK(has(text, "double t1 = F64.from(v.x0);"));
}

TEST_CASE("a copy, a constant, an iota and a given value") {
    builder copy, constant, index, given;
    copy.out({copy.leaf(0, dtype::boolean)});
    CHECK(has(text_of(copy), "// copy\n"));
    CHECK(has(text_of(copy), "public bool x0;"));
    constant.out({constant.number(0)});
    CHECK(has(text_of(constant), "public int none;"));
    index.out({index.cast(dtype::f32, index.iota(0))});
    CHECK(has(text_of(index), "v.x0 = I64.from(o[0].toInt64());"));
    const auto g = given.given();
    given.out({given.apply<op::add>(g, given.leaf(0))});
    CHECK(has(text_of(given), "public typealias Given = float;"));
    CHECK(has(text_of(given), "float t0 = g + v.x0;"));
}

TEST_CASE("equal programs give equal text, unequal ones do not") {
    builder a, b, c;
    const auto ax = a.leaf(3);
    a.out({a.apply<op::subtract>(ax, a.leaf(1))});
    const auto unused = b.leaf(0), bx = b.leaf(5);
    static_cast<void>(unused);
    b.out({b.apply<op::subtract>(bx, b.leaf(6))});
    const auto cx = c.leaf(0);
    c.out({c.apply<op::subtract>(cx, cx)});
    CHECK(text_of(a) == text_of(b));
    CHECK(text_of(a) != text_of(c));
}
