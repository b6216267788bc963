// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Reductions of any type over any axes on the host, block by block: along the reduced axes, or
// along the innermost kept one, or the longest where both are short. Where a reduction is cut does
// not depend on the threads, so neither does its result.
#pragma once

#include <pumice/base/thread_pool.hpp>
#include <pumice/host/joins.hpp>
#include <pumice/host/threes.hpp>
#include <pumice/host/values.hpp>
#include <pumice/kernels/reduce.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// A reduction cut into pieces, which any thread may do. Pre: its plan fits, and it has a result of
/// at least one value.
template <std::same_as<reduce_problem> P>
class host_accumulation {
public:
    static constexpr std::int64_t block = host_program::block;

    host_accumulation(const P& p, const host_buffers& buffers, const thread_pool& threads)
        : plan_(p, false, false), buffers_(buffers), threads_(threads),
          type_(plan_.p.prologue.type()), follow_(rows_follow()) {
        if (!follow_) put_long_axes_last();
        across_ = !follow_ && goes_across();
        tiled_ = follow_ ||
                 (across_ && plan_.length * std::min(plan_.p.outer.back(), block) <= thread_part);
        const int axis = plan_.outer_rank - 1;
        if (across_ || follow_)
            for (operand& o : plan_.p.prologue.leaves) {
                if (across_) o.steps.push_back(o.steps[axis]);  // goes last
                o.steps.erase(axis);
            }
        wraps_ = plan_.p.what == reduction::sum || plan_.p.what == reduction::prod;
        const fused& f = plan_.p.prologue;
        const span<const instruction> code = f.body->view().code;
        ready_ = code.size() == 1 && lies_ready(0);
        const instruction& last = code.back();
        product_ = plan_.p.what == reduction::sum && type_ != dtype::boolean &&
                   last.what == instruction::code::apply && last.op->body == "x * y" &&
                   code.size() == f.leaves.size() + 1 && lies_ready(last.args[0]) &&
                   lies_ready(last.args[1]);
    }

    void run() {
        with_host_arithmetic(info(type_).arithmetic, [&]<class T>(T) {
            using number = typename number_of<T>::type;
            if (plan_.p.what != reduction::logsumexp && plan_.p.what != reduction::var)
                with_way<number>(plan_.p.what, [&]<class Way>(Way) { one_pass<Way>(); });
            else if constexpr (std::is_floating_point_v<T>) two_passes<T>();
        });
    }

private:
    /// Whether the rows are short and follow each other, so that a block holds several.
    bool rows_follow() const {
        const int axis = plan_.outer_rank - 1;
        if (plan_.inner_rank != 1 || plan_.length > most_short) return false;
        for (const operand& o : plan_.p.prologue.leaves)
            if (o.steps[axis] != o.steps[axis + 1] * plan_.length) return false;
        return true;
    }
    /// Where the innermost axes are both short: kept ones in another order, or the reduced ones, as
    /// long as no place among them is asked for.
    void put_long_axes_last() {
        reduce_problem& p = plan_.p;
        const auto short_ones = [&] {
            return std::max(p.outer.back(), p.inner.back()) < short_line;
        };
        if (short_ones()) near_ = put_longest_last(p.outer, 0, operands_of(p.prologue, p.epilogue));
        const bool place = p.what == reduction::argmax || p.what == reduction::argmin;
        if (short_ones() && !place &&
            *std::max_element(p.inner.begin(), p.inner.end()) >= short_line)
            turned_ = put_longest_last(p.inner, plan_.outer_rank, operands_of(p.prologue)) > 1;
    }
    /// Whether blocks go along the innermost kept axis: where the reduced one is short, or further
    /// apart.
    bool goes_across() const {
        const std::int64_t kept = plan_.p.outer.back(), reduced = plan_.p.inner.back();
        if (std::min(kept, reduced) < short_line) return kept > reduced;
        return spacing_along(plan_.p.prologue, plan_.outer_rank - 1) <
               spacing_along(plan_.p.prologue, plan_.all.rank() - 1);
    }

    /// Whether instruction k is a leaf whose values are read where they lie.
    bool lies_ready(std::size_t k) const {
        const fused& f = plan_.p.prologue;
        const instruction& i = f.body->view().code[k];
        if (i.what != instruction::code::leaf || computed_as(type_) != type_) return false;
        const operand& o = f.leaves[i.index];
        return o.type == type_ && o.in_memory() && !o.format && o.map.empty() &&
               o.steps.back() == 1;
    }
    template <class Way>
    static constexpr bool adds_numbers =
        std::is_same_v<Way, joined_sum<typename Way::value, as_it_is>> &&
        !std::is_same_v<typename Way::value, std::uint8_t>;  // a truth value

