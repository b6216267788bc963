// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Vectors of numbers, and loops over floats that lie dense: sums, extremes, softmax. 32 bytes,
// whatever the processor's vectors are, so that a result depends on nothing but its operands.
#pragma once

#include <pumice/base/wide.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Numbers of a type side by side, in 32 bytes. Vectors are not handed to functions by value: how
/// that is done depends on the processor.
template <class T>
struct lanes_of {
    using vector [[gnu::vector_size(32)]] = T;
    /// The same anywhere in an array.
    using in_memory [[gnu::vector_size(32), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
    static constexpr std::int64_t count = 32 / sizeof(T);
};
using float_lanes = lanes_of<float>::vector;
using lane_bits = lanes_of<std::int32_t>::vector;
inline constexpr std::int64_t lane_count = lanes_of<float>::count;

template <class T>
const typename lanes_of<T>::in_memory& lanes_at(const T* p) noexcept {
    return *reinterpret_cast<const typename lanes_of<T>::in_memory*>(p);
}
template <class T>
typename lanes_of<T>::in_memory& lanes_at(T* p) noexcept {
    return *reinterpret_cast<typename lanes_of<T>::in_memory*>(p);
}

/// Joins the lanes two by two, by `join(lanes, others)`.
template <class Join>
[[gnu::always_inline]] inline float join_lanes(float_lanes& v, const Join& join) {
    join(v, float_lanes(__builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3)));
    join(v, float_lanes(__builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5)));
    join(v, float_lanes(__builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6)));
    return v[0];
}
[[gnu::always_inline]] inline float sum_of_lanes(float_lanes& v) {
    return join_lanes(v, [](float_lanes& x, const float_lanes& y) { x += y; });
}

/// A sum whose error stays below 25 eps times the sum of magnitudes, and 4 log2(n) eps where that
/// is less: short runs in float, which are added in double.
struct sum_of_floats {
    static constexpr std::int64_t run = 1024;

    [[gnu::always_inline]] double operator()(const float* v, std::int64_t n) const {
        double total = 0;
        while (n > 0) {
            const std::int64_t count = std::min(n, run);
            float_lanes a{}, b{}, c{}, d{}, e{}, f{}, g{}, h{};  // an addition takes some cycles
            std::int64_t left = count;
            for (; left >= 64; left -= 64, v += 64) {
                a += lanes_at(v);
                b += lanes_at(v + 8);
                c += lanes_at(v + 16);
                d += lanes_at(v + 24);
                e += lanes_at(v + 32);
                f += lanes_at(v + 40);
                g += lanes_at(v + 48);
                h += lanes_at(v + 56);
            }
            if (left >= 32) {
                a += lanes_at(v);
                b += lanes_at(v + 8);
                c += lanes_at(v + 16);
                d += lanes_at(v + 24);
                left -= 32, v += 32;
            }
            for (; left >= 8; left -= 8, v += 8) e += lanes_at(v);
            a = ((a + b) + (c + d)) + ((e + f) + (g + h));
            total += sum_of_lanes(a);
            for (; left > 0; --left) total += *v++;
            n -= count;
        }
        return total;
    }
};

/// The greatest (or the least, if Sign is -1) of n floats and `start`; NaN if one of them is.
template <int Sign>
struct extreme_of_floats {
    [[gnu::always_inline]] float operator()(const float* v, std::int64_t n, float start) const {
        float_lanes best = float_lanes{} + start, other = best;
        std::int64_t i = 0;
        const auto join = [](float_lanes& x, const float_lanes& y) {
            x = ((Sign > 0 ? y > x : y < x) | (y != y)) ? y : x;
        };
        for (; i + 16 <= n; i += 16) {
            const float_lanes x = lanes_at(v + i), y = lanes_at(v + i + 8);
            join(best, x);
            join(other, y);
        }
        join(best, other);
        float r = join_lanes(best, join);
        for (; i < n; ++i) r = (Sign > 0 ? v[i] > r : v[i] < r) || v[i] != v[i] ? v[i] : r;
        return r;
    }
};

/// e^x in each lane for x <= 0, within 2 ulp; NaN stays. By the powers of two around x / ln 2 and a
/// polynomial between them.
[[gnu::always_inline]] inline void exp_lanes(float_lanes& x) {
    x = x < -104.0f ? float_lanes{} - 104.0f : x;  // where the result is 0
    constexpr float shift = 0x1.8p23f;             // puts the integer part into the low bits
    const float_lanes shifted = x * 1.44269504f + shift, whole = shifted - shift;
    const float_lanes r = x - whole * 0.693359375f + whole * 2.12194440e-4f;  // ln 2 in two parts
    float_lanes p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    lane_bits power;
    std::memcpy(&power, &shifted, sizeof power);
    power -= std::bit_cast<std::int32_t>(shift);
    const lane_bits half = power >> 1, first = (half + 127) << 23,
                    second = (power - half + 127) << 23;
    float_lanes a, b;  // in two steps, so that a result below the least normal number is right too
    std::memcpy(&a, &first, sizeof a);
    std::memcpy(&b, &second, sizeof b);
    x = p * a * b;
}

/// out = e^(v - top) for n floats; gives the sum. `out` may be `v`.
struct exp_of_floats {
    static constexpr std::int64_t run = 512;

    [[gnu::always_inline]] double operator()(const float* v, std::int64_t n, float top,
                                             float* out) const {
        double total = 0;
        while (n > 0) {
            const std::int64_t count = std::min(n, run);
            float_lanes sum{};
            std::int64_t i = 0;
            for (; i + lane_count <= count; i += lane_count) {
                float_lanes x = lanes_at(v + i) - top;
                exp_lanes(x);
                lanes_at(out + i) = x;
                sum += x;
            }
            if (i < count) {
                float rest[lane_count];
                std::fill(rest, rest + lane_count, -std::numeric_limits<float>::infinity());
                std::copy(v + i, v + count, rest);
                float_lanes x = lanes_at(rest) - top;
                exp_lanes(x);
                lanes_at(rest) = x;
                std::copy(rest, rest + (count - i), out + i);
                for (std::int64_t k = 0; k < count - i; ++k) total += rest[k];
            }
            total += sum_of_lanes(sum);
            v += count, out += count;
            n -= count;
        }
        return total;
    }
};

/// Softmax of n floats, or its logarithm. `out` may be `v`.
template <bool Logarithm>
struct softmax_of_floats {
    [[gnu::always_inline]] void operator()(const float* v, std::int64_t n, float* out) const {
        const float top = extreme_of_floats<1>{}(v, n, -std::numeric_limits<float>::infinity());
        if constexpr (Logarithm) {
            double sum = 0;
            float block[exp_of_floats::run];
            for (std::int64_t i = 0; i < n; i += exp_of_floats::run)
                sum += exp_of_floats{}(v + i, std::min(n - i, exp_of_floats::run), top, block);
            const auto low = static_cast<float>(std::log(sum));
            std::int64_t i = 0;
            for (; i + lane_count <= n; i += lane_count)
                lanes_at(out + i) = lanes_at(v + i) - top - low;
            for (; i < n; ++i) out[i] = v[i] - top - low;
        } else {
            const auto sum = static_cast<float>(exp_of_floats{}(v, n, top, out));
            std::int64_t i = 0;
            for (; i + lane_count <= n; i += lane_count) lanes_at(out + i) /= sum;
            for (; i < n; ++i) out[i] /= sum;
        }
    }
};

}}}  // namespace pumice::PUMICE_ABI::detail
