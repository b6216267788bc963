// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Reductions of any type over any axes on the host, block by block: along the reduced axes, or
// along a kept one. Where a reduction is cut does not depend on the threads, so neither does its
// result.
#pragma once

#include <pumice/base/thread_pool.hpp>
#include <pumice/base/wide.hpp>
#include <pumice/host/values.hpp>
#include <pumice/kernels/reduce.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

// A way to reduce keeps two numbers, `first` and `second`, for each result. `one` joins a value to
// them, `join` what was found further on. `given` is what an earlier pass found.

struct no_second {};

/// Sums of f(value): of integers modulo their width, of f32 in double, of f64 with what each
/// addition lost.
template <class T, class F>
struct joined_sum {
    static constexpr bool real = std::is_floating_point_v<T>,
                          keeps_lost = std::is_same_v<T, double>;
    using value = T;
    using first =
        typename std::conditional_t<real, std::type_identity<double>, std::make_unsigned<T>>::type;
    using second = std::conditional_t<keeps_lost, double, no_second>;

    [[gnu::always_inline]] static void add(first& sum, second& lost, first v) {
        if constexpr (keeps_lost) {
            const double s = sum + v, part = s - sum;
            lost += (sum - (s - part)) + (v - part);
            sum = s;
        } else {
            sum = static_cast<first>(sum + v);
        }
    }
    static void start(first& sum, second& lost) { sum = 0, lost = {}; }
    [[gnu::always_inline]] static void one(first& sum, second& lost, T v, std::int64_t,
                                           double given) {
        add(sum, lost, F::of(static_cast<first>(v), given));
    }
    [[gnu::always_inline]] static void row(first& sum, second& lost, const T* v, std::int64_t n,
                                           std::int64_t, double given) {
        constexpr std::int64_t lanes = 32;
        std::int64_t i = 0;
        if (n >= lanes) {
            first part[lanes] = {};
            for (; i + lanes <= n; i += lanes)
                for (std::int64_t k = 0; k < lanes; ++k)
                    part[k] =
                        static_cast<first>(part[k] + F::of(static_cast<first>(v[i + k]), given));
            for (std::int64_t half = lanes / 2; half > 0; half /= 2)
                for (std::int64_t k = 0; k < half; ++k)
                    part[k] = static_cast<first>(part[k] + part[k + half]);
            add(sum, lost, part[0]);
        }
        for (; i < n; ++i) add(sum, lost, F::of(static_cast<first>(v[i]), given));
    }
    static void join(first& sum, second& lost, first more, second more_lost) {
        add(sum, lost, more);
        if constexpr (keeps_lost) lost += more_lost;
    }
    /// What was lost is not a number where the sum is infinite.
    static first total(first sum, second lost) {
        if constexpr (keeps_lost) return std::isfinite(lost) ? sum + lost : sum;
        else return sum;
    }
};
struct as_it_is {
    template <class T>
    static T of(T v, double) {
        return v;
    }
};
struct squared_distance {
    static double of(double v, double mean) { return (v - mean) * (v - mean); }
};
struct exp_below {
    static double of(double v, double top) { return std::exp(v - top); }
};

/// Products: of integers modulo their width, of reals in long double.
template <class T>
struct joined_product {
    using value = T;
    using first =
        typename std::conditional_t<std::is_floating_point_v<T>, std::type_identity<long double>,
                                    std::make_unsigned<T>>::type;
    using second = no_second;

    static void start(first& r, second&) { r = 1; }
    [[gnu::always_inline]] static void one(first& r, second&, T v, std::int64_t, double) {
        r = static_cast<first>(r * static_cast<first>(v));
    }
    [[gnu::always_inline]] static void row(first& r, second& s, const T* v, std::int64_t n,
                                           std::int64_t, double) {
        for (std::int64_t i = 0; i < n; ++i) one(r, s, v[i], 0, 0);
    }
    static void join(first& r, second&, first more, second) { r = static_cast<first>(r * more); }
    static first total(first r, second) { return r; }
};

/// The greatest value, or the least where Sign is -1; NaN where there is one.
template <class T, int Sign>
struct joined_extreme {
    using value = T;
    using first = T;
    using second = no_second;

