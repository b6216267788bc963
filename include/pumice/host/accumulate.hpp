// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Reductions of any type over any axes on the host, block by block: along the reduced axes, or
// along a kept one. Where a reduction is cut does not depend on the threads, so neither does its
// result.
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
          type_(plan_.p.prologue.type()), follow_(rows_follow()),
          across_(!follow_ && goes_across()) {
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
        auto total(std::int64_t i) const {
            return Way::total(a[static_cast<std::size_t>(i)], b[static_cast<std::size_t>(i)]);
        }
    };

    /// The place with coordinates number i of a domain from axis `from` on.
    static void put(index_list& place, const shape& domain, int from, std::int64_t i) {
        for (int d = domain.rank() - 1; d >= 0; i /= domain[d], --d)
            place[from + d] = i % domain[d];
    }
    /// Some short rows that follow each other: of the results from number `first` on.
    template <class Results>
    struct tile_of_rows {
        host_rows& values;
        Results& out;
        index_list& place;  // coordinates of the results, but for the last axis: from `begin` on
        std::int64_t begin, first, count;
    };
    template <class Results = host_rows, class F>
    void each_tile_of_rows(const F& f) {
        shape heads = plan_.p.outer;
        heads.erase(heads.rank() - 1);
        const std::int64_t kept = plan_.p.outer.back(), most = block / plan_.length,
                           tile = most >= lane_step ? most / lane_step * lane_step : most,
                           tiles = (kept + tile - 1) / tile, cells = plan_.outers / kept * tiles,
                           share = thread_part / block, parts = (cells + share - 1) / share;
        threads_.run(parts, parts_for_a_thread(thread_part), [&](std::int64_t part) {
            host_rows values(plan_.p.prologue, buffers_, wraps_);
            Results out(plan_.p.epilogue, buffers_);
            index_list place = index_list::filled(heads.rank() + 1, 0);
            for (std::int64_t c = part * share; c < std::min(cells, (part + 1) * share); ++c) {
                const std::int64_t begin = c % tiles * tile, row = c / tiles;
                put(place, heads, 0, row);
                place[heads.rank()] = 0;
                f(tile_of_rows{values, out, place, begin, row * kept + begin,
                               std::min(tile, kept - begin)});
            }
        });
    }
    /// Their values; a product's are put into `room`.
    template <class T>
    const T* values_of(const tile_of_rows<host_rows>& t, T* room) {
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
    /// `take(tile, a, b)` of what was found for each tile of short rows. No more of them is kept.
    template <class Way, class Take>
    void pass_of_rows(const double* given, const Take& take) {
        each_tile_of_rows([&](const tile_of_rows<host_rows>& t) {
            typename Way::value room[block];
            typename Way::first a[block];
            typename Way::second b[block];
            run_wide(join_short<Way>{}, a + 0, b + 0,
                     static_cast<const void*>(values_of(t, room + 0)), t.count, plan_.length,
                     given ? given + t.first : nullptr);
            take(t, a + 0, b + 0);
        });
    }
    /// Sums of rows of three, put where the results are to lie.
    template <class T>
    void sums_of_threes() {
        each_tile_of_rows<number_results<T>>([&](const auto& t) {
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
        if (follow_)
            return pass_of_rows<Way>(given, [&](const tile_of_rows<host_rows>& t, const auto* a,
                                                const auto* b) {
                std::copy(a, a + t.count, to.a.data() + t.first);
                std::copy(b, b + t.count, to.b.data() + t.first);
            });
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
            host_rows values(plan_.p.prologue, buffers_, wraps_);
            index_list place = index_list::filled(of_result.rank() + of_line.rank() + 1, 0);
            for (std::int64_t c = part * share; c < std::min(cells, (part + 1) * share); ++c) {
                const std::int64_t piece = c / (heads * tiles), rest = c % (heads * tiles),
                                   begin = rest % tiles * tile, row = rest / tiles,
                                   n = std::min(tile, kept - begin), first = row * kept + begin;
                const auto at = static_cast<std::size_t>(piece * plan_.outers + first);
                put(place, of_result, 0, row);
                const std::int64_t end = std::min(lines, (piece + 1) * most);
                for (std::int64_t k = piece * most; k < end; ++k) {
                    if (across_) {
                        const void* from[most_lines];
                        int count = 0;
                        do {
                            put(place, of_line, of_result.rank(), k + count);
                            from[count++] = values.values(place, begin, n);
                        } while (ready_ && count < most_lines && k + count < end);
                        join_lines<Way>(&into.a[at], &into.b[at], &from[0], count, n, k,
                                        given ? given + first : nullptr, lines);
                        k += count - 1;
                        continue;
                    }
                    put(place, of_line, of_result.rank(), k);
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
        using results = results_of<Way>;
        using result = typename results::type;
        const dtype type = results::place ? dtype::i64 : computed_as(type_);
        const std::int64_t mean_of = plan_.p.what == reduction::mean ? plan_.length : 0;
        if (follow_) {
            if constexpr (adds_numbers<Way>)
                if (plan_.length == 3 && mean_of == 0) return sums_of_threes<typename Way::value>();
            return pass_of_rows<Way>(nullptr, [&](const tile_of_rows<host_rows>& t, const auto* a,
                                                  const auto* b) {
                result values[block];
                results::put(a, b, t.count, mean_of, values);
                put_results(t, type, values + 0);
            });
        }
        found<Way> all(plan_.outers);
        pass(all, nullptr);
        write<result>(type, [&](std::int64_t first, std::int64_t n, result* values) {
            results::put(all.a.data() + first, all.b.data() + first, n, mean_of, values);
        });
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
            return write_each([&](std::int64_t i) { return squares.total(i) / count; });
        }
        found<joined_extreme<T, 1>> tops(plan_.outers);
        keep(tops, 1);
        found<joined_sum<T, exp_below>> sums(plan_.outers);
        pass(sums, middle.data());
        write_each([&](std::int64_t i) {
            const double top = middle[static_cast<std::size_t>(i)];
            return std::isfinite(top) ? top + std::log(sums.total(i)) : top;
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
    template <class F>
    void write_each(const F& result) {
        write<double>(dtype::f64, [&](std::int64_t first, std::int64_t n, double* values) {
            for (std::int64_t k = 0; k < n; ++k) values[k] = result(first + k);
        });
    }
    template <class R>
    void put_results(const tile_of_rows<host_rows>& t, dtype type, R* values) const {
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
    dtype type_;    // in which values are reduced
    bool follow_;   // blocks hold short rows that follow each other
    bool across_;   // blocks go along the innermost kept axis
    bool wraps_;    // results are wrapped, so values need not be
    bool ready_;    // values are read where they lie
    bool product_;  // each value is a product of two such, which are to be added up
};

template <std::same_as<reduce_problem> P>
void accumulate(const P& p, const host_buffers& buffers, const thread_pool& threads) {
    host_accumulation(p, buffers, threads).run();
}

}}}  // namespace pumice::PUMICE_ABI::detail
