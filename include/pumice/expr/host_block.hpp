// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Loops over a block of numbers on the host: an op's, which the C++ compiler makes of its body,
// conversions, and those that bring values within a type.
#pragma once

#include <pumice/base/wide.hpp>
#include <pumice/core/half_blocks.hpp>
#include <pumice/expr/host_math.hpp>
#include <pumice/expr/op.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

template <class F>
[[gnu::always_inline]] inline void with_host_arithmetic(arithmetic type, F&& f) {
    switch (type) {
        case arithmetic::f32: return f(host_arithmetic<arithmetic::f32>{});
        case arithmetic::f64: return f(host_arithmetic<arithmetic::f64>{});
        case arithmetic::i32: return f(host_arithmetic<arithmetic::i32>{});
        case arithmetic::i64: return f(host_arithmetic<arithmetic::i64>{});
        case arithmetic::u32: return f(host_arithmetic<arithmetic::u32>{});
        case arithmetic::u64: return f(host_arithmetic<arithmetic::u64>{});
        case arithmetic::boolean: return f(bool{});
    }
}

template <class T>
inline constexpr kind kind_of_host = std::is_same_v<T, bool>       ? kind::boolean
                                     : std::is_floating_point_v<T> ? kind::floating
                                     : std::is_unsigned_v<T>       ? kind::unsigned_integer
                                                                   : kind::signed_integer;

/// Bools are read and written as bytes: compilers make no vectors of them.
template <class T>
using in_block = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

/// The op over n elements. Nothing else looks at what `r` points to.
template <class Op, class R, class B, class T>
[[gnu::always_inline]] inline void apply_each(in_block<R>* __restrict r, const in_block<B>* x,
                                              const in_block<T>* y, const in_block<T>* z,
                                              std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
        r[i] = static_cast<R>(Op::template host<T, B>(static_cast<B>(x[i]), static_cast<T>(y[i]),
                                                      static_cast<T>(z[i])));
}

/// The op over n elements of each operand.
template <class Op>
struct op_loop {
    [[gnu::always_inline]] void operator()(arithmetic type, const void* const* in, void* out,
                                           std::size_t n) const {
        with_host_arithmetic(type, [&]<class T>(T) __attribute__((always_inline)) {
            if constexpr ((Op::rule.kinds & static_cast<std::uint8_t>(kind_of_host<T>)) != 0) {
                using B = std::conditional_t<Op::rule.selects, bool, T>;
                using R = std::conditional_t<Op::rule.gives == type_rule::result::boolean, bool, T>;
                const auto* x = static_cast<const in_block<B>*>(in[0]);
                const auto* y = static_cast<const in_block<T>*>(in[Op::arity > 1 ? 1 : 0]);
                const auto* z = static_cast<const in_block<T>*>(in[Op::arity > 2 ? 2 : 0]);
                auto* r = static_cast<in_block<R>*>(out);
                constexpr std::size_t step = 32;  // a length that is known is what -O2 vectorises
                std::size_t i = 0;
                for (; i + step <= n; i += step)
                    apply_each<Op, R, B, T>(r + i, x + i, y + i, z + i, step);
                apply_each<Op, R, B, T>(r + i, x + i, y + i, z + i, n - i);
            }
        });
    }
};
/// Instantiated for ops that a program uses.
template <class Op>
void host_block(arithmetic type, const void* const* in, void* out, std::size_t n) {
    run_wide(op_loop<Op>{}, type, in, out, n);
}

template <class From, class To>
[[gnu::always_inline]] inline void convert_some(const From* v, To* __restrict r, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) r[i] = static_cast<To>(v[i]);
}
struct convert_dense {
    template <class From, class To>
    [[gnu::always_inline]] void operator()(const From* v, To* r, std::int64_t n) const {
        constexpr std::int64_t step = 32;  // a length that is known is what -O2 vectorises
        std::int64_t i = 0;
        for (; i + step <= n; i += step) convert_some(v + i, r + i, step);
        convert_some(v + i, r + i, n - i);
    }
};
/// to[i * to_step] = To(from[i * from_step])
template <class From, class To>
void convert_each(const void* from, std::int64_t from_step, void* to, std::int64_t to_step,
                  std::int64_t n) {
    const auto* v = static_cast<const From*>(from);
    auto* r = static_cast<To*>(to);
    if (from_step == 1 && to_step == 1) {
        if constexpr (std::is_same_v<From, f16> && std::is_same_v<To, float>)
            return to_floats(v, r, n);
        if constexpr (std::is_same_v<From, float> && std::is_same_v<To, f16>)
            return to_halves(v, r, n);
        if constexpr (std::is_integral_v<From> && std::is_integral_v<To> &&
                      sizeof(From) + sizeof(To) < 8)
            return run_wide(convert_dense{}, v, r, n);
        return convert_dense{}(v, r, n);
    }
    for (std::int64_t i = 0; i < n; ++i) r[i * to_step] = static_cast<To>(v[i * from_step]);
}
/// to[i] = first + i * step, for n numbers.
struct count_up {
    [[gnu::always_inline]] void operator()(std::int64_t* to, std::int64_t first, std::int64_t step,
                                           std::int64_t n) const {
        using four [[gnu::vector_size(32)]] = std::int64_t;
        four v{first, first + step, first + 2 * step, first + 3 * step};
        std::int64_t i = 0;
        for (; i + 4 <= n; i += 4, v += 4 * step) std::memcpy(to + i, &v, sizeof v);
        for (; i < n; ++i) to[i] = first + i * step;
    }
};

/// Keeps the low `bits` of each number, and its sign.
template <class I>
void wrap_each(void* values, int bits, std::int64_t n) {
    auto* const v = static_cast<I*>(values);
    const int above = 32 - bits;
    const auto some = [above](I* r, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i)
            r[i] = static_cast<I>(static_cast<std::uint32_t>(r[i]) << above) >> above;
    };
    constexpr std::int64_t step = 32;
    std::int64_t i = 0;
    for (; i + step <= n; i += step) some(v + i, step);
    some(v + i, n - i);
}

/// Reals to integers between `low` and `high`, both exact in T, as convert() of core/scalar.hpp
/// does; in 32 bits, without branches, as vectors have it.
template <class T>
void saturate_narrow(const void* from, void* to, std::int32_t low, std::int32_t high,
                     std::int64_t n) {
    const auto some = [low = static_cast<T>(low),
                       high = static_cast<T>(high)](const T* v, std::int32_t* __restrict r,
                                                    std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
            T x = v[i] == v[i] ? v[i] : 0;
            x = x > low ? x : low;
            r[i] = static_cast<std::int32_t>(x < high ? x : high);
        }
    };
    const auto* v = static_cast<const T*>(from);
    auto* r = static_cast<std::int32_t*>(to);
    constexpr std::int64_t step = 32;
    std::int64_t i = 0;
    for (; i + step <= n; i += step) some(v + i, r + i, step);
    some(v + i, r + i, n - i);
}
template <class I>
void saturate_each(const void* from, void* to, I low, I high, std::int64_t n) {
    const auto* v = static_cast<const double*>(from);
    auto* r = static_cast<I*>(to);
    const auto bottom = static_cast<double>(low), top = static_cast<double>(high);
    for (std::int64_t i = 0; i < n; ++i)
        r[i] = v[i] != v[i] ? I(0) : v[i] <= bottom ? low : v[i] >= top ? high : I(v[i]);
}

}}}  // namespace pumice::PUMICE_ABI::detail
