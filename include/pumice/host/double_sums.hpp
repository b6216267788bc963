// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Sums of doubles on the host, by vectors: with what additions lose, or of few plainly.
#pragma once

#include <pumice/host/lanes.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// A length that is known is what -O2 vectorises; a divisor of the length of a block.
inline constexpr std::int64_t lane_step = 32;

/// Adds v to a sum of doubles, or to sums in lanes; `lost` is what the addition loses (Knuth's
/// two-sum), which is not a number where the sum is infinite.
template <class V>
[[gnu::always_inline]] inline void two_sum(V& sum, V& lost, const V& v) {
    const V s = sum + v, part = s - sum;
    lost = (sum - (s - part)) + (v - part);
    sum = s;
}
/// The same, where `lost` is what all additions lost.
template <class V>
[[gnu::always_inline]] inline void add_exactly(V& sum, V& lost, const V& v) {
    V more;
    two_sum(sum, more, v);
    lost += more;
}

/// The sum of `rounds` times 32 doubles, in 32 lanes that stay in registers.
[[gnu::always_inline]] inline double sum_in_lanes(const double* v, std::int64_t rounds) {
    using four = lanes_of<double>::vector;
    four a{}, b{}, c{}, d{}, e{}, f{}, g{}, h{};
    for (; rounds > 0; --rounds, v += 32) {
        a += lanes_at(v);
        b += lanes_at(v + 4);
        c += lanes_at(v + 8);
        d += lanes_at(v + 12);
        e += lanes_at(v + 16);
        f += lanes_at(v + 20);
        g += lanes_at(v + 24);
        h += lanes_at(v + 28);
    }
    a = ((a + e) + (c + g)) + ((b + f) + (d + h));
    return (a[0] + a[2]) + (a[1] + a[3]);
}
/// Adds four lines of n doubles, whose sum is taken plainly, to n sums.
struct add_four_lines {
    [[gnu::always_inline]] static void some(double* __restrict sums, double* __restrict lost,
                                            const double* a, const double* b, const double* c,
                                            const double* d, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i)
            add_exactly(sums[i], lost[i], (a[i] + b[i]) + (c[i] + d[i]));
    }
    [[gnu::always_inline]] void operator()(double* sums, double* lost, const void* const* lines,
                                           std::int64_t n) const {
        const double* v[4];
        for (int c = 0; c < 4; ++c) v[c] = static_cast<const double*>(lines[c]);
        constexpr std::int64_t step = lane_step;
        std::int64_t i = 0;
        for (; i + step <= n; i += step)
            some(sums + i, lost + i, v[0] + i, v[1] + i, v[2] + i, v[3] + i, step);
        some(sums + i, lost + i, v[0] + i, v[1] + i, v[2] + i, v[3] + i, n - i);
    }
};
/// out[i] = the sum of v[i], v[i + step] ... v[i + (rows - 1) step] for i < n, as adding one line
/// after the other gives it, of eight lines and more four: in registers.
struct sum_lines {
    template <class V, std::size_t Count>
    [[gnu::always_inline]] static void some(const double* v, std::int64_t step, std::int64_t rows,
                                            double* out) {
        constexpr std::size_t width = sizeof(V) / sizeof(double);
        constexpr as<V> kind;
        V sum[Count] = {}, lost[Count] = {};
        std::int64_t r = 0;
        for (; rows >= 8 && r + 4 <= rows; r += 4, v += 4 * step)
#pragma GCC unroll 2
            for (std::size_t k = 0; k < Count; ++k) {
                const double* const p = v + k * width;
                const V four = (at(p, kind) + at(p + step, kind)) +
                               (at(p + 2 * step, kind) + at(p + 3 * step, kind));
                add_exactly(sum[k], lost[k], four);
            }
        for (; r < rows; ++r, v += step)
#pragma GCC unroll 2
            for (std::size_t k = 0; k < Count; ++k) {
                const V line = at(v + k * width, kind);
                add_exactly(sum[k], lost[k], line);
            }
#pragma GCC unroll 2
        for (std::size_t k = 0; k < Count; ++k) {
            const V all = sum[k] + lost[k];
            at(out + k * width, kind) = all == all ? all : sum[k];
        }
    }
    [[gnu::always_inline]] void operator()(const double* v, std::int64_t step, std::int64_t rows,
                                           std::int64_t n, double* out) const {
        using four = lanes_of<double>::vector;
        std::int64_t i = 0;
        for (; i + 8 <= n; i += 8) some<four, 2>(v + i, step, rows, out + i);
        for (; i < n; ++i) some<double, 1>(v + i, step, rows, out + i);
    }

private:
    // As a V lies in memory: vectors are not aligned there, which no deduced type would say.
    using doubles = lanes_of<double>;
    template <class V>
    using as = std::type_identity<V>;
    static const double& at(const double* p, as<double>) { return *p; }
    static double& at(double* p, as<double>) { return *p; }
    static const doubles::in_memory& at(const double* p, as<doubles::vector>) {
        return lanes_at(p);
    }
    static doubles::in_memory& at(double* p, as<doubles::vector>) { return lanes_at(p); }
};

}}}  // namespace pumice::PUMICE_ABI::detail
