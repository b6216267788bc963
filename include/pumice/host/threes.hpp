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
/// unless b is null.
template <class T>
struct sum_threes {
    using way = joined_sum<T, as_it_is>;
    using number = typename way::first;
    using vector = typename lanes_of<number>::vector;
    using stored [[gnu::vector_size(lanes_of<number>::count * sizeof(T)), gnu::aligned(alignof(T)),
                   gnu::may_alias]] = T;

    [[gnu::always_inline]] static void some(const T* v, std::int64_t n, T* __restrict out) {
        for (std::int64_t i = 0; i < n; ++i, v += 3) {
            number sum;
            typename way::second lost;
            way::start(sum, lost);
            for (int k = 0; k < 3; ++k) way::one(sum, lost, v[k], k, 0);
            out[i] = static_cast<T>(way::total(sum, lost));
        }
    }
    /// The values 3 i + K among those of three vectors. Of the three values that a lane has, one is
    /// such a value, for 3 divides no power of two: they are blended, then put in order.
    template <int K, int... Lane>
    [[gnu::always_inline]] static void pick(const vector& p, const vector& q, const vector& r,
                                            vector& to, std::integer_sequence<int, Lane...>) {
        constexpr int count = sizeof...(Lane);
        const vector two =
            __builtin_shufflevector(p, q, ((Lane + count) % 3 == K ? count + Lane : Lane)...);
        const vector all =
            __builtin_shufflevector(two, r, ((Lane + 2 * count) % 3 == K ? count + Lane : Lane)...);
        to = __builtin_shufflevector(all, all, ((3 * Lane + K) % count)...);
    }
    /// As many values as a vector has lanes, or their products with those of `w`.
    template <bool Products>
    [[gnu::always_inline]] static void read(const stored& v, const stored& w, vector& to) {
        if constexpr (!Products) {
            to = __builtin_convertvector(v, vector);
        } else if constexpr (way::real) {
            const stored products = v * w;
            to = __builtin_convertvector(products, vector);
        } else {  // unsigned, so modulo their width
            to = __builtin_convertvector(v, vector) * __builtin_convertvector(w, vector);
        }
    }
    /// What `some` computes, of as many rows as a vector has lanes, of products with `w` if
    /// Products.
    template <bool Products>
    [[gnu::always_inline]] static void lanes(const T* v, const T* w, T* out) {
        constexpr int count = lanes_of<number>::count;
        const auto* const from = reinterpret_cast<const stored*>(v);
        const auto* const by = reinterpret_cast<const stored*>(w);
        vector p, q, r;
        read<Products>(from[0], by[0], p);
        read<Products>(from[1], by[1], q);
        read<Products>(from[2], by[2], r);
        constexpr std::make_integer_sequence<int, count> each;
        vector sum, b, c;
        pick<0>(p, q, r, sum, each);
        pick<1>(p, q, r, b, each);
        pick<2>(p, q, r, c, each);
        if constexpr (way::keeps_lost) {
            vector lost, more;
            two_sum(sum, lost, b);
            two_sum(sum, more, c);
            const vector total = sum + (lost + more);
            sum = total == total ? total : sum;
        } else {
            if constexpr (way::real) sum += 0.0;
            sum += b;
            sum += c;
        }
        *reinterpret_cast<stored*>(out) = __builtin_convertvector(sum, stored);
    }
    template <bool Products>
    [[gnu::always_inline]] static void rows(const T* a, const T* b, std::int64_t n, T* out) {
        constexpr std::int64_t step = lanes_of<number>::count;
        std::int64_t i = 0;
        for (; i + step <= n; i += step) lanes<Products>(a + 3 * i, b + 3 * i, out + i);
        a += 3 * i, b += 3 * i, out += i, n -= i;
        T room[3 * lane_step];  // of fewer rows than a vector has lanes
        if constexpr (Products) multiply_each<T>{}(a, b, 3 * n, room);
        some(Products ? room : a, n, out);
    }
    [[gnu::always_inline]] void operator()(const T* a, const T* b, std::int64_t n, T* out) const {
        if (b) rows<true>(a, b, n, out);
        else rows<false>(a, a, n, out);
    }
};

}}}  // namespace pumice::PUMICE_ABI::detail
