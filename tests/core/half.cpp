// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 against the definition of their formats: every bit pattern, every rounding boundary.
#include <pumice/core/half.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace pumice;

namespace {

struct format {
    const char* name;
    int exponent_bits, mantissa_bits;
    float (*widen)(std::uint16_t);
    std::uint16_t (*narrow)(float);

    int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    std::uint16_t infinity() const {
        return static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
    }
    /// The value as IEEE 754 defines it, by doubles alone. Pre: finite, not negative.
    double value(int pattern) const {
        const int exponent = pattern >> mantissa_bits,
                  mantissa = pattern & ((1 << mantissa_bits) - 1);
        const double fraction = std::ldexp(mantissa, -mantissa_bits);
        return exponent == 0 ? std::ldexp(fraction, 1 - bias())
                             : std::ldexp(1 + fraction, exponent - bias());
    }
};

const format formats[] = {
    {"f16", 5, 10, [](std::uint16_t b) { return detail::half_to_float(b); },
     [](float v) { return detail::float_to_half(v); }},
    {"bf16", 8, 7, [](std::uint16_t b) { return detail::bfloat_to_float(b); },
     [](float v) { return detail::float_to_bfloat(v); }},
};

std::uint32_t bits(float v) { return std::bit_cast<std::uint32_t>(v); }

}  // namespace

TEST_CASE("every finite pattern has the value of its format, and comes back") {
    for (const format& f : formats) {
        int wrong = 0;
        for (int sign = 0; sign < 2; ++sign)
            for (int p = 0; p < f.infinity(); ++p) {
                const auto pattern = static_cast<std::uint16_t>(p | sign << 15);
                const float widened = f.widen(pattern);
                wrong += std::fabs(static_cast<double>(widened)) != f.value(p) ||
                         std::signbit(widened) != (sign == 1);
                wrong += f.narrow(widened) != pattern;
            }
        CHECK_MESSAGE(wrong == 0, std::string(f.name));
    }
}

TEST_CASE("infinities come back, and every NaN stays a quiet NaN of its sign") {
    for (const format& f : formats)
        for (int sign = 0; sign < 2; ++sign) {
            const auto inf = static_cast<std::uint16_t>(f.infinity() | sign << 15);
            CHECK(std::isinf(f.widen(inf)));
            CHECK(std::signbit(f.widen(inf)) == (sign == 1));
            CHECK(f.narrow(f.widen(inf)) == inf);
            int wrong = 0;
            for (int p = inf + 1; (p & 0x7fff) != 0; ++p) {
                wrong += !std::isnan(f.widen(static_cast<std::uint16_t>(p)));
                const std::uint16_t back = f.narrow(f.widen(static_cast<std::uint16_t>(p)));
                wrong += (back & 0x7fff) <= f.infinity() || back >> 15 != sign ||
                         !(back & (1 << (f.mantissa_bits - 1)));
                if ((p & 0x7fff) == 0x7fff) break;
            }
            CHECK_MESSAGE(wrong == 0, std::string(f.name));
        }
}

TEST_CASE("between neighbours: to the nearest, ties to even, on every boundary") {
    for (const format& f : formats) {
        int wrong = 0;
        for (int p = 0; p + 1 < f.infinity(); ++p) {
            // Exact in a float: one bit more than the format has, and above float's own subnormals
            // for f16.
            const auto middle = static_cast<float>((f.value(p) + f.value(p + 1)) / 2);
            if (static_cast<double>(middle) != (f.value(p) + f.value(p + 1)) / 2) continue;
            for (float sign : {1.0f, -1.0f}) {
                const int s = sign < 0 ? 0x8000 : 0;
                wrong += f.narrow(sign * std::nextafterf(middle, 0)) != (p | s);
                wrong += f.narrow(sign * middle) != ((p + (p & 1)) | s);
                wrong += f.narrow(sign * std::nextafterf(middle, HUGE_VALF)) != ((p + 1) | s);
            }
        }
        CHECK_MESSAGE(wrong == 0, std::string(f.name));
    }
}

TEST_CASE("the last boundary rounds to infinity") {
    CHECK(f16(65504.0f).bits == 0x7bff);
    CHECK(f16(65519.996f).bits == 0x7bff);
    CHECK(f16(65520.0f).bits == 0x7c00);
    CHECK(f16(-65520.0f).bits == 0xfc00);
    CHECK(f16(3.4e38f).bits == 0x7c00);
    CHECK(bf16(std::bit_cast<float>(0x7f7f7fffu)).bits == 0x7f7f);
    CHECK(bf16(std::bit_cast<float>(0x7f7f8000u)).bits == 0x7f80);
    CHECK(bf16(std::bit_cast<float>(0xff7fffffu)).bits == 0xff80);
}

TEST_CASE("known vectors") {
    // Value, f16, bf16: as NumPy and ml_dtypes give them.
    const struct {
        float value;
        std::uint16_t half, bfloat;
    } known[] = {
        {0.0f, 0x0000, 0x0000},        {-0.0f, 0x8000, 0x8000},    {1.0f, 0x3c00, 0x3f80},
        {-2.0f, 0xc000, 0xc000},       {0.1f, 0x2e66, 0x3dcd},     {1.0f / 3, 0x3555, 0x3eab},
        {3.14159265f, 0x4248, 0x4049}, {65504.0f, 0x7bff, 0x4780}, {0x1p-14f, 0x0400, 0x3880},
        {0x1p-24f, 0x0001, 0x3380},    {0x1p-25f, 0x0000, 0x3300}, {0x1.8p-25f, 0x0001, 0x3340},
        {2049.0f, 0x6800, 0x4500},     {2051.0f, 0x6802, 0x4500},  {1e-8f, 0x0000, 0x322c},
        {1e30f, 0x7c00, 0x714a},
    };
    for (const auto& k : known) {
        CHECK_MESSAGE(f16(k.value).bits == k.half, k.value);
        CHECK_MESSAGE(bf16(k.value).bits == k.bfloat, k.value);
    }
}

TEST_CASE("conversions are constants") {
    static_assert(f16(1.5f).bits == 0x3e00 && float(f16(1.5f)) == 1.5f);
    static_assert(bf16(1.5f).bits == 0x3fc0 && float(bf16(1.5f)) == 1.5f);
    static_assert(sizeof(f16) == 2 && sizeof(bf16) == 2);
    CHECK(bits(static_cast<float>(f16(-0.0f))) == 0x80000000u);
}