    [[gnu::always_inline]] static bool beats(T v, T best) {
        return (Sign > 0 ? v > best : v < best) | (v != v);
    }
    static constexpr T highest() {
        using limits = std::numeric_limits<T>;
        return limits::has_infinity ? limits::infinity() : limits::max();
    }
    static constexpr T lowest() {
        if constexpr (std::is_floating_point_v<T>) return -highest();
        else return std::numeric_limits<T>::min();
    }
    static void start(first& best, second&) { best = Sign > 0 ? lowest() : highest(); }
    [[gnu::always_inline]] static void one(first& best, second&, T v, std::int64_t, double) {
        best = beats(v, best) ? v : best;
    }
    [[gnu::always_inline]] static void row(first& best, second& s, const T* v, std::int64_t n,
                                           std::int64_t, double) {
        constexpr std::int64_t lanes = 32;
        std::int64_t i = 0;
        if (n >= lanes) {
            T part[lanes];
            for (std::int64_t k = 0; k < lanes; ++k) part[k] = v[k];
            for (i = lanes; i + lanes <= n; i += lanes)
                for (std::int64_t k = 0; k < lanes; ++k)
                    part[k] = beats(v[i + k], part[k]) ? v[i + k] : part[k];
            for (std::int64_t k = 0; k < lanes; ++k) one(best, s, part[k], 0, 0);
        }
        for (; i < n; ++i) one(best, s, v[i], 0, 0);
    }
    static void join(first& best, second& s, first more, second) { one(best, s, more, 0, 0); }
    static first total(first best, second) { return best; }
};

/// Where the first extreme value lies, or the first NaN.
template <class T, int Sign>
struct joined_place {
    using extreme = joined_extreme<T, Sign>;
    using value = T;
    using first = T;
    using second = std::int64_t;

    static void start(first& best, second& at) { best = 0, at = -1; }
    [[gnu::always_inline]] static void one(first& best, second& at, T v, std::int64_t place,
                                           double) {
        const bool better = (at < 0) | ((best == best) & extreme::beats(v, best));
        best = better ? v : best;
        at = better ? place : at;
    }
    [[gnu::always_inline]] static void row(first& best, second& at, const T* v, std::int64_t n,
                                           std::int64_t place, double) {
        T top = v[0];
        no_second none;
        extreme::row(top, none, v, n, 0, 0);
        if (at >= 0 && (best != best || !extreme::beats(top, best))) return;
        std::int64_t i = 0;
        while (top == top ? v[i] != top : v[i] == v[i]) ++i;
        best = v[i];
        at = place + i;
    }
    static void join(first& best, second& at, first more, second where) {
        one(best, at, more, where, 0);
    }
    static std::int64_t total(first, second at) { return at; }
};

/// Blocks of values joined by a way, by the vectors that the processor has.
template <class Way>
struct join_row {
    using first = typename Way::first;
    using second = typename Way::second;
    [[gnu::always_inline]] void operator()(first* a, second* b, const void* v, std::int64_t n,
                                           std::int64_t place, double given) const {
        Way::row(*a, *b, static_cast<const typename Way::value*>(v), n, place, given);
    }
};
template <class Way>
struct join_each {
    using first = typename Way::first;
    using second = typename Way::second;
    [[gnu::always_inline]] static void some(first* __restrict a, second* __restrict b,
                                            const typename Way::value* v, std::int64_t n,
                                            std::int64_t place, const double* given) {
        for (std::int64_t i = 0; i < n; ++i)
            Way::one(a[i], b[i], v[i], place, given ? given[i] : 0);
    }
    [[gnu::always_inline]] void operator()(first* a, second* b, const void* values, std::int64_t n,
                                           std::int64_t place, const double* given) const {
        constexpr std::int64_t step = 32;  // a length that is known is what -O2 vectorises
        const auto* v = static_cast<const typename Way::value*>(values);
        std::int64_t i = 0;
        for (; i + step <= n; i += step)
            some(a + i, b + i, v + i, step, place, given ? given + i : nullptr);
        some(a + i, b + i, v + i, n - i, place, given ? given + i : nullptr);
    }
};

/// The numbers that values of a host arithmetic are.
template <class T>
struct number_of : std::type_identity<T> {};
template <>
struct number_of<bool> : std::type_identity<std::uint8_t> {};
template <class T>
struct number_of<wrapping<T>> : std::type_identity<T> {};

/// A reduction cut into pieces, which any thread may do. Pre: its plan fits, and it has a result of
/// at least one value.
class host_accumulation {
public:
    static constexpr std::int64_t block = host_program::block;

