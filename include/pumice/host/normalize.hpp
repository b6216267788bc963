// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Softmax, its logarithm and the norms of rows on the host; rows are shared among threads.
#pragma once

#include <pumice/base/thread_pool.hpp>
#include <pumice/host/joins.hpp>
#include <pumice/host/lanes.hpp>
#include <pumice/host/loop.hpp>
#include <pumice/host/short_rows.hpp>
#include <pumice/host/values.hpp>
#include <pumice/kernels/normalize.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// (v - mean) / sqrt(variance + epsilon), or without the mean, of n reals. `out` may be `v`.
template <class T>
struct norm_of_row {
    template <class F>
    [[gnu::always_inline]] static double sum_of(const T* v, std::int64_t n, double given) {
        using way = joined_sum<T, F>;
        typename way::first sum;
        typename way::second lost;
        way::start(sum, lost);
        way::row(sum, lost, v, n, 0, given);
        return way::total(sum, lost);
    }
    /// `low` is what the mean of doubles lost: where values lie close to it, it counts.
    [[gnu::always_inline]] static void some(const T* v, double mean, double low, double root,
                                            double factor, std::int64_t n, T* out) {
        for (std::int64_t i = 0; i < n; ++i)
            if constexpr (std::is_same_v<T, float>)  // rounded to less than what a factor loses
                out[i] = static_cast<float>((v[i] - mean) * factor);
            else out[i] = ((v[i] - mean) - low) / root;
    }
    [[gnu::always_inline]] void operator()(bool centred, double epsilon, const T* v, std::int64_t n,
                                           T* out) const {
        const auto count = static_cast<double>(n);
        double mean = 0, low = 0;
        if (centred && std::is_same_v<T, double>) {
            long double sum = 0;
            for (std::int64_t i = 0; i < n; ++i) sum += v[i];
            sum /= static_cast<long double>(n);
            mean = static_cast<double>(sum);
            low = static_cast<double>(sum - mean);
        } else if (centred) {
            mean = sum_of<as_it_is>(v, n, 0) / count;
        }
        const double root = std::sqrt(sum_of<squared_distance>(v, n, mean) / count + epsilon),
                     factor = 1 / root;
        constexpr std::int64_t step = 32;  // a length that is known is what -O2 vectorises
        std::int64_t i = 0;
        for (; i + step <= n; i += step) some(v + i, mean, low, root, factor, step, out + i);
        some(v + i, mean, low, root, factor, n - i, out + i);
    }
};

/// Softmax of n doubles, or its logarithm. `out` may be `v`.
inline void softmax_doubles(bool logarithm, const double* v, std::int64_t n, double* out) {
    double top = -std::numeric_limits<double>::infinity();
    no_second none;
    run_wide(join_row<joined_extreme<double, 1>>{}, &top, &none, v, n, std::int64_t{0}, 0.0);
    double sum = 0, lost = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        const double e = std::exp(v[i] - top);
        joined_sum<double, as_it_is>::add(sum, lost, e);
        if (!logarithm) out[i] = e;
    }
    sum = joined_sum<double, as_it_is>::total(sum, lost);
    const double low = logarithm ? std::log(sum) : 0;
    for (std::int64_t i = 0; i < n; ++i) out[i] = logarithm ? v[i] - top - low : out[i] / sum;
}

template <class T>
void normalize_row(normalization what, double epsilon, const T* v, std::int64_t n, T* out) {
    const bool logarithm = what == normalization::log_softmax;
    if (what != normalization::softmax && !logarithm) {
        run_wide(norm_of_row<T>{}, what == normalization::layer_norm, epsilon, v, n, out);
    } else if constexpr (std::is_same_v<T, double>) {
        softmax_doubles(logarithm, v, n, out);
    } else if (logarithm) {
        run_wide(softmax_of_floats<true>{}, v, n, out);
    } else {
        run_wide(softmax_of_floats<false>{}, v, n, out);
    }
}

