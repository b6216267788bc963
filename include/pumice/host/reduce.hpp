// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Sums, means and extremes of floats on the host: along rows, or down columns. Where a reduction is
// cut does not depend on the threads, so neither does its result.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/thread_pool.hpp>
#include <pumice/host/accumulate.hpp>
#include <pumice/host/lanes.hpp>
#include <pumice/host/loop.hpp>
#include <pumice/host/threes.hpp>
#include <pumice/host/values.hpp>
#include <pumice/kernels/reduce.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

constexpr bool reduces_fast(reduction what) noexcept {
    return what == reduction::sum || what == reduction::mean || what == reduction::max ||
           what == reduction::min;
}
constexpr double first_of(reduction what) noexcept {
    constexpr double end = std::numeric_limits<double>::infinity();
    return what == reduction::max ? -end : what == reduction::min ? end : 0;
}
/// Axes of fewer elements are not worth a loop of their own (host/accumulate.hpp).
inline constexpr std::int64_t short_axis = 32;

/// `so_far` joined with n floats; a sum where it is a mean.
inline double reduce_floats(reduction what, const float* v, std::int64_t n, double so_far) {
    const auto start = static_cast<float>(so_far);
    if (what == reduction::max) return run_wide(extreme_of_floats<1>{}, v, n, start);
    if (what == reduction::min) return run_wide(extreme_of_floats<-1>{}, v, n, start);
    return so_far + run_wide(sum_of_floats{}, v, n);
}

/// totals[i] joined with v[i], v[i + step] ... v[i + (rows - 1) step] for i < n. Few rows: sums of
/// a column are taken in float before they join the total.
template <int Sign>
struct columns_of_floats {
    static constexpr std::int64_t most_rows = 16;

    /// Into floats that hold nothing yet, or into totals.
    template <class Total>
    [[gnu::always_inline]] void operator()(const float* v, std::int64_t step, std::int64_t rows,
                                           std::int64_t n, Total* totals) const {
        std::int64_t i = 0;
        for (; i + 2 * lane_count <= n; i += 2 * lane_count) {
            float_lanes a = lanes_at(v + i), b = lanes_at(v + i + lane_count);
            for (std::int64_t r = 1; r < rows; ++r) {
                const float_lanes x = lanes_at(v + r * step + i),
                                  y = lanes_at(v + r * step + i + lane_count);
                if constexpr (Sign == 0) a += x, b += y;
                else {
                    a = ((Sign > 0 ? x > a : x < a) | (x != x)) ? x : a;
                    b = ((Sign > 0 ? y > b : y < b) | (y != y)) ? y : b;
                }
            }
            if constexpr (std::is_same_v<Total, float>) {
                lanes_at(totals + i) = Sign == 0 ? a + 0.0f : a;  // the sum of -0 is 0
                lanes_at(totals + i + lane_count) = Sign == 0 ? b + 0.0f : b;
            } else {
                float found[2 * lane_count];
                lanes_at(found) = a;
                lanes_at(found + lane_count) = b;
                join(found, totals + i, 2 * lane_count);
            }
        }
        constexpr bool fresh = std::is_same_v<Total, float>;
        if constexpr (fresh)
            for (std::int64_t k = i; k < n; ++k) totals[k] = Sign == 0 ? v[k] + 0.0f : v[k];
        for (std::int64_t r = fresh ? 1 : 0; r < rows; ++r)
            join(v + r * step + i, totals + i, n - i);
    }
    template <class Total>
    [[gnu::always_inline]] static void join(const float* v, Total* __restrict totals,
                                            std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) {
            const Total x = v[i];
            if constexpr (Sign == 0) totals[i] += x;
            else totals[i] = (Sign > 0 ? x > totals[i] : x < totals[i]) || x != x ? x : totals[i];
        }
    }
};
template <class Total>
void join_few(reduction what, const float* v, std::int64_t step, std::int64_t rows, std::int64_t n,
              Total* totals) {
    if (what == reduction::max) run_wide(columns_of_floats<1>{}, v, step, rows, n, totals);
    else if (what == reduction::min) run_wide(columns_of_floats<-1>{}, v, step, rows, n, totals);
    else run_wide(columns_of_floats<0>{}, v, step, rows, n, totals);
}
inline void join_columns(reduction what, const float* v, std::int64_t step, std::int64_t rows,
                         std::int64_t n, double* totals) {
    constexpr std::int64_t most = columns_of_floats<0>::most_rows;
    for (std::int64_t i = 0; i < rows; i += most)
        join_few(what, v + i * step, step, std::min(most, rows - i), n, totals);
}
inline float finished(reduction what, double total, std::int64_t count) {
    return static_cast<float>(what == reduction::mean ? total / static_cast<double>(count) : total);
}

