// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Which fragments multiply values of two types.
#include <pumice/kernels/fragments.hpp>

#include <doctest/doctest.h>

using namespace pumice;
using pumice::detail::fragments_of;

TEST_CASE("fragments: each pair of types has one kind, or none") {
    using enum reduced_precision;
    for (const dtype t : {dtype::f16, dtype::bf16, dtype::i8, dtype::u8}) {
        REQUIRE(fragments_of(t, t, none));
        CHECK(fragments_of(t, t, none)->held == t);
        CHECK(fragments_of(t, t, none)->parts == 1);
        CHECK_FALSE(fragments_of(t, dtype::f32, none));
    }
    CHECK(fragments_of(dtype::f8_e4m3, dtype::f16, none) ==
          fragments_of(dtype::f16, dtype::f16, none));
    CHECK_FALSE(fragments_of(dtype::i8, dtype::u8, none));
    CHECK_FALSE(fragments_of(dtype::f32, dtype::f32, none));
    CHECK_FALSE(fragments_of(dtype::f64, dtype::f64, bf16_3x));
    CHECK(fragments_of(dtype::f32, dtype::f32, bf16_3x)->parts == 2);
    CHECK(fragments_of(dtype::f16, dtype::f16, f16_accumulation)->sum == dtype::f16);
    CHECK_FALSE(fragments_of(dtype::bf16, dtype::bf16, f16_accumulation));
    CHECK_FALSE(fragments_of(dtype::f8_e4m3, dtype::f8_e4m3, f16_accumulation));
}

TEST_CASE("fragments: elements of 16 bytes, and what Slang calls them") {
    const auto of = [](dtype t, reduced_precision p = reduced_precision::none) {
        return *fragments_of(t, t, p);
    };
    CHECK(of(dtype::f16).lanes() == 8);
    CHECK(of(dtype::f16).sums() == 4);
    CHECK(of(dtype::i8).lanes() == 16);
    CHECK(of(dtype::i8).deeper() == 2);
    CHECK(of(dtype::f16, reduced_precision::f16_accumulation).sums() == 8);
    const auto names = [](const detail::fragments& f, arithmetic sum) {
        return cat({slang_name(f, sum), " of ", chunk_name(f, sum)});
    };
    CHECK(names(of(dtype::bf16), arithmetic::f32) == "Halves<Bfloat> of Packed<Bfloat>");
    CHECK(names(of(dtype::u8), arithmetic::i32) == "Bytes<uint8_t,uint,int> of PackedBytes<int>");
    CHECK(names(of(dtype::f16, reduced_precision::f16_accumulation), arithmetic::f32) ==
          "HalfSums of Packed<Half>");
    CHECK(names(of(dtype::f32, reduced_precision::bf16_3x), arithmetic::f32) ==
          "Split of Plain<float>");
}
