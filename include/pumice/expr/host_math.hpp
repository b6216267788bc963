// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The functions that op bodies may call, as the host computes them; shaders/math.slang holds their
// twins of the same names. Integer cases follow NumPy: x / 0 is 0, overflow wraps, nothing traps.
#pragma once

#include <pumice/core/dtype.hpp>

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#ifndef __GNUC__
#include <cmath>
#endif

namespace pumice { inline namespace PUMICE_ABI {

/// A signed integer whose arithmetic wraps, as the GPU's does; the host's arithmetic type of
/// i8..i64.
template <std::signed_integral I>
struct wrapping {
    using unsigned_type = std::make_unsigned_t<I>;
    I value = 0;

    constexpr wrapping() noexcept = default;
    constexpr wrapping(I v) noexcept : value(v) {}
    template <std::integral J>
        requires(!std::same_as<I, J>)
    constexpr explicit wrapping(J v) noexcept : value(static_cast<I>(v)) {}

    static constexpr wrapping from(unsigned_type bits) noexcept { return static_cast<I>(bits); }
    constexpr unsigned_type bits() const noexcept { return static_cast<unsigned_type>(value); }

    friend constexpr wrapping operator+(wrapping a, wrapping b) noexcept {
        return from(a.bits() + b.bits());
    }
    friend constexpr wrapping operator-(wrapping a, wrapping b) noexcept {
        return from(a.bits() - b.bits());
    }
    friend constexpr wrapping operator*(wrapping a, wrapping b) noexcept {
        return from(a.bits() * b.bits());
    }
    friend constexpr wrapping operator&(wrapping a, wrapping b) noexcept {
        return from(a.bits() & b.bits());
    }
    friend constexpr wrapping operator|(wrapping a, wrapping b) noexcept {
        return from(a.bits() | b.bits());
    }
    friend constexpr wrapping operator^(wrapping a, wrapping b) noexcept {
        return from(a.bits() ^ b.bits());
    }
    friend constexpr wrapping operator-(wrapping a) noexcept {
        return from(unsigned_type(0) - a.bits());
    }
    friend constexpr wrapping operator~(wrapping a) noexcept { return from(~a.bits()); }
    friend constexpr auto operator<=>(wrapping, wrapping) noexcept = default;
};

namespace detail::libm {

#ifdef __GNUC__
// The compiler's own spelling of <math.h>: with <cmath> come the special functions of C++17, a
// tenth of the front's compile time.
#define PUMICE_LIBM_1(NAME)                                       \
    inline float NAME(float x) { return __builtin_##NAME##f(x); } \
    inline double NAME(double x) { return __builtin_##NAME(x); }
#define PUMICE_LIBM_2(NAME)                                                   \
    inline float NAME(float x, float y) { return __builtin_##NAME##f(x, y); } \
    inline double NAME(double x, double y) { return __builtin_##NAME(x, y); }
// clang-format off
PUMICE_LIBM_1(fabs) PUMICE_LIBM_1(sqrt) PUMICE_LIBM_1(cbrt) PUMICE_LIBM_1(exp)
PUMICE_LIBM_1(exp2) PUMICE_LIBM_1(expm1) PUMICE_LIBM_1(log) PUMICE_LIBM_1(log2)
PUMICE_LIBM_1(log10) PUMICE_LIBM_1(log1p) PUMICE_LIBM_1(sin) PUMICE_LIBM_1(cos)
PUMICE_LIBM_1(tan) PUMICE_LIBM_1(asin) PUMICE_LIBM_1(acos) PUMICE_LIBM_1(atan)
PUMICE_LIBM_1(sinh) PUMICE_LIBM_1(cosh) PUMICE_LIBM_1(tanh) PUMICE_LIBM_1(asinh)
PUMICE_LIBM_1(acosh) PUMICE_LIBM_1(atanh) PUMICE_LIBM_1(floor) PUMICE_LIBM_1(ceil)
PUMICE_LIBM_1(trunc) PUMICE_LIBM_1(nearbyint) PUMICE_LIBM_1(erf) PUMICE_LIBM_1(erfc)
PUMICE_LIBM_2(copysign) PUMICE_LIBM_2(fmod) PUMICE_LIBM_2(pow) PUMICE_LIBM_2(hypot)
PUMICE_LIBM_2(atan2)
// clang-format on
#undef PUMICE_LIBM_1
#undef PUMICE_LIBM_2
                                    template <std::floating_point T> bool isinf(T x) {
    return __builtin_isinf(x) != 0;
}
template <std::floating_point T> bool signbit(T x) { return __builtin_signbit(x) != 0; }
#else
// clang-format off
using std::fabs; using std::sqrt; using std::cbrt; using std::exp; using std::exp2;
using std::expm1; using std::log; using std::log2; using std::log10; using std::log1p;
using std::sin; using std::cos; using std::tan; using std::asin; using std::acos;
using std::atan; using std::sinh; using std::cosh; using std::tanh; using std::asinh;
using std::acosh; using std::atanh; using std::floor; using std::ceil; using std::trunc;
using std::nearbyint; using std::erf; using std::copysign; using std::fmod; using std::pow;
using std::hypot; using std::atan2; using std::isinf; using std::signbit;
// clang-format on
#endif

}  // namespace detail::libm

namespace host_math {

namespace libm = pumice::detail::libm;

template <class T>
concept floating = std::floating_point<T>;
template <class T>
concept integer = !floating<T>;

template <floating T> bool pm_isnan(T x) { return x != x; }
template <integer T> constexpr bool pm_isnan(T) { return false; }
template <floating T> bool pm_isinf(T x) { return libm::isinf(x); }
template <integer T> constexpr bool pm_isinf(T) { return false; }
template <floating T> bool pm_signbit(T x) { return libm::signbit(x); }

template <floating T> T pm_abs(T x) { return libm::fabs(x); }
template <std::unsigned_integral T> T pm_abs(T x) { return x; }
template <class I> wrapping<I> pm_abs(wrapping<I> x) { return x.value < 0 ? -x : x; }

template <floating T> T pm_sign(T x) { return pm_isnan(x) ? x : T((x > 0) - (x < 0)); }
template <std::unsigned_integral T> T pm_sign(T x) { return x > 0 ? 1 : 0; }
template <class I> wrapping<I> pm_sign(wrapping<I> x) {
    return static_cast<I>((x.value > 0) - (x.value < 0));
}

template <floating T> T pm_divide(T x, T y) { return x / y; }
template <std::unsigned_integral T> T pm_divide(T x, T y) { return y == 0 ? T(0) : T(x / y); }
template <class I> wrapping<I> pm_divide(wrapping<I> x, wrapping<I> y) {
    if (y.value == 0) return I(0);
    return y.value == -1 ? -x : wrapping<I>(static_cast<I>(x.value / y.value));
}
template <floating T> T pm_fmod(T x, T y) { return libm::fmod(x, y); }
template <std::unsigned_integral T> T pm_fmod(T x, T y) { return y == 0 ? T(0) : T(x % y); }
template <class I> wrapping<I> pm_fmod(wrapping<I> x, wrapping<I> y) {
    if (y.value == 0 || y.value == -1) return I(0);
    return static_cast<I>(x.value % y.value);
}
/// The remainder with the sign of the divisor (Python, ONNX Mod with fmod=0).
template <floating T> T pm_remainder(T x, T y) {
    const T m = libm::fmod(x, y);
    if (m == 0) return libm::copysign(T(0), y);
    return (m < 0) != (y < 0) ? m + y : m;
}
template <std::unsigned_integral T> T pm_remainder(T x, T y) { return pm_fmod(x, y); }
template <class I> wrapping<I> pm_remainder(wrapping<I> x, wrapping<I> y) {
    const wrapping<I> m = pm_fmod(x, y);
    return m.value != 0 && (m.value < 0) != (y.value < 0) ? m + y : m;
}
/// NumPy's floor division of floats: derived from the exact remainder, x / 0 is +-Inf or NaN.
template <floating T> T pm_floor_divide(T x, T y) {
    if (y == 0) return x / y;
    const T m = libm::fmod(x, y);
    T q = (x - m) / y;
    if (m != 0 && (m < 0) != (y < 0)) q -= T(1);
    if (q == 0) return libm::copysign(T(0), x / y);
    const T f = libm::floor(q);
    return q - f > T(0.5) ? f + T(1) : f;
}
template <std::unsigned_integral T> T pm_floor_divide(T x, T y) { return pm_divide(x, y); }
template <class I> wrapping<I> pm_floor_divide(wrapping<I> x, wrapping<I> y) {
    const wrapping<I> q = pm_divide(x, y), m = pm_fmod(x, y);
    return m.value != 0 && (m.value < 0) != (y.value < 0) ? q - wrapping<I>(I(1)) : q;
}

template <floating T> T pm_pow(T x, T y) { return libm::pow(x, y); }
template <std::unsigned_integral T> T pm_pow(T x, T y) {
    T result = 1;
    for (; y != 0; y = T(y >> 1), x = T(x * x))
        if (y & 1) result = T(result * x);
    return result;
}
/// Negative exponents: 1 and -1 have an integer power, everything else is 0.
template <class I> wrapping<I> pm_pow(wrapping<I> x, wrapping<I> y) {
    using U = typename wrapping<I>::unsigned_type;
    if (y.value >= 0) return wrapping<I>::from(pm_pow(x.bits(), static_cast<U>(y.value)));
    if (x.value == 1) return I(1);
    return x.value == -1 ? wrapping<I>((y.value & 1) ? I(-1) : I(1)) : wrapping<I>(I(0));
}

/// Shifts by the width or more (or by a negative count) give 0, or -1 for a negative value shifted
/// right.
template <std::unsigned_integral T> T pm_shift_left(T x, T n) {
    return n < sizeof(T) * 8 ? T(x << n) : T(0);
}
template <class I> wrapping<I> pm_shift_left(wrapping<I> x, wrapping<I> n) {
    return wrapping<I>::from(pm_shift_left(x.bits(), n.bits()));
}
template <std::unsigned_integral T> T pm_shift_right(T x, T n) {
    return n < sizeof(T) * 8 ? T(x >> n) : T(0);
}
template <class I> wrapping<I> pm_shift_right(wrapping<I> x, wrapping<I> n) {
    constexpr I last = sizeof(I) * 8 - 1;
    return static_cast<I>(x.value >> (n.value < 0 || n.value > last ? last : n.value));
}

template <floating T> T pm_copysign(T x, T y) { return libm::copysign(x, y); }
/// The next number after x towards y (IEEE 754 nextUp, from its bits).
template <floating T> T pm_nextafter(T x, T y) {
    using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    if (pm_isnan(x) || pm_isnan(y)) return x + y;
    if (x == y) return y;
    if (x == 0) return libm::copysign(std::bit_cast<T>(bits(1)), y);
    const bits b = std::bit_cast<bits>(x);
    return std::bit_cast<T>(bits((x < y) == (x > 0) ? b + 1 : b - 1));
}

template <floating T> T pm_sqrt(T x) { return libm::sqrt(x); }
template <floating T> T pm_cbrt(T x) { return libm::cbrt(x); }
template <floating T> T pm_hypot(T x, T y) { return libm::hypot(x, y); }
template <floating T> T pm_exp(T x) { return libm::exp(x); }
template <floating T> T pm_exp2(T x) { return libm::exp2(x); }
template <floating T> T pm_expm1(T x) { return libm::expm1(x); }
template <floating T> T pm_log(T x) { return libm::log(x); }
template <floating T> T pm_log2(T x) { return libm::log2(x); }
template <floating T> T pm_log10(T x) { return libm::log10(x); }
template <floating T> T pm_log1p(T x) { return libm::log1p(x); }
template <floating T> T pm_logaddexp(T x, T y) {
    if (x == y) return x + T(0.6931471805599453);
    const T hi = x > y ? x : y, lo = x > y ? y : x;
    return pm_isnan(x) || pm_isnan(y) ? x + y : hi + libm::log1p(libm::exp(lo - hi));
}
template <floating T> T pm_sin(T x) { return libm::sin(x); }
template <floating T> T pm_cos(T x) { return libm::cos(x); }
template <floating T> T pm_tan(T x) { return libm::tan(x); }
template <floating T> T pm_asin(T x) { return libm::asin(x); }
template <floating T> T pm_acos(T x) { return libm::acos(x); }
template <floating T> T pm_atan(T x) { return libm::atan(x); }
template <floating T> T pm_atan2(T y, T x) { return libm::atan2(y, x); }
template <floating T> T pm_sinh(T x) { return libm::sinh(x); }
template <floating T> T pm_cosh(T x) { return libm::cosh(x); }
template <floating T> T pm_tanh(T x) { return libm::tanh(x); }
template <floating T> T pm_asinh(T x) { return libm::asinh(x); }
template <floating T> T pm_acosh(T x) { return libm::acosh(x); }
template <floating T> T pm_atanh(T x) { return libm::atanh(x); }
template <floating T> T pm_floor(T x) { return libm::floor(x); }
template <floating T> T pm_ceil(T x) { return libm::ceil(x); }
template <floating T> T pm_trunc(T x) { return libm::trunc(x); }
/// Half to even, as NumPy and ONNX round.
template <floating T> T pm_round(T x) { return libm::nearbyint(x); }

template <integer T> T pm_floor(T x) { return x; }
template <integer T> T pm_ceil(T x) { return x; }
template <integer T> T pm_trunc(T x) { return x; }
template <integer T> T pm_round(T x) { return x; }

template <floating T> T pm_erf(T x) { return libm::erf(x); }
/// x times the normal distribution's share below x (Hendrycks and Gimpel, arXiv 1606.08415); of
/// -Inf the limit, 0.
template <floating T> T pm_gelu(T x) {
    return x < T(-40) ? -T(0) : T(0.5) * x * libm::erfc(x * T(-0.7071067811865476));
}
/// 1 / (1 + e^-x) without overflow at either end.
template <floating T> T pm_sigmoid(T x) {
    const T e = libm::exp(-libm::fabs(x));
    return x < 0 ? e / (T(1) + e) : T(1) / (T(1) + e);
}
/// log(1 + e^x) without overflow.
template <floating T> T pm_softplus(T x) {
    return pm_isnan(x) ? x : (x > 0 ? x : T(0)) + libm::log1p(libm::exp(-libm::fabs(x)));
}
/// The first 32 bits of Philox4x32-10 at counter {x, 0, 0, 0} under the key {key, 0} (Salmon et
/// al., SC11).
template <std::unsigned_integral T> T pm_philox(T x, T key) {
    std::uint32_t c[4] = {static_cast<std::uint32_t>(x),
                          static_cast<std::uint32_t>(std::uint64_t(x) >> 32), 0, 0};
    std::uint32_t k[2] = {static_cast<std::uint32_t>(key),
                          static_cast<std::uint32_t>(std::uint64_t(key) >> 32)};
#pragma GCC unroll 10  // then all is in registers
    for (int round = 0; round < 10; ++round, k[0] += 0x9e3779b9u, k[1] += 0xbb67ae85u) {
        const std::uint64_t a = 0xd2511f53ull * c[0], b = 0xcd9e8d57ull * c[2];
        const std::uint32_t next[4] = {
            static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(b),
            static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(a)};
        for (int i = 0; i < 4; ++i) c[i] = next[i];
    }
    return T(c[0]);
}
/// Clips to [0, 1]; NaN stays.
template <floating T> T pm_unit_clip(T x) { return x < 0 ? T(0) : (x > 1 ? T(1) : x); }

}  // namespace host_math

namespace detail {

/// The host's type for each arithmetic type.
template <arithmetic A> struct host_arithmetic_of;
template <> struct host_arithmetic_of<arithmetic::f32> {
    using type = float;
};
template <> struct host_arithmetic_of<arithmetic::f64> {
    using type = double;
};
template <> struct host_arithmetic_of<arithmetic::i32> {
    using type = wrapping<std::int32_t>;
};
template <> struct host_arithmetic_of<arithmetic::i64> {
    using type = wrapping<std::int64_t>;
};
template <> struct host_arithmetic_of<arithmetic::u32> {
    using type = std::uint32_t;
};
template <> struct host_arithmetic_of<arithmetic::u64> {
    using type = std::uint64_t;
};
template <> struct host_arithmetic_of<arithmetic::boolean> {
    using type = bool;
};
}  // namespace detail

template <arithmetic A>
using host_arithmetic = typename detail::host_arithmetic_of<A>::type;

}}  // namespace pumice::PUMICE_ABI
