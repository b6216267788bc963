// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A block that tables write: bytes as C lays them out, places that are written before a dispatch,
// the members as they are declared. What Slang makes of the structs:
// tests/exec/parameter_blocks.cpp.
#include "support.hpp"

#include <pumice/kernels/parameter_block.hpp>

#include <doctest/doctest.h>

#include <cstddef>

using namespace pumice;

namespace {

template <class T>
T at(const launch& l, std::size_t byte) {
    T v;
    REQUIRE(byte + sizeof v <= l.parameters.size());
    std::memcpy(&v, l.parameters.data() + byte, sizeof v);
    return v;
}

}  // namespace

TEST_CASE("a parameter block lies as the C struct does: addresses and scalars in program order") {
    using op_add = op::add;
    pumice_test::builder b;
    const auto x = b.leaf(0), k = b.number(0), y = b.leaf(1);
    b.out({b.apply<op_add>(b.apply<op_add>(x, k), y)});
    fused f = made(b);
    const shape domain{3, 4};
    f.leaves = {{5, dtype::f32, 2, {4, 1}}, {6, dtype::f32, 0, {0, 1}}};
    f.outputs = {{9, dtype::f32, 8, {4, 1}}};
    f.scalars = {scalar(0.75f)};
    for (const bool wide : {false, true}) {
        CAPTURE(wide);
        launch l;
        write_block(l, wide, "Sample",
                    {{"P.Args args", block::arguments{f, domain}},
                     {"Places<P, I, 2> places", block::places{f, 2}},
                     {"uint last", 77},
                     {"float* data", block::address{9, 64}}});
        struct narrow_block {
            std::uint64_t leaf0, leaf1, output, scalar;
            std::int32_t offsets[3], steps[6], last;
            std::uint64_t address;
        };
        struct wide_block {
            std::uint64_t leaf0, leaf1, output, scalar;
            std::int64_t offsets[3], steps[6];
            std::int32_t last;
            std::uint64_t address;
        };
        REQUIRE(l.parameters.size() == (wide ? sizeof(wide_block) : sizeof(narrow_block)));
        REQUIRE(l.relocations.size() == 4);
        const std::size_t places[] = {
            0, 8, 16, wide ? offsetof(wide_block, address) : offsetof(narrow_block, address)};
        const int buffers[] = {5, 6, 9, 9};
        for (std::size_t i = 0; i < 4; ++i) {
            CHECK(l.relocations[i].at == places[i]);
            CHECK(l.relocations[i].buffer == buffers[i]);
            CHECK(at<std::uint64_t>(l, places[i]) == 0);  // written before the dispatch
        }
        CHECK(l.relocations[3].byte_offset == 64);
        CHECK(at<float>(l, 24) == 0.75f);
        const std::int64_t offsets[] = {2, 0, 8}, steps[] = {4, 1, 0, 1, 4, 1};
        const std::size_t size = wide ? 8 : 4;
        const auto index = [&](std::size_t byte) {
            return wide ? at<std::int64_t>(l, byte) : at<std::int32_t>(l, byte);
        };
        for (std::size_t i = 0; i < 3; ++i) CHECK(index(32 + i * size) == offsets[i]);
        for (std::size_t i = 0; i < 6; ++i) CHECK(index(32 + (3 + i) * size) == steps[i]);
        CHECK(at<std::int32_t>(l, wide ? offsetof(wide_block, last)
                                       : offsetof(narrow_block, last)) == 77);
        // What is read and written is what hazards are tracked by.
        REQUIRE(l.accesses.size() == 3);
        CHECK(l.accesses[0].begin == 8);
        CHECK(l.accesses[0].end == 8 + 48);
        CHECK(l.accesses[1].end == 16);
        CHECK_FALSE(l.accesses[1].write);
        CHECK(l.accesses[2].write);
        CHECK(l.accesses[2].begin == 32);
    }
}

TEST_CASE(
    "a program without operands still has one field, since Slang has no empty structs in C "
    "layout") {
    pumice_test::builder b;
    b.out({b.given()});
    const fused f = made(b);  // a prologue: its output goes nowhere
    launch l;
    write_block(l, false, "Sample", {{"P.Args args", block::arguments{f, {4}}}});
    CHECK(l.parameters.size() == 8);
    CHECK(l.accesses.empty());
    CHECK(l.relocations.empty());
}