    host_accumulation(const reduce_problem& p, const host_buffers& buffers,
                      const thread_pool& threads)
        : plan_(p, false, false), buffers_(buffers), threads_(threads),
          type_(plan_.p.prologue.type()), across_(goes_across()) {
        if (!across_) return;
        const int axis = plan_.outer_rank - 1;  // goes last
        for (operand& o : plan_.p.prologue.leaves) {
            o.steps.push_back(o.steps[axis]);
            o.steps.erase(axis);
        }
    }

    void run() {
        with_host_arithmetic(info(type_).arithmetic, [&]<class T>(T) {
            using number = typename number_of<T>::type;
            switch (plan_.p.what) {
                case reduction::any:
                case reduction::max: return one_pass<joined_extreme<number, 1>>();
                case reduction::all:
                case reduction::min: return one_pass<joined_extreme<number, -1>>();
                case reduction::argmax: return one_pass<joined_place<number, 1>>();
                case reduction::argmin: return one_pass<joined_place<number, -1>>();
                case reduction::prod: return one_pass<joined_product<number>>();
                case reduction::logsumexp:
                case reduction::var:
                    if constexpr (std::is_floating_point_v<T>) return two_passes<T>();
                    return;
                default: return one_pass<joined_sum<number, as_it_is>>();
            }
        });
    }

private:
    /// Whether blocks go along the innermost kept axis: where the reduced one is short, or further
    /// apart.
    bool goes_across() const {
        const std::int64_t kept = plan_.p.outer.back(), reduced = plan_.p.inner.back();
        if (std::min(kept, reduced) < block / 4) return kept > reduced;
        return spacing_along(plan_.p.prologue, plan_.outer_rank - 1) <
               spacing_along(plan_.p.prologue, plan_.all.rank() - 1);
    }

    template <class Way>
    struct found {
        array_list<typename Way::first> a;
        array_list<typename Way::second> b;
        explicit found(std::int64_t n)
            : a(static_cast<std::size_t>(n)), b(static_cast<std::size_t>(n)) {
            for (std::size_t i = 0; i < a.size(); ++i) Way::start(a[i], b[i]);
        }
        auto total(std::int64_t i) const {
            return Way::total(a[static_cast<std::size_t>(i)], b[static_cast<std::size_t>(i)]);
        }
    };