/// Rows of few floats, one by one; the results are those of join_short, bit for bit.
template <class Way>
struct short_rows {
    [[gnu::always_inline]] void operator()(reduction what, const float* v, std::int64_t rows,
                                           std::int64_t n, float* out) const {
        for (std::int64_t i = 0; i < rows; ++i, v += n) {
            typename Way::first r;
            typename Way::second s;
            Way::start(r, s);
            for (std::int64_t k = 0; k < n; ++k) Way::one(r, s, v[k], k, 0);
            out[i] = finished(what, r, n);
        }
    }
};

inline void reduce_short_rows(reduction what, const float* in, std::int64_t rows, std::int64_t n,
                              float* out) {
    const auto by = [&]<class Way>(Way) { run_wide(short_rows<Way>{}, what, in, rows, n, out); };
    if (what == reduction::max) by(joined_extreme<float, 1>{});
    else if (what == reduction::min) by(joined_extreme<float, -1>{});
    else by(joined_sum<float, as_it_is>{});
}

/// Sums or means of `rows` rows of n floats that lie dense.
struct sum_long_rows {
    [[gnu::always_inline]] void operator()(reduction what, const float* v, std::int64_t rows,
                                           std::int64_t n, float* out) const {
        for (std::int64_t i = 0; i < rows; ++i, v += n)
            out[i] = finished(what, sum_of_floats{}(v, n), n);
    }
};
inline void reduce_long_rows(reduction what, const float* in, std::int64_t rows, std::int64_t n,
                             float* out) {
    if (what == reduction::sum || what == reduction::mean)
        return run_wide(sum_long_rows{}, what, in, rows, n, out);
    for (std::int64_t i = 0; i < rows; ++i, in += n)
        out[i] = finished(what, reduce_floats(what, in, n, first_of(what)), n);
}
/// Each of `rows` columns of n lines of `rows` floats.
inline void reduce_down(reduction what, const float* in, std::int64_t rows, std::int64_t n,
                        float* out) {
    if (n <= columns_of_floats<0>::most_rows && what != reduction::mean)
        return join_few(what, in, rows, n, rows, out);
    constexpr std::int64_t block = 256;
    for (std::int64_t i = 0; i < rows; i += block) {
        const std::int64_t count = std::min(block, rows - i);
        double totals[block];
        std::fill(totals, totals + count, first_of(what));
        join_columns(what, in + i, rows, n, count, totals);
        for (std::int64_t k = 0; k < count; ++k) out[i + k] = finished(what, totals[k], n);
    }
}

/// Reduces what lies dense, as `join_dense` says, by a way.
template <class Way>
void reduce_dense_by(const host_loop& bound, dtype type, bool mean, std::byte* to) {
    using results = results_of<Way>;
    join_dense<Way>(type, bound.from[0], bound.down, bound.rows, bound.length,
                    [&](std::int64_t i, const auto* a, const auto* b, std::int64_t count) {
                        typename results::type values[host_block_size];
                        results::put(a, b, count, mean ? bound.length : 0, values);
                        exchange(results::place ? dtype::i64 : type, false, to, i, 1, values,
                                 count);
                    });
}
template <auto& Reduce, std::same_as<reduce_op> Op>
void reduce_dense_floats(const host_loop& bound, std::byte* to, const thread_pool&) {
    Reduce(static_cast<const Op*>(bound.what)->what, static_cast<const float*>(bound.from[0]),
           bound.rows, bound.length, reinterpret_cast<float*>(to));
}
template <std::same_as<reduce_op> Op>
void reduce_dense_numbers(const host_loop& bound, std::byte* to, const thread_pool&) {
    const reduction what = static_cast<const Op*>(bound.what)->what;
    const dtype type = static_cast<const host_operands*>(bound.operands)->inputs[0]->type;
    with_host_arithmetic(info(type).arithmetic, [&]<class T>(T) {
        with_way<typename number_of<T>::type>(what, [&]<class Way>(Way) {
            reduce_dense_by<Way>(bound, type, what == reduction::mean, to);
        });
    });
}
/// Sums of rows of three, also of products, go where they are to lie.
template <std::same_as<reduce_op> Op>
void sum_dense_threes(const host_loop& bound, std::byte* to, const thread_pool&) {
    const host_operands& given = *static_cast<const host_operands*>(bound.operands);
    const void* const factor = given.multiplied ? first_value(*given.inputs[1]) : nullptr;
    with_host_arithmetic(info(given.inputs[0]->type).arithmetic, [&]<class A>(A) {
        using T = typename joined_sum<typename number_of<A>::type, as_it_is>::value;
        run_wide(sum_threes<T>{}, static_cast<const T*>(bound.from[0]),
                 static_cast<const T*>(factor), bound.rows, reinterpret_cast<T*>(to));
    });
}
/// Sums of doubles, put where they are to lie: of rows.
struct sum_rows {
    [[gnu::always_inline]] void operator()(const double* v, std::int64_t rows, std::int64_t n,
                                           double* out) const {
        using way = joined_sum<double, as_it_is>;
        for (std::int64_t i = 0; i < rows; ++i, v += n) {
            double sum, lost;
            way::start(sum, lost);
            way::row(sum, lost, v, n, 0, 0);
            out[i] = way::total(sum, lost);
        }
    }
};
/// And down columns of few rows, in registers.
inline constexpr std::int64_t most_rows_held = 64;
template <std::same_as<reduce_op> Op>
void sum_dense_doubles(const host_loop& bound, std::byte* to, const thread_pool&) {
    const auto* const v = static_cast<const double*>(bound.from[0]);
    auto* const out = reinterpret_cast<double*>(to);
    if (bound.down) run_wide(sum_lines{}, v, bound.rows, bound.length, bound.rows, out);
    else run_wide(sum_rows{}, v, bound.rows, bound.length, out);
}
/// Whether reductions of a type are found in one pass.
constexpr bool takes_one_pass(reduction what, dtype type) noexcept {
    const bool extreme = what == reduction::max || what == reduction::min,
               logical = what == reduction::any || what == reduction::all;
    if (type == dtype::boolean) return extreme || logical;
    return !logical && !is_packed(type) && what != reduction::logsumexp && what != reduction::var &&
           what != reduction::by_op;
}

