// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The array API's functions of element types, its constants, and what it says of itself.
#pragma once

#include <pumice/tensor/array_api.hpp>

#include <numbers>

namespace pumice { inline namespace PUMICE_ABI {

namespace constants {
/// Numbers of the array API, as f64: they take the element type of what they are combined with.
inline constexpr double e = std::numbers::e, pi = std::numbers::pi,
                        inf = std::numeric_limits<double>::infinity(),
                        nan = std::numeric_limits<double>::quiet_NaN();
}  // namespace constants

/// The edition of the array API whose names these are.
inline constexpr std::string_view array_api_version = "2024.12";

namespace detail {
inline dtype type_of(dtype t) { return t; }
inline dtype type_of(const any_tensor& x) { return x.dtype(); }
template <array_argument X>
    requires(!std::derived_from<X, any_tensor>)
dtype type_of(const X& x) {
    return x.dtype();
}
}  // namespace detail

/// The type that ops of these tensors and types give. Throws errc::dtype_mismatch where kinds do
/// not mix.
template <class First, class... Rest>
    requires requires(const First& x) { detail::type_of(x); }
dtype result_type(const First& first, const Rest&... rest) {
    dtype common = detail::type_of(first);
    [[maybe_unused]] const auto join = [&](dtype t) {
        const auto both = promote(common, t);
        if (!both)
            fail(errc::dtype_mismatch, "result_type",
                 {to_string(common), " and ", to_string(t), " do not mix; use astype"});
        common = *both;
    };
    (join(detail::type_of(rest)), ...);
    return common;
}
/// The same as a C++ type: `result_type_t<float, double>`.
template <element... T>
using result_type_t = decltype(detail::common_element<T...>());

/// Whether promotion turns `from` (a type or a tensor) into `to`.
template <class From>
bool can_cast(const From& from, dtype to) {
    const auto both = promote(detail::type_of(from), to);
    return both && *both == to;
}

/// Whether a type is of a kind: "bool", "signed integer", "unsigned integer", "integral", "real
/// floating", "complex floating" or "numeric". Throws errc::invalid_argument for another word.
constexpr bool isdtype(dtype type, std::string_view kind_of) {
    const kind k = info(type).kind;
    const bool integral = k == kind::signed_integer || k == kind::unsigned_integer;
    if (kind_of == "bool") return k == kind::boolean;
    if (kind_of == "signed integer") return k == kind::signed_integer;
    if (kind_of == "unsigned integer") return k == kind::unsigned_integer;
    if (kind_of == "integral") return integral;
    if (kind_of == "real floating") return k == kind::floating;
    if (kind_of == "complex floating") return false;
    if (kind_of == "numeric") return k != kind::boolean;
    fail(errc::invalid_argument, "isdtype", {"there is no kind \"", kind_of, "\""});
}
constexpr bool isdtype(dtype type, dtype other) { return type == other; }
/// Of any of several kinds.
constexpr bool isdtype(dtype type, std::initializer_list<std::string_view> kinds) {
    bool any_of = false;
    for (const std::string_view k : kinds) any_of |= isdtype(type, k);
    return any_of;
}

/// What a floating type holds.
struct float_info {
    int bits;
    double eps, max, min, smallest_normal;
    pumice::dtype dtype;
};
/// Throws errc::dtype_mismatch unless the type is floating.
inline float_info finfo(dtype type) {
    int digits = 0, least = 0, greatest = 0;  // bits of the significand, powers of 2
    double top = 0;
    switch (type) {
        case dtype::f64: digits = 53, least = -1022, greatest = 1023; break;
        case dtype::f32: digits = 24, least = -126, greatest = 127; break;
        case dtype::f16: digits = 11, least = -14, greatest = 15; break;
        case dtype::bf16: digits = 8, least = -126, greatest = 127; break;
        case dtype::f8_e5m2: digits = 3, least = -14, greatest = 15; break;
        case dtype::f8_e4m3: digits = 4, least = -6, greatest = 8, top = 448; break;
        default: fail(errc::dtype_mismatch, "finfo", {to_string(type), " is not floating"});
    }
    const auto two_to = [](int n) {
        return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
    };
    const double eps = two_to(1 - digits);
    if (top == 0) top = two_to(greatest) * (2 - eps);
    return {info(type).bits, eps, top, -top, two_to(least), type};
}
template <class X>
float_info finfo(const X& x) {
    return finfo(detail::type_of(x));
}

/// What an integer type holds.
struct integer_info {
    int bits;
    std::uint64_t max;
    std::int64_t min;
    pumice::dtype dtype;
};
/// Throws errc::dtype_mismatch unless the type is an integer.
inline integer_info iinfo(dtype type) {
    if (!isdtype(type, "integral"))
        fail(errc::dtype_mismatch, "iinfo", {to_string(type), " is not an integer"});
    const integer_limits held = limits_of(type);
    return {info(type).bits, held.max, held.min, type};
}
template <class X>
integer_info iinfo(const X& x) {
    return iinfo(detail::type_of(x));
}

/// What the standard asks of a namespace, `__array_namespace_info__`.
struct array_namespace_info {
    /// Masks select, and nonzero and unique work, outside of compiled functions.
    static constexpr bool boolean_indexing = true, data_dependent_shapes = true;
    static constexpr int max_dimensions = max_rank;
    static constexpr dtype default_real_floating = dtype::f32, default_integral = dtype::i64,
                           default_indexing = dtype::i64;

    static context default_device() { return default_context(); }
    /// What there is to compute on, as text.
    static std::string devices() { return default_context().device_report(); }
    /// The element types of a kind (see isdtype).
    static std::vector<dtype> dtypes(std::string_view kind_of) {
        std::vector<dtype> found;
        for (std::size_t i = 0; i < dtype_table.size(); ++i)
            if (isdtype(static_cast<dtype>(i), kind_of)) found.push_back(static_cast<dtype>(i));
        return found;
    }
};

/// Where a tensor lies.
template <class X>
context device(const X& x) {
    return context(x.get()->owner);
}

}}  // namespace pumice::PUMICE_ABI