    template <class Way>
    struct found {
        array_list<typename Way::first> a;
        array_list<typename Way::second> b;
        explicit found(std::int64_t n)
            : a(static_cast<std::size_t>(n)), b(static_cast<std::size_t>(n)) {
            for (std::size_t i = 0; i < a.size(); ++i) Way::start(a[i], b[i]);
        }
    };

    /// The place with coordinates number i of a domain from axis `from` on.
    static void put(index_list& place, const shape& domain, int from, std::int64_t i) {
        for (int d = domain.rank() - 1; d >= 0; i /= domain[d], --d)
            place[from + d] = i % domain[d];
    }
    /// Some results that lie along the last kept axis, from `begin` on.
    template <class Results>
    struct tile_of {
        host_rows& values;
        Results& out;
        index_list& place;  // coordinates of the results, but for the last axis
        std::int64_t begin, count;
    };
    using some_results = tile_of<host_rows>;
    /// What is reduced, by coordinates in the order in which it is walked.
    host_rows values_of_blocks() const {
        const fused& f = plan_.p.prologue;
        if (follow_) return host_rows(f, buffers_, wraps_);
        if (across_) return host_rows(f, buffers_, wraps_, plan_.across());
        shape domain = plan_.p.outer;
        for (const std::int64_t d : plan_.p.inner) domain.push_back(d);
        return host_rows(f, buffers_, wraps_, domain);
    }
    /// `f` of each tile: of short rows that follow each other, or of whole lines across.
    template <class Results = host_rows, class F>
    void each_tile(const F& f) {
        shape heads = plan_.p.outer;
        heads.erase(heads.rank() - 1);
        const std::int64_t kept = plan_.p.outer.back(),
                           most =
                               follow_ ? block / plan_.length : width_of_lines(near_, plan_.length),
                           whole = most >= lane_step ? most / lane_step * lane_step : most,
                           size = std::min(whole, kept), tiles = (kept + size - 1) / size,
                           cells = plan_.outers / kept * tiles, elements = size * plan_.length,
                           share = std::max<std::int64_t>(1, thread_part / elements),
                           parts = (cells + share - 1) / share;
        threads_.run(parts, parts_for_a_thread(share * elements), [&](std::int64_t part) {
            host_rows values = values_of_blocks();
            Results out(plan_.p.epilogue, buffers_);
            index_list place = index_list::filled(heads.rank() + 1, 0);
            for (std::int64_t c = part * share; c < std::min(cells, (part + 1) * share); ++c) {
                const std::int64_t begin = c / near_ % tiles * size;
                put(place, heads, 0, c / near_ / tiles * near_ + c % near_);
                place[heads.rank()] = 0;
                f(tile_of<Results>{values, out, place, begin, std::min(size, kept - begin)});
            }
        });
    }
    /// The values of short rows; a product's are put into `room`.
    template <class T>
    const T* values_of(const some_results& t, T* room) {
        const std::int64_t begin = t.begin * plan_.length, n = t.count * plan_.length;
        if constexpr (!std::is_same_v<T, std::uint8_t>)
            if (product_) {
                run_wide(multiply_each<T>{}, factor<T>(0, t), factor<T>(1, t), n, room);
                return room;
            }
        return static_cast<const T*>(t.values.values(t.place, begin, n));
    }
    /// Where a factor of theirs lies.
    template <class T, class Tile>
    const T* factor(int argument, const Tile& t) const {
        const span<const instruction> code = plan_.p.prologue.body->view().code;
        const host_array a =
            buffers_.array(plan_.p.prologue.leaves[code[code.back().args[argument]].index]);
        return reinterpret_cast<const T*>(a.data) + offset_of(a, t.place) + t.begin * plan_.length;
    }
    /// What a tile comes to.
    template <class Way>
    struct found_in_tile {
        typename Way::first a[block];
        typename Way::second b[block];
    };
    template <class Way>
    void join(const some_results& t, found_in_tile<Way>& to, const double* given) {
        if (follow_) {
            typename Way::value room[block];
            return run_wide(join_short<Way>{}, to.a + 0, to.b + 0,
                            static_cast<const void*>(values_of(t, room + 0)), t.count, plan_.length,
                            given);
        }
        for (std::int64_t i = 0; i < t.count; ++i) Way::start(to.a[i], to.b[i]);
        index_list at = t.place;
        for (int i = 0; i < plan_.inner_rank; ++i) at.push_back(0);
        join_across<Way>(t.values, at, 0, plan_.length, t.begin, t.count, to.a, to.b, given);
    }
    /// The lines [k, end) of a stretch of n results.
    template <class Way>
    void join_across(host_rows& values, index_list& at, std::int64_t k, std::int64_t end,
                     std::int64_t begin, std::int64_t n, typename Way::first* a,
                     typename Way::second* b, const double* given) {
        const void* from[most_lines];
        for (int count = 0; k < end; k += count) {
            count = 0;
            do {
                put(at, plan_.p.inner, plan_.outer_rank - 1, k + count);
                from[count++] = values.values(at, begin, n);
            } while (count < most_lines && k + count < end && (ready_ || values.rows_behind() > 0));
            join_lines<Way>(a, b, &from[0], count, n, k, given, plan_.length);
        }
    }
    /// Sums of rows of three, put where the results are to lie.
    template <class T>
    void sums_of_threes() {
        each_tile<number_results<T>>([&](const auto& t) {
            const T *a = nullptr, *b = nullptr;
            if (product_) a = factor<T>(0, t), b = factor<T>(1, t);
            else a = static_cast<const T*>(t.values.values(t.place, t.begin * 3, t.count * 3));
            t.place[t.place.rank() - 1] = t.begin;
            T* const sums = t.out.place(t.place, t.count);
            run_wide(sum_threes<T>{}, a, b, t.count, sums);
            if (!is_floating(type_)) settle_block(type_, sums, t.count);
            t.out.write(t.place, t.count, sums);
        });
    }
    /// Each result in pieces of so many lines, which are joined in order.
    template <class Way>
    void pass(found<Way>& to, const double* given) {
        // Lines beside each other in memory are read together, a piece of each.
        const bool together = turned_ && !across_;
        const std::int64_t kept = across_ ? plan_.p.outer.back() : 1,
                           line = across_ ? 1 : plan_.p.inner.back(), lines = plan_.length / line,
                           tile = std::min(kept, block), tiles = (kept + tile - 1) / tile,
                           heads = plan_.outers / kept,
                           most = together ? lines
                                           : std::clamp<std::int64_t>(thread_part / (tile * line),
                                                                      1, lines),
                           width = together ? std::max(block, thread_part / lines / block * block)
                                            : line,
                           pieces = (lines + most - 1) / most * ((line + width - 1) / width),
                           cells = heads * tiles * pieces, elements = tile * width * most,
                           share = std::max<std::int64_t>(1, thread_part / elements),
                           parts = (cells + share - 1) / share;
        found<Way> apart(pieces > 1 ? plan_.outers * pieces : 0);
        found<Way>& into = pieces > 1 ? apart : to;
        // Coordinates: of the result, of the line, and 0 along the axis of blocks.
        shape of_result = plan_.p.outer, of_line = plan_.p.inner;
        shape& shorter = across_ ? of_result : of_line;
        shorter.erase(shorter.rank() - 1);
        threads_.run(parts, parts_for_a_thread(share * elements), [&](std::int64_t part) {
            host_rows values = values_of_blocks();
            index_list place = index_list::filled(of_result.rank() + of_line.rank() + 1, 0);
            for (std::int64_t c = part * share; c < std::min(cells, (part + 1) * share); ++c) {
                const std::int64_t piece = c / (heads * tiles), rest = c % (heads * tiles),
                                   begin = rest % tiles * tile, row = rest / tiles,
                                   n = std::min(tile, kept - begin), first = row * kept + begin;
                const auto at = static_cast<std::size_t>(piece * plan_.outers + first);
                put(place, of_result, 0, row);
                if (across_) {
                    join_across<Way>(values, place, piece * most,
                                     std::min(lines, (piece + 1) * most), begin, n, &into.a[at],
                                     &into.b[at], given ? given + first : nullptr);
                    continue;
                }
                const auto join_block = [&](std::int64_t k, std::int64_t i, std::int64_t end) {
                    const std::int64_t m = std::min(block, end - i);
                    put(place, of_line, of_result.rank(), k);
                    run_wide(join_row<Way>{}, &into.a[at], &into.b[at], values.values(place, i, m),
                             m, k * line + i, given ? given[first] : 0.0);
                };
                if (together) {
                    const std::int64_t end = std::min(line, (piece + 1) * width);
                    for (std::int64_t i = piece * width; i < end; i += block)
                        for (std::int64_t k = 0; k < lines; ++k) join_block(k, i, end);
                } else {
                    const std::int64_t end = std::min(lines, (piece + 1) * most);
                    for (std::int64_t k = piece * most; k < end; ++k)
                        for (std::int64_t i = 0; i < line; i += block) join_block(k, i, line);
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
        using results = results_of<Way>;
        using result = typename results::type;
        const dtype type = results::place ? dtype::i64 : computed_as(type_);
        const std::int64_t mean_of = plan_.p.what == reduction::mean ? plan_.length : 0;
        if constexpr (adds_numbers<Way>)
            if (follow_ && plan_.length == 3 && mean_of == 0)
                return sums_of_threes<typename Way::value>();
        if (tiled_)
            return each_tile([&](const some_results& t) {
                found_in_tile<Way> of_tile;
                join(t, of_tile, nullptr);
                result values[block];
                results::put(of_tile.a, of_tile.b, t.count, mean_of, values);
                put_results(t, type, values + 0);
            });
        found<Way> all(plan_.outers);
        pass(all, nullptr);
        write<result>(type, [&](std::int64_t first, std::int64_t n, result* values) {
            results::put(all.a.data() + first, all.b.data() + first, n, mean_of, values);
        });
    }
    /// The second over distances from what the first found.
    template <class T>
    void two_passes() {
        const auto count = static_cast<double>(plan_.length);
        if (plan_.p.what == reduction::var)
            return two_passes_of<joined_sum<T, as_it_is>, joined_sum<T, squared_distance>>(
                count, [count](double squares, double) { return squares / count; });
        two_passes_of<joined_extreme<T, 1>, joined_sum<T, exp_below>>(1, [](double sum,
                                                                            double top) {
            return std::isfinite(top) ? top + std::log(sum) : top;
        });
    }
    template <class First, class Second, class F>
    void two_passes_of(double by, const F& result) {
        const auto keep = [by](const auto* a, const auto* b, std::int64_t n, double* middle) {
            for (std::int64_t i = 0; i < n; ++i)
                middle[i] = static_cast<double>(First::total(a[i], b[i])) / by;
        };
        const auto finish = [&](const auto* a, const auto* b, const double* middle, std::int64_t n,
                                double* values) {
            for (std::int64_t i = 0; i < n; ++i)
                values[i] = result(Second::total(a[i], b[i]), middle[i]);
        };
        if (tiled_)
            return each_tile([&](const some_results& t) {
                double middle[block], values[block];
                found_in_tile<First> first;
                join(t, first, nullptr);
                keep(first.a, first.b, t.count, middle);
                found_in_tile<Second> second;
                join(t, second, middle);
                finish(second.a, second.b, middle, t.count, values);
                put_results(t, dtype::f64, values + 0);
            });
        array_list<double> middle(static_cast<std::size_t>(plan_.outers));
        found<First> first(plan_.outers);
        pass(first, nullptr);
        keep(first.a.data(), first.b.data(), plan_.outers, middle.data());
        found<Second> second(plan_.outers);
        pass(second, middle.data());
        write<double>(dtype::f64, [&](std::int64_t i, std::int64_t n, double* values) {
            finish(second.a.data() + i, second.b.data() + i, middle.data() + i, n, values);
        });
    }

    /// The results of all outer coordinates, as values of `type`, through the epilogue: n of them
    /// from the first on by results(first, n, values).
    template <class R, class F>
    void write(dtype type, const F& results) {
        host_rows out(plan_.p.epilogue, buffers_);
        const shape& outer = plan_.p.outer;
        std::int64_t first = 0;
        for_each_row(outer, [&](index_list at) {
            at.push_back(0);
            for (std::int64_t begin = 0; begin < outer.back(); begin += block) {
                const std::int64_t n = std::min(block, outer.back() - begin);
                R values[block];
                results(first, n, values + 0);
                at[at.rank() - 1] = begin;
                put_results(out, at, type, values, n);
                first += n;
            }
        });
    }
    template <class R>
    void put_results(const some_results& t, dtype type, R* values) const {
        t.place[t.place.rank() - 1] = t.begin;
        put_results(t.out, t.place, type, values, t.count);
    }
    template <class R>
    void put_results(host_rows& out, const index_list& at, dtype type, R* values,
                     std::int64_t n) const {
        if (!is_floating(type_) && type != dtype::i64) settle_block(type_, values, n);
        out.write(at, type, reinterpret_cast<const std::byte*>(values), n);
    }

    reduce_plan plan_;
    const host_buffers& buffers_;
    const thread_pool& threads_;
    dtype type_;             // in which values are reduced
    bool follow_;            // blocks hold short rows that follow each other
    bool across_;            // blocks go along the innermost kept axis
    bool tiled_;             // results are found and written block by block
    std::int64_t near_ = 1;  // see put_longest_last
    bool turned_ = false;    // the innermost reduced axis was one further out
    bool wraps_;             // results are wrapped, so values need not be
    bool ready_;             // values are read where they lie
    bool product_;           // each value is a product of two such, which are to be added up
};

template <std::same_as<reduce_problem> P>
void accumulate(const P& p, const host_buffers& buffers, const thread_pool& threads) {
    host_accumulation(p, buffers, threads).run();
}

}}}  // namespace pumice::PUMICE_ABI::detail
