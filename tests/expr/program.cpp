// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/expr/program.hpp>

#include "support.hpp"

#include <pumice/expr/host.hpp>

#include <doctest/doctest.h>

#include <set>

using namespace pumice;
using pumice_test::builder;

namespace {

struct form {
    operand_order order;  // before what is made with it
    basic_program<max_program> p;
    explicit form(program_view in) : p(canonical<basic_program<max_program>>(in, order)) {}
    std::string text() const { return pumice_test::to_string(p.view()); }
    std::uint64_t key() const { return key_of(p.view()); }
};

std::string list(const auto& numbers) {
    std::string text;
    for (std::uint16_t n : numbers) text += std::to_string(n) + " ";
    return text;
}

}  // namespace

TEST_CASE("operands are numbered by first use, whatever their old numbers") {
    builder b;
    const auto z = b.leaf(7), s = b.number(3), x = b.leaf(2);
    b.out({b.apply<op::add>(b.apply<op::multiply>(x, s), z)});
    const form f(b.view());
    CHECK(f.text() ==
          "v0=leaf0:f32; v1=scalar0:f32; v2=multiply:f32(v0,v1); v3=leaf1:f32; v4=add:f32(v2,v3); "
          ">v4");
    CHECK(list(f.order.leaves) == "2 7 ");
    CHECK(list(f.order.scalars) == "3 ");
    CHECK(f.p.view().leaves() == 2);
    CHECK(f.p.view().scalars() == 1);
    CHECK(f.p.view().givens() == 0);
    CHECK(f.p.view().output_type() == dtype::f32);
}

TEST_CASE("equal instructions are merged, down to one of each") {
    builder b;
    const auto x = b.leaf(0), again = b.leaf(0), y = b.leaf(1);
    const auto left = b.apply<op::exp>(b.apply<op::multiply>(x, y)),
               right = b.apply<op::exp>(b.apply<op::multiply>(again, y));
    b.out({b.apply<op::add>(left, right)});
    CHECK(form(b.view()).text() ==
          "v0=leaf0:f32; v1=leaf1:f32; v2=multiply:f32(v0,v1); v3=exp:f32(v2); v4=add:f32(v3,v3); "
          ">v4");
}

TEST_CASE("what no output needs is gone, and outputs may be operands or equal") {
    builder b;
    const auto x = b.leaf(0), dead = b.leaf(1);
    b.apply<op::exp>(dead);
    const auto r = b.apply<op::relu>(x);
    b.out({r, x, r});
    CHECK(form(b.view()).text() == "v0=leaf0:f32; v1=relu:f32(v0); >v1>v0>v1");
}

TEST_CASE("leaves and iotas share one numbering, givens have their own") {
    builder b;
    const auto i = b.iota(5), g = b.given(1, dtype::i64), x = b.leaf(9, dtype::i64);
    b.out({b.apply<op::add>(b.apply<op::add>(g, x), i)});
    const form f(b.view());
    CHECK(f.text() ==
          "v0=given0:i64; v1=leaf0:i64; v2=add:i64(v0,v1); v3=iota1:i64; v4=add:i64(v2,v3); >v4");
    CHECK(f.p.view().leaves() == 2);
    CHECK(f.p.view().givens() == 1);
}

TEST_CASE("the form does not depend on how the program was written down") {
    builder a, b;
    {
        const auto x = a.leaf(0), y = a.leaf(1);
        const auto p = a.apply<op::multiply>(x, y), q = a.apply<op::subtract>(x, y);
        a.out({a.apply<op::maximum>(p, q)});
    }
    {
        const auto y = b.leaf(4), x = b.leaf(1), unused = b.number(0);
        static_cast<void>(unused);
        const auto q = b.apply<op::subtract>(x, y), p = b.apply<op::multiply>(x, y);
        b.out({b.apply<op::maximum>(p, q)});
    }
    CHECK(form(a.view()).text() == form(b.view()).text());
    CHECK(form(a.view()).key() == form(b.view()).key());
    const form once(a.view()), twice(once.p.view());
    CHECK(once.text() == twice.text());
}

TEST_CASE("keys differ where programs do") {
    std::set<std::uint64_t> keys;
    const auto add_key = [&](auto make) {
        builder b;
        make(b);
        keys.insert(form(b.view()).key());
    };
    add_key([](builder& b) { b.out({b.leaf(0)}); });
    add_key([](builder& b) { b.out({b.leaf(0, dtype::f16)}); });
    add_key([](builder& b) { b.out({b.number(0)}); });
    add_key([](builder& b) { b.out({b.given(0)}); });
    add_key([](builder& b) { b.out({b.iota(0)}); });
    add_key([](builder& b) { b.out({b.apply<op::exp>(b.leaf(0))}); });
    add_key([](builder& b) { b.out({b.apply<op::log>(b.leaf(0))}); });
    add_key([](builder& b) { b.out({b.cast(dtype::f16, b.leaf(0))}); });
    add_key([](builder& b) { b.out({b.cast(dtype::bf16, b.leaf(0))}); });
    add_key([](builder& b) {
        const auto x = b.leaf(0);
        b.out({b.apply<op::subtract>(x, b.leaf(1))});
    });
    add_key([](builder& b) {
        const auto x = b.leaf(0);
        b.out({b.apply<op::subtract>(x, x)});
    });
    add_key([](builder& b) {
        const auto x = b.leaf(0), e = b.apply<op::exp>(x);
        b.out({e, x});
    });
    add_key([](builder& b) {
        const auto x = b.leaf(0), e = b.apply<op::exp>(x);
        b.out({x, e});
    });
    add_key([](builder& b) {
        const auto x = b.leaf(0), e = b.apply<op::exp>(x);
        b.out({e, e});
    });
    CHECK(keys.size() == 14);
}

TEST_CASE("the longest program passes") {
    builder b;
    auto t = b.leaf(0);
    for (int i = 0; i < max_program - 1; ++i)
        t = i % 2 == 0 ? b.apply<op::sin>(t) : b.apply<op::cos>(t);
    b.out({t});
    CHECK(form(b.view()).p.code.size() == max_program);
}

TEST_CASE("result types") {
    const auto result = [](const op_info& op, std::initializer_list<dtype> types) {
        return result_type(op, std::span(types.begin(), types.size()));
    };
    CHECK(result(op_info_of<op::add>, {dtype::i8, dtype::i8}) == dtype::i8);
    CHECK(!result(op_info_of<op::add>, {dtype::i8, dtype::i16}));
    CHECK(!result(op_info_of<op::add>, {dtype::boolean, dtype::boolean}));
    CHECK(result(op_info_of<op::less>, {dtype::f16, dtype::f16}) == dtype::boolean);
    CHECK(!result(op_info_of<op::less>, {dtype::boolean, dtype::boolean}));
    CHECK(result(op_info_of<op::equal>, {dtype::boolean, dtype::boolean}) == dtype::boolean);
    CHECK(!result(op_info_of<op::exp>, {dtype::i32}));
    CHECK(result(op_info_of<op::where>, {dtype::boolean, dtype::u8, dtype::u8}) == dtype::u8);
    CHECK(!result(op_info_of<op::where>, {dtype::u8, dtype::u8, dtype::u8}));
    CHECK(!result(op_info_of<op::where>, {dtype::boolean, dtype::u8, dtype::i8}));
    CHECK(!result(op_info_of<op::bitwise_and>, {dtype::f32, dtype::f32}));
}