TEST_CASE("a parameter block: each kind of row, and structs that begin and end aligned") {
    pumice_test::builder b;
    b.out({b.leaf(0)});
    const fused f = made(b, {{3, dtype::f32, 6, {20, 4, 1}}});  // its output goes nowhere
    const strides shorter{7, 8};
    const std::int64_t longs[2] = {-5, 6};
    const int ints[2] = {-1, 2};
    struct inner {
        std::int32_t last;
        struct {
            std::uint64_t data;
            std::int32_t base, count;
        } bare;
    };
    struct narrow_block {
        std::int32_t steps[4];
        double precise;
        float single;
        std::int32_t axes[4], longs[2], wide[2], ints[2];
        inner ragged;
        std::int32_t behind;
        std::uint64_t nowhere, raw;
        std::int32_t number;
    };
    struct wide_inner {
        std::int64_t last;
        struct {
            std::uint64_t data;
            std::int64_t base;
            std::int32_t count;
        } bare;
    };
    struct wide_block {
        std::int64_t steps[4];
        double precise;
        float single;
        std::int64_t axes[4];
        std::int32_t longs[2];
        std::int64_t wide[2];
        std::int32_t ints[2];
        wide_inner ragged;
        std::int32_t behind;
        std::uint64_t nowhere, raw;
        std::int64_t number;
    };
    for (const bool wide : {false, true}) {
        CAPTURE(wide);
        launch l;
        parameter_block to(l, wide, "Sample");
        to.add({{"Steps<P, I, 2> steps", block::steps{f, 1, 2}},
                {"double precise", block::real{0.1, true}},
                {"float single", block::real{0.1, false}},
                {"I axes[4]", block::axes{shorter, 4, -9}},
                {"int longs[2]", longs},
                {"I wide[2]", longs},
                {"int ints[2]", ints}});
        to.add({{"Ragged<I> ragged",
                 "Ragged",
                 {{"I last", 11},
                  {"Bare<I> bare",
                   "Bare",
                   {{"uint* data", block::address{4, 8}}, {"I base", 12}, {"int count", 13}}}}},
                {"int behind", 14},
                {"float* nowhere", block::address{-1}},
                {"uint2 raw", block::bits{0xfedcba9876543210}}});
        to.indices(!wide);
        to.add({{"I number", 15}});
        to.indices(wide);
        const auto number = [&](std::size_t narrow, std::size_t of_wide, bool is_index) {
            return wide && is_index ? at<std::int64_t>(l, of_wide)
                                    : at<std::int32_t>(l, wide ? of_wide : narrow);
        };
#define PLACE(MEMBER) offsetof(narrow_block, MEMBER), offsetof(wide_block, MEMBER)
        const auto of = [&](std::size_t narrow, std::size_t of_wide) {
            return wide ? of_wide : narrow;
        };
        CHECK(number(PLACE(steps[0]), true) == 4);
        CHECK(number(PLACE(steps[1]), true) == 1);
        CHECK(number(PLACE(steps[3]), true) == 0);
        CHECK(at<double>(l, of(PLACE(precise))) == 0.1);
        CHECK(at<float>(l, of(PLACE(single))) == 0.1f);
        CHECK(number(PLACE(axes[1]), true) == 8);
        CHECK(number(PLACE(axes[3]), true) == -9);
        CHECK(number(PLACE(longs[1]), false) == 6);
        CHECK(number(PLACE(wide[0]), true) == -5);
        CHECK(number(PLACE(ints[1]), false) == 2);
        CHECK(number(PLACE(ragged.last), true) == 11);
        CHECK(number(PLACE(ragged.bare.base), true) == 12);
        CHECK(number(PLACE(ragged.bare.count), false) == 13);
        CHECK(number(PLACE(behind), false) == 14);
        CHECK(at<std::uint64_t>(l, of(PLACE(nowhere))) == 0);
        CHECK(at<std::uint64_t>(l, of(PLACE(raw))) == 0xfedcba9876543210);
        const std::size_t last = of(PLACE(number));
        CHECK((wide ? at<std::int32_t>(l, last) : at<std::int64_t>(l, (last + 7) / 8 * 8)) == 15);
        CHECK(l.relocations.size() == 1);  // neither `Steps` nor no buffer is an address
        REQUIRE(l.members.size() == 19);
    }
}

TEST_CASE("a parameter block says its members as they are declared, with those of structs") {
    pumice_test::builder b;
    b.out({b.leaf(0)});
    const fused f = made(b, {{3, dtype::f32, 6, {20, 4, 1}}});
    launch l;
    std::string text;
    parameter_block to(l, true, "Sample", &text);
    to.add({{"uint first", 1}, {"Places<P, I, 3> places", block::places{f, 3}}});
    const std::string made_here = "I last";
    to.add({{made_here.c_str(), 2}});
    CHECK(text ==
          "    public uint first;\n    public Places<P, I, 3> places;\n    public I last;\n");
    struct {
        std::string slang, structure;
        std::uint32_t at, members;
    } wanted[] = {{"", "Sample", 0, 3},
                  {"", "", 0, 0},
                  {"", "Places", 8, 2},
                  {"I base[P.operands]", "", 8, 0},
                  {"I step[P.operands * R]", "", 24, 0},
                  {"", "", 72, 0}};
    REQUIRE(l.members.size() == std::size(wanted));
    for (std::size_t i = 0; i < std::size(wanted); ++i) {
        CAPTURE(i);
        CHECK(l.members[i].slang == wanted[i].slang);
        CHECK(std::string(l.members[i].structure ? l.members[i].structure : "") ==
              wanted[i].structure);
        CHECK(l.members[i].at == wanted[i].at);
        CHECK(l.members[i].members == wanted[i].members);
    }
}

TEST_CASE("a parameter block: extents are followed by what they are divided by") {
    const shape list{5, 7};
    for (const bool wide : {false, true}) {
        launch l;
        write_block(l, wide, "Sample",
                    {{"uint first", 3}, {"Extents<I, 3> extent", block::extents{list, 3}}});
        const std::size_t size = wide ? 8 : 4, begin = wide ? 8 : 4;
        REQUIRE(l.parameters.size() == begin + 3 * size + 24);
        const std::int64_t lengths[] = {5, 7, 1};
        for (std::size_t i = 0; i < 3; ++i) {
            CHECK((wide ? at<std::int64_t>(l, begin + i * size)
                        : at<std::int32_t>(l, begin + i * size)) == lengths[i]);
            const detail::division by = detail::division_by(lengths[i]);
            CHECK(at<std::uint32_t>(l, begin + 3 * size + 4 * i) == by.factor);
            CHECK(at<std::uint32_t>(l, begin + 3 * size + 12 + 4 * i) == by.shift);
        }
    }
}
