// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Numbers as values of an element type: what an integer type does not hold is an error.
#pragma once

#include <pumice/base/error.hpp>
#include <pumice/core/scalar.hpp>

#include <cstdio>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Writes the number as a value of `type`. Gives nothing, or why an integer type does not hold it.
PUMICE_FUNCTION std::string bring_to(dtype type, const scalar& number, scalar& out);

/// The number as a value of `type`. Throws errc::dtype_mismatch where an integer type does not hold
/// it.
PUMICE_FUNCTION scalar number_in(dtype type, const scalar& number, std::string_view place);

/// A number in a type that elements have.
template <class N>
constexpr auto plain_number(N n) {
    if constexpr (element<N>) return n;
    else if constexpr (std::floating_point<N>) return static_cast<double>(n);
    else if constexpr (std::signed_integral<N>) return static_cast<std::int64_t>(n);
    else return static_cast<std::uint64_t>(n);
}

/// Whether it is a whole number that 64 bits give back as it was: any integer, and floats below
/// 2^53 but for -0.
inline bool is_whole(const scalar& s) {
    if (!is_floating(s.type)) return true;
    const double v = s.as<double>();
    return v > -0x1p53 && v < 0x1p53 && v == static_cast<double>(static_cast<std::int64_t>(v)) &&
           !(v == 0 && s.bits != 0);
}

/// The number as a value of T. Throws as number_in does for integers; numbers of floating point the
/// compiler refuses for them.
template <element T, class N>
scalar typed_number(N number) {
    const auto n = plain_number(number);
    using given = decltype(plain_number(number));
    if constexpr (std::integral<given> && !is_floating(dtype_of<T>) && !std::same_as<T, bool>) {
        constexpr integer_limits held = limits_of(dtype_of<T>), from = limits_of(dtype_of<given>);
        if constexpr (from.min < held.min || from.max > held.max)
            if (!held.holds(n)) return number_in(dtype_of<T>, scalar(n), "number");
    }
    return scalar(dtype_of<T>, n);
}

#ifndef PUMICE_COMPILED

inline std::string text_of(double v, int digits = 6) {
    char text[40];
    std::snprintf(text, sizeof text, "%.*g", digits, v);
    for (char* c = text; *c != '\0'; ++c)
        if (*c == ',') *c = '.';  // of the locale
    return text;
}

PUMICE_BODY std::string bring_to(dtype type, const scalar& number, scalar& out) {
    const double v = number.as<double>();
    const bool real = is_floating(number.type), small = v > -0x1p63 && v < 0x1p63;
    if (real && is_floating(type)) {
        out = scalar(type, v);
        return {};
    }
    const auto as_signed = number.as<std::int64_t>();
    const auto as_unsigned = number.as<std::uint64_t>();
    if (real && (small ? v != static_cast<double>(as_signed) : v != v))
        return cat({"the number ", text_of(v), " is not an integer; ", to_string(type),
                    " holds no others"});
    const bool below = v < 0;
    out = below ? scalar(type, as_signed) : scalar(type, as_unsigned);
    if (is_floating(type) || type == dtype::boolean) return {};
    const integer_limits held = limits_of(type);
    if ((!real || (v >= -0x1p63 && v < 0x1p64)) &&
        (below ? held.holds(as_signed) : held.holds(as_unsigned)))
        return {};
    std::string text = "the number ";
    if (real && !small) text += text_of(v);
    else if (below) append_text(text, {as_signed});
    else append_text(text, {as_unsigned});
    append_text(text, {" does not fit ", to_string(type), ", which holds ", held.min, " to ",
                       held.max, "; a wider type does (astype)"});
    return text;
}

PUMICE_BODY scalar number_in(dtype type, const scalar& number, std::string_view place) {
    scalar value;
    if (const std::string why = bring_to(type, number, value); !why.empty())
        fail(errc::dtype_mismatch, place, {why});
    return value;
}

#endif

}}}  // namespace pumice::PUMICE_ABI::detail
