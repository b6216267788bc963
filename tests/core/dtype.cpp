// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/core/dtype.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace pumice;

namespace {

constexpr dtype f64 = dtype::f64, f32 = dtype::f32, half = dtype::f16, brain = dtype::bf16,
                boolean = dtype::boolean;
constexpr dtype i8 = dtype::i8, i16 = dtype::i16, i32 = dtype::i32, i64 = dtype::i64;
constexpr dtype u8 = dtype::u8, u16 = dtype::u16, u32 = dtype::u32, u64 = dtype::u64;
constexpr dtype e4m3 = dtype::f8_e4m3, e5m2 = dtype::f8_e5m2, s4 = dtype::i4, n4 = dtype::u4;
constexpr dtype every[] = {f64, f32, half, brain, e4m3, e5m2, s4,  i8,     i16,
                           i32, i64, n4,   u8,    u16,  u32,  u64, boolean};

std::string name(std::optional<dtype> t) { return t ? std::string(to_string(*t)) : "-"; }

}  // namespace

TEST_CASE("the integer table of the array API standard") {
    // https://data-apis.org/array-api/latest/API_specification/type_promotion.html
    const dtype signed_types[] = {i8, i16, i32, i64}, unsigned_types[] = {u8, u16, u32, u64};
    const dtype mixed[4][4] = {
        //  u8   u16  u32  u64
        {i16, i32, i64, i64},  // i8 (with u64: undefined, below)
        {i16, i32, i64, i64},  // i16
        {i32, i32, i64, i64},  // i32
        {i64, i64, i64, i64},  // i64
    };
    for (int a = 0; a < 4; ++a)
        for (int b = 0; b < 4; ++b) {
            CHECK(promote(signed_types[a], signed_types[b]) == signed_types[std::max(a, b)]);
            CHECK(promote(unsigned_types[a], unsigned_types[b]) == unsigned_types[std::max(a, b)]);
            const std::optional<dtype> wanted = b == 3 ? std::nullopt : std::optional(mixed[a][b]);
            CHECK_MESSAGE(name(promote(signed_types[a], unsigned_types[b])) == name(wanted),
                          name(signed_types[a]), " with ", name(unsigned_types[b]));
        }
}

TEST_CASE("floats: the wider, and f32 for the two halves") {
    CHECK(promote(f32, f64) == f64);
    CHECK(promote(half, f32) == f32);
    CHECK(promote(brain, f32) == f32);
    CHECK(promote(half, f64) == f64);
    CHECK(promote(half, brain) == f32);
    CHECK(promote(e4m3, half) == half);
    CHECK(promote(brain, e5m2) == brain);
    CHECK(!promote(e4m3, e5m2));  // as ml_dtypes has it
}

TEST_CASE("integers of 4 bits promote like the others") {
    CHECK(promote(s4, i8) == i8);
    CHECK(promote(n4, u8) == u8);
    CHECK(promote(s4, n4) == i8);
    CHECK(promote(n4, i8) == i8);
    CHECK(promote(s4, u8) == i16);
    CHECK(!promote(s4, u64));
}

TEST_CASE("byte offsets: whole bytes, or two elements to one") {
    CHECK(byte_offset(f32, 3) == 12);
    CHECK(byte_end(half, 3) == 6);
    for (const dtype t : {s4, n4}) {
        CHECK(is_packed(t));
        CHECK(byte_offset(t, 0) == 0);
        CHECK(byte_offset(t, 5) == 2);
        CHECK(byte_offset(t, -1) == -1);
        CHECK(byte_end(t, 5) == 3);
        CHECK(byte_end(t, 6) == 3);
        CHECK(starts_byte(t, 4));
        CHECK(!starts_byte(t, 5));
    }
    CHECK(!is_packed(boolean));
    CHECK(starts_byte(e4m3, 1));
}

TEST_CASE("an element is read and written where it lies") {
    std::byte memory[4 * sizeof(double)] = {};
    for (const dtype t : every)
        visit(t, [&]<class T>(T) {
            detail::store_element(memory, 3, T(1));
            CHECK(static_cast<int>(detail::load_element<T>(memory, 3)) == 1);
        });
    std::byte nibbles[16] = {};
    detail::store_element(nibbles, 1, i4(-3));
    CHECK(nibbles[0] == std::byte{0xd0});
    CHECK(int(detail::load_element<i4>(nibbles, 1)) == -3);
    detail::copy_element(dtype::i4, nibbles, 1, nibbles, 2);
    CHECK(nibbles[1] == std::byte{0x0d});
    float reals[2] = {1, 2};
    auto* const bytes = reinterpret_cast<std::byte*>(reals);
    detail::copy_element(dtype::f32, bytes, 1, bytes, 0);
    CHECK(detail::load_element<float>(bytes, 0) == 2);
}

TEST_CASE("kinds do not mix, but signed with unsigned") {
    for (dtype a : every)
        for (dtype b : every) {
            const kind x = info(a).kind, y = info(b).kind;
            const bool integers = x != kind::boolean && y != kind::boolean && x != kind::floating &&
                                  y != kind::floating;
            const bool eights = a != b && info(a).bits == 8 && info(b).bits == 8;
            if (x == y && !(eights && x == kind::floating)) CHECK(promote(a, b).has_value());
            else if (!integers) CHECK_MESSAGE(!promote(a, b), name(a), " with ", name(b));
        }
}

TEST_CASE("promotion is symmetric, idempotent and associative where it is defined") {
    for (dtype a : every) {
        CHECK(promote(a, a) == a);
        for (dtype b : every) {
            CHECK(promote(a, b) == promote(b, a));
            for (dtype c : every) {
                const auto ab = promote(a, b), bc = promote(b, c);
                if (!ab || !bc) continue;
                const auto left = promote(*ab, c), right = promote(a, *bc);
                if (left && right)
                    CHECK_MESSAGE(*left == *right, name(a), " ", name(b), " ", name(c));
            }
        }
    }
}

TEST_CASE("the table agrees with the C++ types") {
    std::set<std::string_view> names, slang;
    for (dtype t : every) {
        names.insert(info(t).name);
        slang.insert(info(t).slang);
        visit(t, [&](auto v) {
            using T = decltype(v);
            CHECK(dtype_of<T> == t);
            CHECK(static_cast<int>(sizeof(T) * 8) == (packed_element<T> ? 8 : info(t).bits));
            const bool real = std::is_floating_point_v<T> || converts_by_float<T>;
            CHECK(is_floating(t) == real);
            if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
                CHECK(info(t).kind ==
                      (std::is_signed_v<T> ? kind::signed_integer : kind::unsigned_integer));
        });
    }
    CHECK(names.size() == 17);
    CHECK(slang.size() == 17);
    CHECK(to_string(boolean) == "bool");
    CHECK(slang_name(arithmetic::i64) == "int64_t");
}

TEST_CASE("element is exact") {
    static_assert(element<float> && element<const float> && element<f16> && element<bool>);
    static_assert(!element<char> && !element<long double> && !element<float*> && !element<float&>);
    CHECK(dtype_of<const double> == f64);
}
