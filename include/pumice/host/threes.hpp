// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Sums of rows of three on the host, coordinates and colours: of values, or of products of two.
#pragma once

#include <pumice/host/joins.hpp>
#include <pumice/host/lanes.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// out[i] = a[i] * b[i], of integers modulo their width.
template <class T>
struct multiply_each {
    [[gnu::always_inline]] static void some(const T* a, const T* b, std::int64_t n,
                                            T* __restrict out) {
        using bits = typename joined_sum<T, as_it_is>::first;
        for (std::int64_t i = 0; i < n; ++i) {
            if constexpr (std::is_floating_point_v<T>) out[i] = a[i] * b[i];
            else out[i] = static_cast<T>(static_cast<bits>(a[i]) * static_cast<bits>(b[i]));
        }
    }
    [[gnu::always_inline]] void operator()(const T* a, const T* b, std::int64_t n, T* out) const {
        std::int64_t i = 0;
        for (; i + lane_step <= n; i += lane_step) some(a + i, b + i, lane_step, out + i);
        some(a + i, b + i, n - i, out + i);
    }
};
/// out[i] = the sum of the values 3 i, 3 i + 1 and 3 i + 2, which are those of `a`, or of a times b
/// unless b is null: coordinates and colours, .
template <class T>
struct sum_threes {
    using way = joined_sum<T, as_it_is>;

    [[gnu::always_inline]] static void some(const T* v, std::int64_t n, T* __restrict out) {
        for (std::int64_t i = 0; i < n; ++i, v += 3) {
            typename way::first sum;
            typename way::second lost;
            way::start(sum, lost);
            for (int k = 0; k < 3; ++k) way::one(sum, lost, v[k], k, 0);
            out[i] = static_cast<T>(way::total(sum, lost));
        }
    }
    /// Four at a time, which the compiler would turn at twice the price. Pre: n is a multiple.
    [[gnu::always_inline]] static void lanes(const double* v, std::int64_t n, double* out) {
        using four = lanes_of<double>::vector;
        for (std::int64_t i = 0; i < n; i += 4, v += 12) {
            const four p = lanes_at(v), q = lanes_at(v + 4), r = lanes_at(v + 8),
                       a = __builtin_shufflevector(p, q, 0, 1, 6, 7),
                       b = __builtin_shufflevector(p, r, 2, 3, 4, 5),
                       c = __builtin_shufflevector(q, r, 0, 1, 6, 7);
            four sum = __builtin_shufflevector(a, b, 0, 5, 2, 7) + 0.0, lost{};
            add_exactly(sum, lost, four(__builtin_shufflevector(a, c, 1, 4, 3, 6)));
            add_exactly(sum, lost, four(__builtin_shufflevector(b, c, 0, 5, 2, 7)));
            const four all = sum + lost;
            lanes_at(out + i) = all == all ? all : sum;
        }
    }
    [[gnu::always_inline]] void operator()(const T* a, const T* b, std::int64_t n, T* out) const {
        T room[3 * lane_step];
        for (; n > 0; n -= lane_step, a += 3 * lane_step, out += lane_step) {
            const std::int64_t rows = std::min(n, lane_step);
            const T* v = a;
            if (b) {
                multiply_each<T>{}(a, b, 3 * rows, room);
                v = room;
                b += 3 * lane_step;
            }
            if (rows < lane_step) some(v, rows, out);
            else if constexpr (std::is_same_v<T, double>) lanes(v, lane_step, out);
            else some(v, lane_step, out);
        }
    }
};

}}}  // namespace pumice::PUMICE_ABI::detail
