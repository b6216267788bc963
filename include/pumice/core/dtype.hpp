// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// THE table of element types: a row here and a conformance in shaders/element.slang make a type.
#pragma once

#include <pumice/core/float8.hpp>
#include <pumice/core/packed.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

namespace pumice { inline namespace PUMICE_ABI {

// clang-format off
/// THE rows: enumerator, host type, name in messages, conformance in shaders/element.slang, bits of storage, kind, and
/// the type in which kernels compute.
#define PUMICE_DTYPES(ROW)                                                          \
    ROW(f64,     double,          "f64",     "F64",   64, floating,         f64) \
    ROW(f32,     float,           "f32",     "F32",   32, floating,         f32) \
    ROW(f16,     pumice::f16,     "f16",     "F16",   16, floating,         f32) \
    ROW(bf16,    pumice::bf16,    "bf16",    "BF16",  16, floating,         f32) \
    ROW(f8_e4m3, pumice::f8_e4m3, "f8_e4m3", "E4M3",   8, floating,         f32) \
    ROW(f8_e5m2, pumice::f8_e5m2, "f8_e5m2", "E5M2",   8, floating,         f32) \
    ROW(i4,      pumice::i4,      "i4",      "I4",     4, signed_integer,   i32) \
    ROW(i8,      std::int8_t,     "i8",      "I8",     8, signed_integer,   i32) \
    ROW(i16,     std::int16_t,    "i16",     "I16",   16, signed_integer,   i32) \
    ROW(i32,     std::int32_t,    "i32",     "I32",   32, signed_integer,   i32) \
    ROW(i64,     std::int64_t,    "i64",     "I64",   64, signed_integer,   i64) \
    ROW(u4,      pumice::u4,      "u4",      "U4",     4, unsigned_integer, u32) \
    ROW(u8,      std::uint8_t,    "u8",      "U8",     8, unsigned_integer, u32) \
    ROW(u16,     std::uint16_t,   "u16",     "U16",   16, unsigned_integer, u32) \
    ROW(u32,     std::uint32_t,   "u32",     "U32",   32, unsigned_integer, u32) \
    ROW(u64,     std::uint64_t,   "u64",     "U64",   64, unsigned_integer, u64) \
    ROW(boolean, bool,            "bool",    "Bool",   8, boolean,          boolean)
// clang-format on

#define PUMICE_ROW(ENUMERATOR, ...) ENUMERATOR,
/// Element types, named as the array API names them, in short form.
enum class dtype : std::uint8_t { PUMICE_DTYPES(PUMICE_ROW) };
#undef PUMICE_ROW

/// The array API's kinds; ops state which they take.
enum class kind : std::uint8_t {
    boolean = 1,
    signed_integer = 2,
    unsigned_integer = 4,
    floating = 8
};

/// The type in which kernels compute; storage is a matter of its own.
enum class arithmetic : std::uint8_t { f32, f64, i32, i64, u32, u64, boolean };

/// Bytes of a value that a kernel holds.
constexpr int size_of(arithmetic a) noexcept {
    return a == arithmetic::f64 || a == arithmetic::i64 || a == arithmetic::u64 ? 8 : 4;
}

/// What a row of the element types says.
struct dtype_info {
    std::string_view name;   // in messages and printing
    std::string_view slang;  // the conformance in shaders/element.slang
    int bits;                // storage size of an element, in bits
    pumice::kind kind;
    pumice::arithmetic arithmetic;
};

#define PUMICE_ROW(ENUMERATOR, HOST, NAME, SLANG, BITS, KIND, ARITHMETIC) \
    dtype_info{NAME, SLANG, BITS, kind::KIND, arithmetic::ARITHMETIC},
inline constexpr std::array dtype_table = {PUMICE_DTYPES(PUMICE_ROW)};
#undef PUMICE_ROW

/// The row of an element type.
constexpr const dtype_info& info(dtype type) noexcept {
    return dtype_table[static_cast<std::size_t>(type)];
}
/// "f32" and so on.
constexpr std::string_view to_string(dtype type) noexcept { return info(type).name; }
/// Whether it is a floating-point type, of any size.
constexpr bool is_floating(dtype type) noexcept { return info(type).kind == kind::floating; }
/// What an integer type holds, from least to greatest; of bool 0 and 1.
struct integer_limits {
    std::int64_t min;
    std::uint64_t max;
    template <std::integral N>
    constexpr bool holds(N n) const noexcept {
        if constexpr (std::is_signed_v<N>)
            if (n < 0) return n >= min;
        return static_cast<std::uint64_t>(n) <= max;
    }
};
constexpr integer_limits limits_of(dtype type) noexcept {
    if (type == dtype::boolean) return {0, 1};
    const bool has_sign = info(type).kind == kind::signed_integer;
    const std::uint64_t top = ~std::uint64_t{0} >> (64 - info(type).bits + has_sign);
    return {has_sign ? -static_cast<std::int64_t>(top) - 1 : 0, top};
}
/// Whether several elements share a byte: the first lies in its low bits.
constexpr bool is_packed(dtype type) noexcept { return info(type).bits < 8; }

/// THE place of element i of an array: the byte in which it begins.
constexpr std::int64_t byte_offset(dtype type, std::int64_t i) noexcept {
    return (i * info(type).bits) >> 3;
}
/// Whether element i begins with its byte.
constexpr bool starts_byte(dtype type, std::int64_t i) noexcept {
    return (i * info(type).bits & 7) == 0;
}
/// Bytes to the end of the one in which the last of `count` elements ends; unchecked (byte_count).
constexpr std::int64_t byte_end(dtype type, std::int64_t count) noexcept {
    return (count * info(type).bits + 7) >> 3;
}

/// The Slang (and, for these, C) name of an arithmetic type.
constexpr std::string_view slang_name(arithmetic type) noexcept {
    constexpr std::string_view names[] = {"float", "double",   "int", "int64_t",
                                          "uint",  "uint64_t", "bool"};
    return names[static_cast<std::size_t>(type)];
}

/// Array API type promotion; empty where the standard leaves the mix undefined (bool with
/// numbers, integers with floats, u64 with signed): such operands need an `astype`.
/// f16 with bf16 gives f32, the smallest type that holds both; floats of 8 bits do not mix.
constexpr std::optional<dtype> promote(dtype a, dtype b) noexcept {
    if (a == b) return a;
    const dtype_info &x = info(a), &y = info(b);
    if (x.kind == kind::floating && y.kind == kind::floating) {
        if (x.bits == y.bits) return x.bits < 16 ? std::nullopt : std::optional(dtype::f32);
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
        case 4: return dtype::i8;
        case 8: return dtype::i16;
        case 16: return dtype::i32;
        case 32: return dtype::i64;
        default: return std::nullopt;
    }
}

namespace detail {
template <class T> struct dtype_row;
template <dtype Type> struct element_for;
#define PUMICE_ROW(ENUMERATOR, HOST, ...)                 \
    template <> struct dtype_row<HOST> {                  \
        static constexpr dtype value = dtype::ENUMERATOR; \
    };                                                    \
    template <> struct element_for<dtype::ENUMERATOR> {   \
        using type = HOST;                                \
    };
PUMICE_DTYPES(PUMICE_ROW)
#undef PUMICE_ROW
}  // namespace detail

/// A C++ type that is the host form of an element type.
template <class T>
concept element = requires { detail::dtype_row<std::remove_cv_t<T>>::value; };

/// The element type of a C++ type: `dtype_of<float>` is dtype::f32.
template <element T>
inline constexpr dtype dtype_of = detail::dtype_row<std::remove_cv_t<T>>::value;

/// A host form that is a struct of bits, which converts to and from float.
template <class T>
concept converts_by_float =
    element<T> && std::is_class_v<std::remove_cv_t<T>> && is_floating(dtype_of<T>);

/// A host form of an element that shares its byte in memory (core/packed.hpp).
template <class T>
concept packed_element = element<T> && is_packed(dtype_of<T>);

namespace detail {

/// Element i of an array in memory, as it lies there.
template <element T>
T load_element(const std::byte* memory, std::int64_t i) noexcept {
    if constexpr (packed_element<T>) {
        return T(nibble_at(memory, i));
    } else {
        T value;
        std::memcpy(static_cast<void*>(&value), memory + i * std::int64_t{sizeof value},
                    sizeof value);
        return value;
    }
}
/// to[j] = from[i]
inline void copy_element(dtype type, const std::byte* from, std::int64_t i, std::byte* to,
                         std::int64_t j) noexcept {
    if (is_packed(type)) put_nibble(to, j, nibble_at(from, i));
    else
        std::memcpy(to + byte_offset(type, j), from + byte_offset(type, i),
                    static_cast<std::size_t>(byte_offset(type, 1)));
}
template <element T>
void store_element(std::byte* memory, std::int64_t i, const T& value) noexcept {
    if constexpr (packed_element<T>)
        put_nibble(memory, i, static_cast<unsigned>(static_cast<int>(value)));
    else std::memcpy(memory + i * std::int64_t{sizeof value}, &value, sizeof value);
}

}  // namespace detail

/// Calls `f(T{})` with the host type of `type`: the way from a run-time dtype to a template.
template <class F>
constexpr decltype(auto) visit(dtype type, F&& f) {
#define PUMICE_ROW(ENUMERATOR, HOST, ...) \
    case dtype::ENUMERATOR: return f(HOST{});
    switch (type) { PUMICE_DTYPES(PUMICE_ROW) }
#undef PUMICE_ROW
    return f(bool{});
}

}}  // namespace pumice::PUMICE_ABI
