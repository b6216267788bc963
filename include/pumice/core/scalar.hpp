// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A single value of a run-time element type, and conversion between element types on the host.
#pragma once

#include <pumice/core/dtype.hpp>

#include <cstring>
#include <limits>

namespace pumice::inline PUMICE_ABI {

/// Converts as kernels do: float to integer saturates and NaN gives 0, integers wrap, anything
/// to bool is "not zero" (NaN is true), to a half type rounds to nearest even.
template <element To, element From>
constexpr To convert(From value) noexcept {
    if constexpr (std::is_same_v<To, From>) {
        return value;
    } else if constexpr (converts_by_float<From>) {
        return convert<To>(static_cast<float>(value));
    } else if constexpr (std::is_same_v<To, bool>) {
        return value != From(0);
    } else if constexpr (converts_by_float<To>) {
        return To(static_cast<float>(value));
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        if (value != value) return To(0);
        constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
        constexpr From high = static_cast<From>(std::numeric_limits<To>::max());
        if (value <= low) return std::numeric_limits<To>::min();
        if (value >= high) return std::numeric_limits<To>::max();
        return static_cast<To>(value);
    } else {
        return static_cast<To>(value);
    }
}

/// A value with its element type, held in the arithmetic type of that element type.
struct scalar {
    dtype type = dtype::f32;
    std::uint64_t bits = 0;  // the arithmetic value, in the low bytes

    scalar() = default;
    /// Of type `t`, converted from any C++ number.
    template <element T>
    scalar(dtype t, T value) : type(t) {
        visit(t, [&](auto to) { set(static_cast_arithmetic(convert<decltype(to)>(value))); });
    }
    template <element T>
    explicit scalar(T value) : scalar(dtype_of<T>, value) {}

    template <element T>
    T as() const {
        return visit(type, [&](auto from) {
            decltype(static_cast_arithmetic(from)) value{};
            std::memcpy(&value, &bits, sizeof value);
            return convert<T>(value);
        });
    }

private:
    template <element T>
    static auto static_cast_arithmetic(T value) {
        constexpr arithmetic a = info(dtype_of<T>).arithmetic;
        if constexpr (a == arithmetic::f32) return static_cast<float>(value);
        else if constexpr (a == arithmetic::i32) return static_cast<std::int32_t>(value);
        else if constexpr (a == arithmetic::u32) return static_cast<std::uint32_t>(value);
        else return value;
    }
    template <class A>
    void set(A value) {
        bits = 0;
        std::memcpy(&bits, &value, sizeof value);
    }
};

}  // namespace pumice::inline PUMICE_ABI