/// Of small rows of dense floats or doubles.
template <std::same_as<normalize_op> Op>
void bind_loop(const Op& op, const host_operands& given, host_loop& out) {
    const int rank = given.extent.rank(), count = static_cast<int>(op.axes.size());
    const dtype type = given.inputs[0]->type;
    if ((type != dtype::f32 && type != dtype::f64) || op.axes.empty() || op.axes[0] != rank - count)
        return;
    out.take_rows(op, given, false, least_part / 8,
                  [](const host_loop& bound, std::byte* to, const thread_pool&) {
                      const auto& norm = *static_cast<const Op*>(bound.what);
                      const auto all = [&]<class T>(T) {
                          const auto* const in = static_cast<const T*>(bound.from[0]);
                          auto* const result = reinterpret_cast<T*>(to);
                          if (bound.length < end_of_short_rows<T>)
                              return normalize_short_rows<T>(norm.what, norm.epsilon,
                                                             {in, {bound.length, 1}},
                                                             {result, {bound.length, 1}},
                                                             bound.rows / bound.length,
                                                             bound.length);
                          for (std::int64_t i = 0; i < bound.count; i += bound.length)
                              normalize_row(norm.what, norm.epsilon, in + i, bound.length,
                                            result + i);
                      };
                      if (static_cast<const host_operands*>(bound.operands)->type == dtype::f64)
                          all(double{});
                      else all(float{});
                  });
}

/// Of rows beside each other along the last outer axis, or the longest where that is short.
template <class T>
void normalize_short_rows_of(normalize_plan& plan, const host_buffers& buffers,
                             const thread_pool& threads) {
    normalize_problem& p = plan.p;
    const std::int64_t beside =
        p.outer.back() < short_line
            ? put_longest_last(p.outer, 0, operands_of(p.prologue, p.epilogue))
            : 1;
    const int rank = plan.outer_rank - 1;
    const std::int64_t n = plan.length, rows = p.outer.back(), most = rows_at_a_time,
                       pieces = (rows + most - 1) / most, count = plan.outers / rows * pieces,
                       share = std::max<std::int64_t>(1, thread_part / (most * n));
    shape batch = p.outer;
    batch.erase(rank);
    threads.run((count + share - 1) / share, parts_for_a_thread(share * most * n), [&](auto part) {
        const int along = std::min(rows, most) > n ? 0 : 1;
        matrix_parts<T> in(leaf_alone<T>(p.prologue), p.prologue, buffers, rank, along),
            out(result_alone<T>(p.epilogue), p.epilogue, buffers, rank, along);
        const std::int64_t end = std::min((part + 1) * share, count);
        for (std::int64_t i = part * share; i < end; ++i) {
            const std::int64_t from[] = {i / beside % pieces * most, 0},
                               size[] = {std::min(most, rows - from[0]), n};
            const index_list at = index_of(i / beside / pieces * beside + i % beside, batch);
            normalize_short_rows<T>(p.what, p.epsilon, in.read(at, from, size),
                                    out.place(at, from, size), size[0], n);
            out.write(at, from, size);
        }
    });
}

template <class T>
void normalize_rows_of(const normalize_problem& asked, const host_buffers& buffers,
                       const thread_pool& threads) {
    normalize_plan plan(asked);
    if (plan.length < end_of_short_rows<T> && plan.outer_rank > 0)
        return normalize_short_rows_of<T>(plan, buffers, threads);
    const std::int64_t share = std::max<std::int64_t>(1, thread_part / plan.length),
                       parts = (plan.outers + share - 1) / share;
    threads.run(parts, parts_for_a_thread(share * plan.length), [&](std::int64_t part) {
        number_rows<T> in(plan.p.prologue, buffers);
        number_results<T> out(plan.p.epilogue, buffers);
        index_list at = row_at(plan.all, part * share);
        for (std::int64_t i = part * share; i < std::min((part + 1) * share, plan.outers); ++i) {
            T* const values = out.place(at, plan.length);
            normalize_row(plan.p.what, plan.p.epsilon, in.read(at, plan.length), plan.length,
                          values);
            out.write(at, plan.length, values);
            next_row(plan.all, at);
        }
    });
}
template <std::same_as<normalize_problem> P>
void normalize_all(const P& p, const host_buffers& buffers, const thread_pool& threads) {
    if (computes_in_float(p.prologue)) normalize_rows_of<float>(p, buffers, threads);
    else normalize_rows_of<double>(p, buffers, threads);
}

}  // namespace detail

/// Of rows along one axis, or axes that lie as one.
template <std::same_as<normalize_problem> P>
void find_loop(const P& p, const host_buffers& buffers, host_loop& out) {
    if (element_count(p.outer) * element_count(p.inner) == 0) return;
    if (p.inner.rank() > 1) {
        const detail::normalize_plan plan(p);
        if (!plan.fits || plan.inner_rank != 1) return;
    }
    out.solve<detail::normalize_all<P>>(p, buffers);
}

}}  // namespace pumice::PUMICE_ABI
