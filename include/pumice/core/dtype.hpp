// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// THE table of element types: a row here and a conformance in shaders/core.slang make a type.
#pragma once

#include <pumice/core/half.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace pumice::inline PUMICE_ABI {

/// Element types, named as the array API names them, in short form.
enum class dtype : std::uint8_t {
    f64,
    f32,
    f16,
    bf16,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
    boolean
};

/// The array API's kinds; ops state which they take.
enum class kind : std::uint8_t {
    boolean = 1,
    signed_integer = 2,
    unsigned_integer = 4,
    floating = 8
};

/// The type in which kernels compute; storage is a matter of its own.
enum class arithmetic : std::uint8_t { f32, f64, i32, i64, u32, u64, boolean };

struct dtype_info {
    std::string_view name;   // in messages and printing
    std::string_view slang;  // the conformance in shaders/core.slang
    int bits;                // storage size of an element, in bits
    pumice::kind kind;
    pumice::arithmetic arithmetic;
};

// clang-format off
inline constexpr std::array<dtype_info, 13> dtype_table{{
    {"f64",  "F64",  64, kind::floating,         arithmetic::f64},
    {"f32",  "F32",  32, kind::floating,         arithmetic::f32},
    {"f16",  "F16",  16, kind::floating,         arithmetic::f32},
    {"bf16", "BF16", 16, kind::floating,         arithmetic::f32},
    {"i8",   "I8",    8, kind::signed_integer,   arithmetic::i32},
    {"i16",  "I16",  16, kind::signed_integer,   arithmetic::i32},
    {"i32",  "I32",  32, kind::signed_integer,   arithmetic::i32},
    {"i64",  "I64",  64, kind::signed_integer,   arithmetic::i64},
    {"u8",   "U8",    8, kind::unsigned_integer, arithmetic::u32},
    {"u16",  "U16",  16, kind::unsigned_integer, arithmetic::u32},
    {"u32",  "U32",  32, kind::unsigned_integer, arithmetic::u32},
    {"u64",  "U64",  64, kind::unsigned_integer, arithmetic::u64},
    {"bool", "Bool",  8, kind::boolean,          arithmetic::boolean},
}};
// clang-format on

constexpr const dtype_info& info(dtype type) noexcept {
    return dtype_table[static_cast<std::size_t>(type)];
}
constexpr std::string_view to_string(dtype type) noexcept { return info(type).name; }
constexpr bool is_floating(dtype type) noexcept { return info(type).kind == kind::floating; }

/// The Slang (and, for these, C) name of an arithmetic type.
constexpr std::string_view slang_name(arithmetic type) noexcept {
    constexpr std::string_view names[] = {"float", "double",   "int", "int64_t",
                                          "uint",  "uint64_t", "bool"};
    return names[static_cast<std::size_t>(type)];
}

/// Array API type promotion; empty where the standard leaves the mix undefined (bool with
/// numbers, integers with floats, u64 with signed): such operands need an `astype`.
/// f16 with bf16 gives f32, the smallest type that holds both.
constexpr std::optional<dtype> promote(dtype a, dtype b) noexcept {
    if (a == b) return a;
    const dtype_info &x = info(a), &y = info(b);
    if (x.kind == kind::floating && y.kind == kind::floating) {
        if (x.bits == y.bits) return dtype::f32;
        return x.bits > y.bits ? a : b;
    }
    if (x.kind == y.kind) return x.bits > y.bits ? a : b;
    const bool integers = x.kind != kind::boolean && y.kind != kind::boolean &&
                          x.kind != kind::floating && y.kind != kind::floating;
    if (!integers) return std::nullopt;
    const dtype signed_one = x.kind == kind::signed_integer ? a : b;
    const int unsigned_bits = x.kind == kind::unsigned_integer ? x.bits : y.bits;
    if (info(signed_one).bits > unsigned_bits) return signed_one;
    switch (unsigned_bits) {
        case 8: return dtype::i16;
        case 16: return dtype::i32;
        case 32: return dtype::i64;
        default: return std::nullopt;
    }
}

namespace detail {
template <class T> struct dtype_row;
template <> struct dtype_row<double> {
    static constexpr dtype value = dtype::f64;
};
template <> struct dtype_row<float> {
    static constexpr dtype value = dtype::f32;
};
template <> struct dtype_row<f16> {
    static constexpr dtype value = dtype::f16;
};
template <> struct dtype_row<bf16> {
    static constexpr dtype value = dtype::bf16;
};
template <> struct dtype_row<std::int8_t> {
    static constexpr dtype value = dtype::i8;
};
template <> struct dtype_row<std::int16_t> {
    static constexpr dtype value = dtype::i16;
};
template <> struct dtype_row<std::int32_t> {
    static constexpr dtype value = dtype::i32;
};
template <> struct dtype_row<std::int64_t> {
    static constexpr dtype value = dtype::i64;
};
template <> struct dtype_row<std::uint8_t> {
    static constexpr dtype value = dtype::u8;
};
template <> struct dtype_row<std::uint16_t> {
    static constexpr dtype value = dtype::u16;
};
template <> struct dtype_row<std::uint32_t> {
    static constexpr dtype value = dtype::u32;
};
template <> struct dtype_row<std::uint64_t> {
    static constexpr dtype value = dtype::u64;
};
template <> struct dtype_row<bool> {
    static constexpr dtype value = dtype::boolean;
};
}  // namespace detail

/// A C++ type that is the host form of an element type.
template <class T>
concept element = requires { detail::dtype_row<std::remove_cv_t<T>>::value; };

template <element T>
inline constexpr dtype dtype_of = detail::dtype_row<std::remove_cv_t<T>>::value;

/// Calls `f(T{})` with the host type of `type`: the way from a run-time dtype to a template.
template <class F>
constexpr decltype(auto) visit(dtype type, F&& f) {
    switch (type) {
        case dtype::f64: return f(double{});
        case dtype::f32: return f(float{});
        case dtype::f16: return f(f16{});
        case dtype::bf16: return f(bf16{});
        case dtype::i8: return f(std::int8_t{});
        case dtype::i16: return f(std::int16_t{});
        case dtype::i32: return f(std::int32_t{});
        case dtype::i64: return f(std::int64_t{});
        case dtype::u8: return f(std::uint8_t{});
        case dtype::u16: return f(std::uint16_t{});
        case dtype::u32: return f(std::uint32_t{});
        case dtype::u64: return f(std::uint64_t{});
        case dtype::boolean: break;
    }
    return f(bool{});
}

}  // namespace pumice::inline PUMICE_ABI
