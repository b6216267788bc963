// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Softmax, its logarithm and norms of short rows on the host: vectors go across rows.
#pragma once

#include <pumice/graph/operation.hpp>
#include <pumice/host/double_sums.hpp>
#include <pumice/host/matrix_parts.hpp>

#include <cmath>
#include <cstring>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Rows of fewer numbers are short: of doubles more, whose sums take longer.
template <class T>
inline constexpr std::int64_t end_of_short_rows = sizeof(T) == 4 ? 8 : 96;
/// So many of them are turned at a time.
inline constexpr std::int64_t rows_at_a_time = 32;
/// Four numbers abreast: what is summed in double takes no wider vectors.
template <class T>
struct four_of {
    using vector [[gnu::vector_size(4 * sizeof(T))]] = T;
    using in_memory [[gnu::vector_size(4 * sizeof(T)), gnu::aligned(alignof(T)), gnu::may_alias]] =
        T;
};

/// Normalizes the columns of n lines that lie `rows_at_a_time` apart, as many as are `rows`
/// rounded up to vectors. Sums are taken in double, of doubles with what additions lost.
template <class T>
struct normalize_columns_of {
    static constexpr std::int64_t width = lanes_of<T>::count, step = rows_at_a_time;
    using vector = typename lanes_of<T>::vector;
    using sums = typename four_of<double>::vector;
    static constexpr int parts = width / 4;

    [[gnu::always_inline]] static void widen(const T* v, sums& to) {
        to = __builtin_convertvector(*reinterpret_cast<const typename four_of<T>::in_memory*>(v),
                                     sums);
    }

    [[gnu::always_inline]] static void add(sums& sum, sums& lost, const sums& v) {
        if constexpr (std::is_same_v<T, double>) add_exactly(sum, lost, v);
        else sum += v;
    }
    [[gnu::always_inline]] static void soften(bool logarithm, T* v, std::int64_t n) {
        vector top = lanes_at(v);
        for (std::int64_t l = 1; l < n; ++l) {
            const vector x = lanes_at(v + l * step);
            top = ((x > top) | (x != x)) ? x : top;
        }
        sums sum[std::size_t{parts}] = {}, lost[std::size_t{parts}] = {};
        for (std::int64_t l = 0; l < n; ++l) {
            vector e = lanes_at(v + l * step) - top;
            if constexpr (std::is_same_v<T, float>) exp_lanes(e);
            else
                for (std::int64_t i = 0; i < width; ++i) e[i] = std::exp(e[i]);
            for (int i = 0; i < parts; ++i) {
                typename four_of<T>::vector part;
                std::memcpy(&part, reinterpret_cast<const T*>(&e) + 4 * i, sizeof part);
                add(sum[i], lost[i], __builtin_convertvector(part, sums));
            }
            if (!logarithm) lanes_at(v + l * step) = e;
        }
        vector by{};
        for (int i = 0; i < width; ++i) {
            const double plain = sum[i / 4][i % 4], all = plain + lost[i / 4][i % 4],
                         total = all == all ? all : plain;
            by[i] = static_cast<T>(logarithm ? std::log(total) : total);
        }
        for (std::int64_t l = 0; l < n; ++l)
            if (logarithm) lanes_at(v + l * step) = lanes_at(v + l * step) - top - by;
            else lanes_at(v + l * step) /= by;
    }
    /// Of four columns.
    [[gnu::always_inline]] static void norm(bool centred, double epsilon, T* v, std::int64_t n) {
        const auto count = static_cast<double>(n);
        sums mean{}, low{}, sum{}, lost{}, x, more;
        if (centred && std::is_same_v<T, double>) {
            // One that is nearly right, then what it lacks: where values lie close, it counts.
            for (std::int64_t l = 0; l < n; ++l) {
                widen(v + l * step, x);
                mean += x * (1 / count);
            }
            for (std::int64_t l = 0; l < n; ++l) {
                widen(v + l * step, x);
                two_sum(x, more, sums(-mean));
                add_exactly(sum, lost, x);
                lost += more;
            }
            two_sum(mean, low, sums((sum + lost) / count));
            sum = lost = sums{};
        } else if (centred) {
            for (std::int64_t l = 0; l < n; ++l) {
                widen(v + l * step, x);
                mean += x;
            }
            mean /= count;
        }
        for (std::int64_t l = 0; l < n; ++l) {
            widen(v + l * step, x);
            x = (x - mean) - low;
            add(sum, lost, sums(x * x));
        }
        const sums all = sum + lost;
        sum = (all == all ? all : sum) / count + epsilon;
        for (int i = 0; i < 4; ++i) sum[i] = std::sqrt(sum[i]);
        const sums factor = 1 / sum;
        for (std::int64_t l = 0; l < n; ++l) {
            widen(v + l * step, x);
            x = (x - mean) - low;
            if constexpr (std::is_same_v<T, float>) x *= factor;
            else x /= sum;
            *reinterpret_cast<typename four_of<T>::in_memory*>(v + l * step) =
                __builtin_convertvector(x, typename four_of<T>::vector);
        }
    }
    [[gnu::always_inline]] void operator()(normalization what, double epsilon, T* v,
                                           std::int64_t rows, std::int64_t n) const {
        if (what == normalization::softmax || what == normalization::log_softmax)
            for (std::int64_t i = 0; i < rows; i += width)
                soften(what == normalization::log_softmax, v + i, n);
        else
            for (std::int64_t i = 0; i < rows; i += 4)
                norm(what == normalization::layer_norm, epsilon, v + i, n);
    }
};

/// `rows` short rows of n numbers. `out` may be `in`.
template <class T>
void normalize_short_rows(normalization what, double epsilon, numbers_at<const T> in,
                          numbers_at<T> out, std::int64_t rows, std::int64_t n) {
    constexpr std::int64_t most = rows_at_a_time;
    for (; rows > 0; rows -= most, in.first += most * in.step[0], out.first += most * out.step[0]) {
        T lines[static_cast<std::size_t>(end_of_short_rows<T> * most)];
        const std::int64_t some = std::min(rows, most);
        copy_numbers<T>(in, {lines, {1, most}}, some, n);
        for (std::int64_t l = 0; l < n; ++l)  // to the end of a vector
            for (std::int64_t i = some; i % lanes_of<T>::count != 0; ++i) lines[l * most + i] = 0;
        run_wide(normalize_columns_of<T>{}, what, epsilon, lines + 0, some, n);
        copy_numbers<T>({lines, {1, most}}, out, some, n);
    }
}

}}}  // namespace pumice::PUMICE_ABI::detail