/// Of little that lies dense. Of products: only where they need not be stored.
template <std::same_as<reduce_op> Op>
void bind_loop(const Op& op, const host_operands& given, host_loop& out) {
    const dtype type = given.inputs[0]->type;
    const bool floats = type == dtype::f32 && reduces_fast(op.what);
    if (!floats && !takes_one_pass(op.what, type)) return;
    out.take_rows(op, given, true, least_part, reduce_dense_numbers<Op>);
    if (!out) return;
    if (out.length == 3 && !out.down && op.what == reduction::sum && computed_as(type) == type) {
        out.loop = sum_dense_threes<Op>;
    } else if (given.multiplied) {
        out.loop = nullptr;
    } else if (floats) {
        // Blocks along an axis of few elements are not worth their loop. Few short rows are reduced
        // one by one, many by blocks.
        if (out.down) {
            if (out.rows >= short_axis / 2 || out.count <= 2048)
                out.loop = reduce_dense_floats<reduce_down, Op>;
        } else if (out.length >= short_axis / 2) {
            out.loop = reduce_dense_floats<reduce_long_rows, Op>;
        } else if (out.rows <= short_axis) {
            out.loop = reduce_dense_floats<reduce_short_rows, Op>;
        }
    } else if (op.what == reduction::sum && type == dtype::f64 &&
               (out.down ? out.length <= most_rows_held : out.length > most_short)) {
        out.loop = sum_dense_doubles<Op>;
    }
}

/// A reduction cut into pieces, which any thread may do. Pre: its plan fits, and it has a result.
template <std::same_as<reduce_problem> P>
class host_reduction {
public:
    host_reduction(const P& p, const host_buffers& buffers)
        : plan_(p, false, false), buffers_(buffers) {}

