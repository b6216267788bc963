// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Conversions between element types, as core/scalar.hpp states them and as kernels do them.
#include <pumice/core/scalar.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace pumice;

namespace {
constexpr float inf = std::numeric_limits<float>::infinity(),
                quiet = std::numeric_limits<float>::quiet_NaN();
constexpr dtype every[] = {dtype::f64,     dtype::f32, dtype::f16, dtype::bf16,
                           dtype::f8_e4m3, dtype::i4,  dtype::i8,  dtype::i16,
                           dtype::i32,     dtype::i64, dtype::u4,  dtype::u8,
                           dtype::u16,     dtype::u32, dtype::u64, dtype::boolean};
}  // namespace

TEST_CASE("float to integer truncates, saturates, and NaN is 0") {
    CHECK(convert<std::int32_t>(2.9f) == 2);
    CHECK(convert<std::int32_t>(-2.9f) == -2);
    CHECK(convert<std::int8_t>(300.0f) == 127);
    CHECK(convert<std::int8_t>(-300.0f) == -128);
    CHECK(convert<std::uint8_t>(-1.0f) == 0);
    CHECK(convert<std::uint8_t>(255.9f) == 255);
    CHECK(convert<std::uint8_t>(256.0f) == 255);
    CHECK(convert<std::int32_t>(2147483648.0f) == 2147483647);
    CHECK(convert<std::int32_t>(-2147483648.0f) == -2147483647 - 1);
    CHECK(convert<std::int64_t>(9.3e18) == std::numeric_limits<std::int64_t>::max());
    CHECK(convert<std::uint64_t>(1.9e19) == std::numeric_limits<std::uint64_t>::max());
    CHECK(convert<std::uint64_t>(1.8e19) == 18000000000000000000ULL);
    CHECK(convert<std::uint32_t>(quiet) == 0);
    CHECK(convert<std::int64_t>(inf) == std::numeric_limits<std::int64_t>::max());
    CHECK(convert<std::int64_t>(-inf) == std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("4 bits saturate from floats and wrap from integers") {
    for (const float v : {-9.5f, -8.0f, 7.9f, 8.0f, 300.0f, -300.0f, inf, -inf, quiet}) {
        const float whole = v == v ? std::trunc(std::fmin(std::fmax(v, -8.0f), 7.0f)) : 0;
        CHECK(static_cast<float>(int(convert<i4>(v))) == whole);
        CHECK(unsigned(convert<u4>(v)) ==
              (v == v ? unsigned(std::trunc(std::fmin(std::fmax(v, 0), 15))) : 0u));
    }
    CHECK(int(convert<i4>(std::int64_t{9})) == -7);
    CHECK(unsigned(convert<u4>(std::int8_t{-1})) == 15u);
    CHECK(convert<float>(i4(-3)) == -3.0f);
    CHECK(convert<std::uint64_t>(i4(-1)) == std::numeric_limits<std::uint64_t>::max());
    CHECK(convert<bool>(u4(2)));
    CHECK(int(convert<i4>(u4(12))) == -4);
    CHECK(int(convert<i4>(f16(2.5f))) == 2);
    CHECK(int(convert<i4>(true)) == 1);
    CHECK(scalar(i4(-3)).as<int>() == -3);
    CHECK(scalar(dtype::u4, 99.0).as<int>() == 15);
    CHECK(scalar(dtype::f8_e4m3, 17.0).as<float>() == 16.0f);
}

TEST_CASE("integers wrap") {
    CHECK(convert<std::int8_t>(std::int32_t{200}) == -56);
    CHECK(convert<std::uint8_t>(std::int32_t{-1}) == 255);
    CHECK(convert<std::int32_t>(std::uint32_t{0x80000000u}) == -2147483647 - 1);
    CHECK(convert<std::uint64_t>(std::int8_t{-1}) == std::numeric_limits<std::uint64_t>::max());
    CHECK(convert<std::int16_t>(std::int64_t{65537}) == 1);
}

TEST_CASE("to bool is not zero, NaN is true") {
    CHECK(convert<bool>(0.5f));
    CHECK(convert<bool>(quiet));
    CHECK(!convert<bool>(-0.0f));
    CHECK(convert<bool>(std::int64_t{1} << 40));
    CHECK(convert<bool>(f16(0x1p-24f)));
    CHECK(!convert<bool>(bf16(0.0f)));
    CHECK(convert<float>(true) == 1.0f);
    CHECK(convert<std::int8_t>(true) == 1);
}

TEST_CASE("halves round to nearest even, also from double and from wide integers") {
    CHECK(convert<f16>(2049.0f).bits == 0x6800);
    CHECK(convert<f16>(std::int32_t{2051}).bits == 0x6802);
    CHECK(convert<f16>(1e9f).bits == 0x7c00);
    CHECK(convert<std::int32_t>(f16(65504.0f)) == 65504);
    CHECK(convert<bf16>(f16(1.0f)).bits == 0x3f80);
    CHECK(std::isnan(static_cast<float>(convert<bf16>(static_cast<double>(quiet)))));
}

TEST_CASE("a scalar keeps what its type can hold") {
    CHECK(scalar(dtype::i32, 2.0).as<std::int32_t>() == 2);
    CHECK(scalar(3.5f).type == dtype::f32);
    CHECK(scalar(3.5f).as<float>() == 3.5f);
    CHECK(scalar(dtype::u8, 300.0).as<std::uint8_t>() == 255);
    CHECK(scalar(dtype::i8, -1).as<std::int64_t>() == -1);
    CHECK(scalar(dtype::boolean, 7).as<int>() == 1);
    CHECK(scalar(dtype::i64, std::int64_t{1} << 62).as<std::int64_t>() == std::int64_t{1} << 62);
    CHECK(scalar(dtype::f16, 0.1).as<double>() ==
          static_cast<double>(static_cast<float>(f16(0.1f))));
    CHECK(scalar().type == dtype::f32);
    CHECK(scalar().as<float>() == 0);
}

TEST_CASE("its bits are those of the arithmetic type, so that a kernel reads them as they lie") {
    CHECK(scalar(dtype::f16, 1.0f).bits == 0x3f800000u);
    CHECK(scalar(dtype::bf16, 1.0f).bits == 0x3f800000u);
    CHECK(scalar(dtype::i8, -1).bits == 0xffffffffu);
    CHECK(scalar(dtype::i64, -1).bits == 0xffffffffffffffffu);
    CHECK(scalar(dtype::u16, 65535).bits == 0xffffu);
    CHECK(scalar(dtype::f64, 1.0).bits == 0x3ff0000000000000u);
    CHECK(scalar(dtype::boolean, 2).bits == 1);
}

TEST_CASE("every small integer passes through every type that holds it") {
    for (dtype t : every)
        for (int v = 0; v < 2; ++v) {
            CHECK(scalar(t, v).as<int>() == v);
            CHECK(scalar(t, static_cast<double>(v)).as<double>() == v);
        }
    for (dtype t : every) {
        if (t == dtype::boolean) continue;
        const bool few = is_packed(t) || t == dtype::f8_e4m3;
        for (int v = 0; v < (few ? 8 : 128); ++v) CHECK(scalar(t, v).as<std::int64_t>() == v);
    }
}
