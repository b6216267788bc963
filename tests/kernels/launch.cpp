// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A launch as data: the bytes that an operand touches, the parameter block's layout, when indices
// need 64 bits.
#include "support.hpp"

#include <pumice/kernels/launch.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <random>

using namespace pumice;

namespace {

template <class T>
T at(const launch& l, std::size_t byte) {
    T v;
    std::memcpy(&v, l.parameters.data() + byte, sizeof v);
    return v;
}

}  // namespace

TEST_CASE("the range of an operand is from its first byte to its last, whatever its steps") {
    std::mt19937 random(5);
    for (int round = 0; round < 3000; ++round) {
        shape domain;
        for (auto r = random() % 4; r > 0; --r) domain.push_back(std::int64_t(random() % 5));
        operand o{7, random() % 2 ? dtype::f64 : dtype::i8, 500, {}};
        for (int d = 0; d < domain.rank(); ++d) o.steps.push_back(std::int64_t(random() % 41) - 20);
        const pumice::access a = range_of(o, domain, round % 2 == 0);
        const std::int64_t n = element_count(domain), size = info(o.type).bits / 8;
        std::int64_t low = 1 << 20, high = -1;
        for (std::int64_t i = 0; i < n; ++i) {
            std::int64_t rest = i, where = o.offset;
            for (int d = domain.rank() - 1; d >= 0; --d) {
                where += rest % domain[d] * o.steps[d];
                rest /= domain[d];
            }
            low = std::min(low, where * size);
            high = std::max(high, (where + 1) * size);
        }
        CAPTURE(round);
        CHECK(a.buffer == 7);
        CHECK(a.write == (round % 2 == 0));
        if (n == 0) CHECK(a.begin == a.end);
        else {
            CHECK(a.begin == low);
            CHECK(a.end == high);
        }
    }
}

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
        block_writer w(l, wide);
        w.args(f, domain);
        w.offsets(f);
        w.strides_of(f, 2);
        w.integer(77);
        w.address(9, 64);
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
    block_writer(l, false).args(f, {4});
    CHECK(l.parameters.size() == 8);
    CHECK(l.accesses.empty());
    CHECK(l.relocations.empty());
}

TEST_CASE("indices are wide from 2^31 elements on, of an operand or of the domain") {
    const auto wide = [](std::int64_t offset, std::int64_t step, std::int64_t n) {
        return needs_wide_index({{0, dtype::f32, offset, {step}}}, {n});
    };
    CHECK_FALSE(wide(0, 1, 1 << 20));
    CHECK_FALSE(wide(0x7ffffffe, 0, 4));
    CHECK(wide(0x7fffffff, 0, 4));
    CHECK_FALSE(wide(0, 0x7ffffffe, 2));
    CHECK(wide(0, 0x7fffffff, 2));
    CHECK_FALSE(wide(0, -0x7fffffff, 2));
    CHECK(wide(-1, -0x7fffffff, 2));
    CHECK(wide(0, 0, 0x7fffffff));  // nothing but a count of coordinates, which idle groups pass
    CHECK_FALSE(wide(0, 0, 0x7e000000));
    CHECK(needs_wide_index({}, {1 << 16, 1 << 16}));
}