    /// Each result in pieces of so many lines, which are joined in order.
    template <class Way>
    void pass(found<Way>& to, const double* given) {
        const std::int64_t kept = across_ ? plan_.p.outer.back() : 1,
                           line = across_ ? 1 : plan_.p.inner.back(), lines = plan_.length / line,
                           tile = std::min(kept, block), tiles = (kept + tile - 1) / tile,
                           heads = plan_.outers / kept,
                           most = std::clamp<std::int64_t>(thread_part / (tile * line), 1, lines),
                           pieces = (lines + most - 1) / most, cells = heads * tiles * pieces,
                           share = std::max<std::int64_t>(1, thread_part / (tile * line * most)),
                           parts = (cells + share - 1) / share;
        found<Way> apart(pieces > 1 ? plan_.outers * pieces : 0);
        found<Way>& into = pieces > 1 ? apart : to;
        // Coordinates: of the result, of the line, and 0 along the axis of blocks.
        shape of_result = plan_.p.outer, of_line = plan_.p.inner;
        shape& shorter = across_ ? of_result : of_line;
        shorter.erase(shorter.rank() - 1);
        threads_.run(parts, parts_for_a_thread(share * tile * line * most), [&](std::int64_t part) {
            host_rows values(plan_.p.prologue, buffers_);
            index_list place = index_list::filled(of_result.rank() + of_line.rank() + 1, 0);
            const auto put = [&](const shape& domain, int from, std::int64_t i) {
                for (int d = domain.rank() - 1; d >= 0; i /= domain[d], --d)
                    place[from + d] = i % domain[d];
            };
            for (std::int64_t c = part * share; c < std::min(cells, (part + 1) * share); ++c) {
                const std::int64_t piece = c / (heads * tiles), rest = c % (heads * tiles),
                                   begin = rest % tiles * tile, row = rest / tiles,
                                   n = std::min(tile, kept - begin), first = row * kept + begin;
                const auto at = static_cast<std::size_t>(piece * plan_.outers + first);
                put(of_result, 0, row);
                for (std::int64_t k = piece * most; k < std::min(lines, (piece + 1) * most); ++k) {
                    put(of_line, of_result.rank(), k);
                    if (across_)
                        run_wide(join_each<Way>{}, &into.a[at], &into.b[at],
                                 values.values(place, begin, n), n, k,
                                 given ? given + first : nullptr);
                    else
                        for (std::int64_t i = 0; i < line; i += block) {
                            const std::int64_t m = std::min(block, line - i);
                            run_wide(join_row<Way>{}, &into.a[at], &into.b[at],
                                     values.values(place, i, m), m, k * line + i,
                                     given ? given[first] : 0.0);
                        }
                }
            }
        });
        if (pieces > 1)
            for (std::int64_t i = 0; i < plan_.outers * pieces; ++i) {
                const auto from = static_cast<std::size_t>(i),
                           at = static_cast<std::size_t>(i % plan_.outers);
                Way::join(to.a[at], to.b[at], apart.a[from], apart.b[from]);
            }
    }
    template <class Way>
    void one_pass() {
        found<Way> sums(plan_.outers);
        pass(sums, nullptr);
        const bool mean = plan_.p.what == reduction::mean;
        using total = decltype(sums.total(0));
        if constexpr (std::is_floating_point_v<total>) {
            const auto count = static_cast<total>(mean ? plan_.length : 1);
            write(dtype::f64,
                  [&](std::int64_t i) { return static_cast<double>(sums.total(i) / count); });
        } else {
            using value = typename Way::value;
            using result = std::conditional_t<std::is_same_v<typename Way::second, std::int64_t>,
                                              std::int64_t, value>;
            constexpr bool place = std::is_same_v<typename Way::second, std::int64_t>;
            using wide = widest_of<result>;
            write(place ? dtype::i64 : computed_as(type_), [&](std::int64_t i) {
                const auto r = static_cast<result>(sums.total(i));
                return mean ? static_cast<result>(static_cast<wide>(r) /
                                                  static_cast<wide>(plan_.length))
                            : r;
            });
        }
    }
    /// The second over distances from what the first found.
    template <class T>
    void two_passes() {
        array_list<double> middle(static_cast<std::size_t>(plan_.outers));
        const auto keep = [&](auto& from, double by) {
            pass(from, nullptr);
            for (std::size_t i = 0; i < middle.size(); ++i)
                middle[i] = static_cast<double>(from.total(static_cast<std::int64_t>(i))) / by;
        };
        const auto count = static_cast<double>(plan_.length);
        if (plan_.p.what == reduction::var) {
            found<joined_sum<T, as_it_is>> sums(plan_.outers);
            keep(sums, count);
            found<joined_sum<T, squared_distance>> squares(plan_.outers);
            pass(squares, middle.data());
            return write(dtype::f64, [&](std::int64_t i) { return squares.total(i) / count; });
        }
        found<joined_extreme<T, 1>> tops(plan_.outers);
        keep(tops, 1);
        found<joined_sum<T, exp_below>> sums(plan_.outers);
        pass(sums, middle.data());
        write(dtype::f64, [&](std::int64_t i) {
            const double top = middle[static_cast<std::size_t>(i)];
            return std::isfinite(top) ? top + std::log(sums.total(i)) : top;
        });
    }

    /// result(i) of each outer coordinate, as values of `type`, through the epilogue.
    template <class F>
    void write(dtype type, F&& result) {
        host_rows out(plan_.p.epilogue, buffers_);
        const shape& outer = plan_.p.outer;
        std::int64_t i = 0;
        for_each_row(outer, [&](index_list at) {
            at.push_back(0);
            for (std::int64_t begin = 0; begin < outer.back(); begin += block) {
                const std::int64_t n = std::min(block, outer.back() - begin);
                decltype(result(0)) values[block];
                for (std::int64_t k = 0; k < n; ++k) values[k] = result(i++);
                if (!is_floating(type_) && type != dtype::i64) settle_block(type_, values, n);
                at[at.rank() - 1] = begin;
                out.write(at, type, reinterpret_cast<const std::byte*>(values), n);
            }
        });
    }

    reduce_plan plan_;
    const host_buffers& buffers_;
    const thread_pool& threads_;
    dtype type_;   // in which values are reduced
    bool across_;  // blocks go along the innermost kept axis
};

inline void accumulate(const reduce_problem& p, const host_buffers& buffers,
                       const thread_pool& threads) {
    host_accumulation(p, buffers, threads).run();
}

}}}  // namespace pumice::PUMICE_ABI::detail
