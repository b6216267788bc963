// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The floats of 8 bits; tests/reference compares casts with ml_dtypes in every type.
#include <pumice/core/float8.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>

using namespace pumice;

namespace {

template <class F>
struct format;
template <>
struct format<f8_e4m3> {
    static constexpr int mantissa = 3, bias = 7, largest = 0x7e;
};
template <>
struct format<f8_e5m2> {
    static constexpr int mantissa = 2, bias = 15, largest = 0x7b;
};

/// The value of a pattern without sign, by the definition.
template <class F>
double value(int pattern) {
    const int exponent = pattern >> format<F>::mantissa,
              mantissa = pattern & ((1 << format<F>::mantissa) - 1);
    const double fraction = std::ldexp(mantissa, -format<F>::mantissa);
    return exponent == 0 ? std::ldexp(fraction, 1 - format<F>::bias)
                         : std::ldexp(1 + fraction, exponent - format<F>::bias);
}
template <class F>
F of_bits(int bits) {
    F f;
    f.bits = static_cast<std::uint8_t>(bits);
    return f;
}

template <class F>
void check_patterns() {
    int wrong = 0;
    for (int p = 0; p <= format<F>::largest; ++p)
        for (const int sign : {0, 0x80}) {
            const float v = of_bits<F>(p | sign);
            wrong += static_cast<double>(v) != (sign ? -value<F>(p) : value<F>(p));
            wrong += std::signbit(v) != (sign != 0);
            wrong += F(v).bits != (p | sign);
        }
    CHECK(wrong == 0);
}

template <class F>
void check_ties() {
    int wrong = 0;
    for (int p = 0; p < format<F>::largest; ++p) {
        const auto middle = static_cast<float>((value<F>(p) + value<F>(p + 1)) / 2);
        for (const float sign : {1.0f, -1.0f}) {
            const int s = sign < 0 ? 0x80 : 0;
            wrong += F(sign * std::nextafterf(middle, 0)).bits != (p | s);
            wrong += F(sign * middle).bits != ((p + (p & 1)) | s);
            wrong += F(sign * std::nextafterf(middle, HUGE_VALF)).bits != ((p + 1) | s);
        }
    }
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("float8: every finite pattern has the value of its format, and comes back") {
    check_patterns<f8_e4m3>();
    check_patterns<f8_e5m2>();
}

TEST_CASE("float8: between neighbours to the nearest, ties to even") {
    check_ties<f8_e4m3>();
    check_ties<f8_e5m2>();
}

TEST_CASE("float8: NaN and infinities") {
    for (const int sign : {0, 0x80}) {
        CHECK(std::isnan(static_cast<float>(of_bits<f8_e4m3>(sign | 0x7f))));
        CHECK(std::isinf(static_cast<float>(of_bits<f8_e5m2>(sign | 0x7c))));
        for (const int p : {0x7d, 0x7e, 0x7f})
            CHECK(std::isnan(static_cast<float>(of_bits<f8_e5m2>(sign | p))));
    }
    CHECK(f8_e4m3(NAN).bits == 0x7f);
    CHECK(f8_e5m2(NAN).bits == 0x7e);
    CHECK(f8_e4m3(HUGE_VALF).bits == 0x7f);
    CHECK(f8_e5m2(-HUGE_VALF).bits == 0xfc);
}

TEST_CASE("float8: known vectors") {
    // Value, E4M3, E5M2: as ml_dtypes gives them.
    const struct {
        float value;
        int e4m3, e5m2;
    } known[] = {{0.0f, 0x00, 0x00},       {-0.0f, 0x80, 0x80},    {1.0f, 0x38, 0x3c},
                 {-2.0f, 0xc0, 0xc0},      {0.1f, 0x1d, 0x2e},     {1.0f / 3, 0x2b, 0x35},
                 {448.0f, 0x7e, 0x5f},     {464.0f, 0x7e, 0x5f},   {464.00009f, 0x7f, 0x5f},
                 {57344.0f, 0x7f, 0x7b},   {61439.0f, 0x7f, 0x7b}, {61440.0f, 0x7f, 0x7c},
                 {0x1p-6f, 0x08, 0x24},    {0x1p-9f, 0x01, 0x18},  {0x1p-10f, 0x00, 0x14},
                 {0x1.8p-10f, 0x01, 0x16}, {0x1p-16f, 0x00, 0x01}, {0x1p-17f, 0x00, 0x00},
                 {0x1.8p-17f, 0x00, 0x01}, {17.0f, 0x58, 0x4c},    {19.0f, 0x5a, 0x4d},
                 {1e30f, 0x7f, 0x7c}};
    for (const auto& k : known) {
        CHECK_MESSAGE(f8_e4m3(k.value).bits == k.e4m3, k.value);
        CHECK_MESSAGE(f8_e5m2(k.value).bits == k.e5m2, k.value);
    }
    static_assert(f8_e4m3(1.5f).bits == 0x3c && float(f8_e5m2(1.5f)) == 1.5f);
    static_assert(sizeof(f8_e4m3) == 1 && sizeof(f8_e5m2) == 1);
}