    void run(const thread_pool& threads) {
        totals_.assign(static_cast<std::size_t>(plan_.outers), first_of(plan_.p.what));
        if (plan_.length > 0) {
            if (plan_.prefers_columns()) columns(threads);
            else rows(threads);
        }
        float_results out(plan_.p.epilogue, buffers_);
        const shape& outer = plan_.p.outer;
        index_list at = row_at(outer, 0);
        for (std::int64_t i = 0; i < plan_.outers; next_row(outer, at)) {
            float* const values = out.place(at, outer.back());
            for (std::int64_t k = 0; k < outer.back(); ++k)
                values[k] =
                    finished(plan_.p.what, totals_[static_cast<std::size_t>(i++)], plan_.length);
            out.write(at, outer.back(), values);
        }
    }

private:
    /// Each outer coordinate in chunks of its innermost reduced axis, each chunk on its own.
    void rows(const thread_pool& threads) {
        const reduction what = plan_.p.what;
        const std::int64_t width = plan_.p.inner.back(), lines = plan_.length / width,
                           chunks = (width + least_part - 1) / least_part,
                           pieces = plan_.outers * lines * chunks,
                           share = std::max<std::int64_t>(1, thread_part / width),
                           parts = (pieces + share - 1) / share,
                           elements = share * std::min(width, least_part);
        array_list<double> found(static_cast<std::size_t>(pieces));
        threads.run(parts, parts_for_a_thread(elements), [&](std::int64_t part) {
            float_rows values(plan_.p.prologue, buffers_, plan_.all);
            index_list at = row_at(plan_.all, part * share / chunks);
            std::int64_t& begin = at[at.rank() - 1] = part * share % chunks * least_part;
            for (std::int64_t i = part * share; i < std::min((part + 1) * share, pieces); ++i) {
                const std::int64_t n = std::min(least_part, width - begin);
                found[static_cast<std::size_t>(i)] =
                    reduce_floats(what, values.read(at, n), n, first_of(what));
                if ((begin += n) < width) continue;
                begin = 0;
                next_row(plan_.all, at);
            }
        });
        for (std::int64_t i = 0; i < pieces; ++i)
            join(totals_[static_cast<std::size_t>(i / (lines * chunks))],
                 found[static_cast<std::size_t>(i)]);
    }
    void join(double& total, double more) const {
        const reduction what = plan_.p.what;
        if (what == reduction::max) total = more > total || more != more ? more : total;
        else if (what == reduction::min) total = more < total || more != more ? more : total;
        else total += more;
    }

    /// The innermost outer axis goes last, and whole lines of it are joined.
    void columns(const thread_pool& threads) {
        fused prologue = plan_.p.prologue;
        const int axis = plan_.outer_rank - 1;
        for (operand& o : prologue.leaves) {
            o.steps.push_back(o.steps[axis]);
            o.steps.erase(axis);
        }
        shape head = plan_.p.outer;
        const shape domain = plan_.across();
        const std::int64_t width = head.back(),
                           chunk = std::max<std::int64_t>(2048, thread_part / plan_.length),
                           chunks = (width + chunk - 1) / chunk,
                           parts = plan_.outers / width * chunks,
                           elements = std::min(chunk, width) * plan_.length;
        head[axis] = 1;
        threads.run(parts, parts_for_a_thread(elements), [&](std::int64_t part) {
            const std::int64_t begin = part % chunks * chunk, n = std::min(chunk, width - begin);
            double* const totals = totals_.data() + part / chunks * width + begin;
            float_rows values(prologue, buffers_, domain);
            index_list outer = row_at(head, part / chunks);
            outer.erase(axis);
            // Lines that lie evenly spaced are joined together, others one by one.
            const bool even = values.in_place() && plan_.inner_rank == 1;
            shape lines = even ? shape{1} : plan_.p.inner;
            lines.push_back(1);  // what for_each_row leaves to its caller
            for_each_row(lines, [&](const index_list& inner) {
                index_list at = outer;
                for (const std::int64_t i : inner) at.push_back(i);
                at.push_back(begin);
                const float* const v = values.read(at, n);
                if (even)
                    join_columns(plan_.p.what, v, prologue.leaves[0].steps[axis], plan_.length, n,
                                 totals);
                else join_columns(plan_.p.what, v, 0, 1, n, totals);
            });
        });
    }

    reduce_plan plan_;
    const host_buffers& buffers_;
    array_list<double> totals_;
};

template <std::same_as<reduce_problem> P>
void reduce_all(const P& p, const host_buffers& buffers, const thread_pool& threads) {
    host_reduction(p, buffers).run(threads);
}

}  // namespace detail

template <std::same_as<reduce_problem> P>
void find_loop(const P& p, const host_buffers& buffers, host_loop& out) {
    const dtype type = detail::reduced_type(p);
    const bool real = p.what == reduction::logsumexp || p.what == reduction::var,
               logical = type == dtype::boolean;
    const bool extreme = p.what == reduction::any || p.what == reduction::all ||
                         p.what == reduction::max || p.what == reduction::min;
    if (p.by || element_count(p.outer) == 0 || (real && !is_floating(type)) ||
        (logical && !extreme))
        return;
    const detail::reduce_plan plan(p, false, false);
    if (!plan.fits) return;
    const shape& blocks = plan.prefers_columns() ? plan.p.outer : plan.p.inner;
    if (detail::reduces_fast(p.what) && computes_in_float(p.prologue) &&
        (blocks.back() >= detail::short_axis || plan.length == 0))
        out.solve<detail::reduce_all<P>>(p, buffers);
    else if (plan.length > 0) out.solve<detail::accumulate<P>>(p, buffers);
}

}}  // namespace pumice::PUMICE_ABI
