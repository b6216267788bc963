// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A single value of a run-time element type, and conversion between element types on the host.
#pragma once

#include <pumice/base/error.hpp>
#include <pumice/core/dtype.hpp>

#include <cstring>
#include <limits>

namespace pumice { inline namespace PUMICE_ABI {

/// Converts as kernels do: float to integer saturates and NaN gives 0, integers wrap, anything
/// to bool is "not zero" (NaN is true), to a half type rounds to nearest even.
template <element To, element From>
constexpr To convert(From value) noexcept {
    if constexpr (std::is_same_v<To, From>) {
        return value;
    } else if constexpr (converts_by_float<From>) {
        return convert<To>(static_cast<float>(value));
    } else if constexpr (packed_element<From>) {
        return convert<To>(value.value);
    } else if constexpr (packed_element<To>) {
        // Reals by way of 8 bits, which saturate.
        const auto wide = convert<decltype(To().value)>(value);
        if constexpr (std::is_floating_point_v<From>) {
            constexpr bool has_sign = std::is_signed_v<decltype(To().value)>;
            constexpr int low = has_sign ? -8 : 0, high = has_sign ? 7 : 15;
            return To(wide < low ? low : wide > high ? high : int{wide});
        } else {
            return To(wide);
        }
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

struct scalar;
namespace detail {
const scalar& number_named(const scalar& name);
}

/// A value with its element type, held in the arithmetic type of that element type.
struct scalar {
    dtype type = dtype::f32;
    std::uint32_t graph = 0;  // not 0: it names number `bits` of a graph that passes are shown
    std::uint64_t bits = 0;   // the arithmetic value, in the low bytes

    scalar() = default;
    /// Of type `t`, converted from any C++ number.
    template <element T>
    scalar(dtype t, T value) : type(t) {
        // By way of the widest type of its kind, which changes nothing: one conversion a kind.
        if constexpr (is_floating(dtype_of<T>)) set(static_cast<double>(value));
        else if constexpr (info(dtype_of<T>).kind == kind::signed_integer)
            set(static_cast<std::int64_t>(value));
        else set(static_cast<std::uint64_t>(value));
    }
    template <element T>
    explicit scalar(T value) : scalar(dtype_of<T>, value) {}

    template <element T>
    T as() const {
        const scalar& s = graph == 0 ? *this : detail::number_named(*this);
        switch (info(type).arithmetic) {
            case arithmetic::f32: return convert<T>(static_cast<double>(s.held<float>()));
            case arithmetic::f64: return convert<T>(s.held<double>());
            case arithmetic::i32: return convert<T>(std::int64_t{s.held<std::int32_t>()});
            case arithmetic::i64: return convert<T>(s.held<std::int64_t>());
            case arithmetic::u32: return convert<T>(std::uint64_t{s.held<std::uint32_t>()});
            default: return convert<T>(s.held<std::uint64_t>());
        }
    }

private:
    template <class A>
    A held() const noexcept {
        A value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }
    template <class A>
    void hold(A value) noexcept {
        bits = 0;
        std::memcpy(&bits, &value, sizeof value);
    }
    /// Wide: double, std::int64_t or std::uint64_t.
    template <class Wide>
    void set(Wide value) noexcept {
        visit(type, [&]<class T>(T) {
            if constexpr (std::is_same_v<T, bool>) hold(value != 0);
            else if constexpr (converts_by_float<T>) hold(static_cast<float>(convert<T>(value)));
            else if constexpr (sizeof(T) >= 4) hold(convert<T>(value));
            else if constexpr (info(dtype_of<T>).kind == kind::signed_integer)
                hold(std::int32_t{convert<T>(value)});
            else hold(std::uint32_t{convert<T>(value)});
        });
    }
};

namespace detail {

/// The numbers of a graph that passes are shown: its programs have names of them, which copies
/// keep, so that each run of the plan brings its own. Who reads one ties the plan to them.
struct named_numbers {
    const scalar* values = nullptr;
    std::size_t count = 0;
    std::uint32_t graph = 0;
    bool read = false;
    named_numbers* outer = nullptr;  // a pass may evaluate
};
inline thread_local named_numbers* numbers_at_hand = nullptr;

[[noreturn]] inline void throw_number_of_another_graph() {
    fail(errc::invalid_argument, "pass",
         {"a number of a graph is read outside of it: in another graph, by another thread, or when "
          "its passes have ended"});
}
[[gnu::cold, gnu::noinline]] inline const scalar& number_named(const scalar& name) {
    for (named_numbers* n = numbers_at_hand; n; n = n->outer)
        if (n->graph == name.graph && name.bits < n->count) {
            n->read = true;
            return n->values[name.bits];
        }
    throw_number_of_another_graph();
}

}  // namespace detail

}}  // namespace pumice::PUMICE_ABI
