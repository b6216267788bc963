// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Pooling on the host, of any type: line by line, or where lines are short by many planes side by
// side.
#pragma once

#include <pumice/base/thread_pool.hpp>
#include <pumice/base/wide.hpp>
#include <pumice/host/joins.hpp>
#include <pumice/host/loop.hpp>
#include <pumice/host/values.hpp>
#include <pumice/host/window.hpp>
#include <pumice/kernels/pool.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// Whether the lines of a plane follow each other, so that they are read or written as one.
inline bool lines_follow(const array_list<operand>& operands, std::int64_t width) {
    for (const operand& o : operands)
        if (o.steps[2] != o.steps[3] * width) return false;
    return true;
}

/// Lines of a program's planes as numbers of the type that they are computed in, in place where
/// they lie so.
template <class T>
class plane_lines {
public:
    plane_lines(const fused& f, const host_buffers& buffers, std::int64_t width)
        : width_(width), follow_(lines_follow(f.leaves, width)) {
        const operand* const leaf = leaf_alone<T>(f);
        if (leaf && leaf->steps[3] == 1 && leaf->steps[2] == width) leaf_ = buffers.array(*leaf);
        else rows_.emplace(f, buffers);
    }
    /// Lines of a plane from there on, up to the last: of number p of so many that are read
    /// together, valid until the next are.
    const T* read(index_list at, std::int64_t last, std::int64_t p, std::int64_t count) {
        const std::int64_t first = at[2];
        if (!rows_) return reinterpret_cast<const T*>(leaf_.data) + offset_of(leaf_, at);
        const std::int64_t all = (last - first) * width_, line = follow_ ? all : width_;
        room_.resize(static_cast<std::size_t>(count * all));
        T* const to = room_.data() + p * all;
        for (std::int64_t done = 0; done < all; done += line, ++at[2])
            rows_->read(at, dtype_of<T>, reinterpret_cast<std::byte*>(to + done), line);
        return to;
    }

private:
    std::int64_t width_;
    bool follow_;
    host_array leaf_;
    std::optional<host_rows> rows_;  // where values are computed
    array_list<T> room_;
};

/// best[o] joined with v[o * step].
template <class T>
struct join_greatest {
    using way = joined_extreme<T, 1>;
    [[gnu::always_inline]] static void some(const T* v, std::int64_t n, T* __restrict best) {
        no_second none;
        if (n == 1) return way::one(*best, none, *v, 0, 0);  // without a branch to guess
        for (std::int64_t o = 0; o < n; ++o) best[o] = way::beats(v[o], best[o]) ? v[o] : best[o];
    }
    [[gnu::always_inline]] void operator()(const T* v, std::int64_t step, std::int64_t n,
                                           T* best) const {
        constexpr std::int64_t few = 8;  // a length that is known is what -O2 vectorises
        std::int64_t o = 0;
        if (step == 1)
            for (; o + few <= n; o += few) some(v + o, few, best + o);
        for (; o < n; ++o) some(v + o * step, 1, best + o);
    }
};
/// The same, added: sums of f32 in double, of f64 in long double.
template <class T>
struct join_added {
    using sum = std::conditional_t<std::is_same_v<T, float>, double, long double>;
    [[gnu::always_inline]] static void some(const T* v, std::int64_t n, sum* __restrict total) {
        for (std::int64_t o = 0; o < n; ++o) total[o] += static_cast<sum>(v[o]);
    }
    [[gnu::always_inline]] void operator()(const T* v, std::int64_t step, std::int64_t n,
                                           sum* total) const {
        constexpr std::int64_t few = 8;
        std::int64_t o = 0;
        if (step == 1)
            for (; o + few <= n; o += few) some(v + o, few, total + o);
        for (; o < n; ++o) some(v + o * step, 1, total + o);
    }
};

/// join(v, step, n, line + o) for each tap that lies within the input of the window in line y,
/// whose lines from `begin` on are `v`.
template <class T, class Join, class To>
void each_tap(const Join& join, const window_axis& down, const window_axis& along, std::int64_t y,
              const T* v, std::int64_t begin, To* line) {
    for (std::int64_t i = 0; i < down.taps; ++i) {
        const std::int64_t at = down.place(y, i);
        if (at < 0 || at >= down.in) continue;
        for (std::int64_t j = 0; j < along.taps; ++j) {
            const std::int64_t first = along.first(j), n = along.last(j) - first;
            if (n > 0)
                run_wide(join, v + (at - begin) * along.in + along.place(first, j), along.stride, n,
                         line + first);
        }
    }
}

/// Planes that are taken side by side.
inline constexpr std::int64_t planes_beside = 16;
/// Puts number i of each of them side by side.
template <class T>
struct put_beside {
    [[gnu::always_inline]] void operator()(const T* const* planes, std::int64_t n, T* out) const {
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t p = 0; p < planes_beside; ++p) *out++ = planes[p][i];
    }
};

/// The same output by output, where lines are short, with the taps of each in the same order; of
/// Beside planes, whose numbers lie side by side.
template <class T, class Join, std::int64_t Beside>
struct each_output {
    template <class To>
    [[gnu::always_inline]] void operator()(const window_axis* down, const window_axis* along,
                                           std::int64_t y, const T* v, std::int64_t begin,
                                           To* line) const {
        std::int64_t top = 0, bottom = down->taps;
        down->cut(y, top, bottom);
        for (std::int64_t o = 0; o < along->out; ++o, line += Beside) {
            std::int64_t left = 0, right = along->taps;
            along->cut(o, left, right);
            To joined[std::size_t{Beside}];
            for (std::int64_t p = 0; p < Beside; ++p) joined[p] = line[p];
            for (std::int64_t i = top; i < bottom; ++i) {
                const T* from =
                    v + ((down->place(y, i) - begin) * along->in + along->place(o, left)) * Beside;
                for (std::int64_t j = left; j < right; ++j, from += along->dilation * Beside)
                    Join::some(from, Beside, joined + 0);
            }
            for (std::int64_t p = 0; p < Beside; ++p) line[p] = joined[p];
        }
    }
};

template <class T>
class pooling_lines {
public:
    pooling_lines(const pool_problem& p, const host_buffers& buffers)
        : p_(p), op_(p.shape_of), down_(op_, 0, p.in_size[0], p.out_size[0], op_.window[0]),
          along_(op_, 1, p.in_size[1], p.out_size[1], op_.window[1]),
          lines_(p.input, buffers, along_.in), results_(p.epilogue, buffers),
          results_follow_(lines_follow(p.epilogue.leaves, along_.out) &&
                          lines_follow(p.epilogue.outputs, along_.out)),
          least_(static_cast<T>(extreme_of<widest_of<T>>(p.input.type(), true))) {
        if (op_.what == pooling::max) return;
        for (std::int64_t y = 0; y < down_.out; ++y)
            down_counts_.push_back(down_.count(y, op_.count_include_pad));
        for (std::int64_t o = 0; o < along_.out; ++o)
            counts_.push_back(along_.count(o, op_.count_include_pad));
    }
    /// Lines [first, last) of the results of planes [plane, end).
    void run(std::int64_t plane, std::int64_t end, std::int64_t first, std::int64_t last) {
        for (std::int64_t count; plane < end; plane += count) {
            // Fewer than half of those side by side take longer than one by one.
            count = is_short() && end - plane >= beside / 2 ? std::min(beside, end - plane) : 1;
            if (op_.what == pooling::max) {
                some(join_greatest<T>{}, least_, plane, count, first, last,
                     [](T best, std::int64_t, std::int64_t) { return best; });
            } else if constexpr (std::is_floating_point_v<T>) {
                using sum = typename join_added<T>::sum;
                if (std::is_same_v<sum, long double>) count = 1;  // which vectors do not add
                some(join_added<T>{}, sum(0), plane, count, first, last,
                     [this](sum total, std::int64_t y, std::int64_t o) {
                         const std::int64_t n = down_counts_[static_cast<std::size_t>(y)] *
                                                counts_[static_cast<std::size_t>(o)];
                         return static_cast<T>(static_cast<double>(
                             total / static_cast<sum>(std::max<std::int64_t>(n, 1))));
                     });
            }
        }
    }

private:
    static constexpr std::int64_t beside = planes_beside;

    bool is_short() const noexcept { return along_.out < 8; }

    template <class Join, class To, class F>
    void some(const Join& join, To start, std::int64_t plane, std::int64_t count,
              std::int64_t first, std::int64_t last, const F& result) {
        const auto place = [&](std::int64_t p, std::int64_t y) {
            return index_list{(plane + p) / p_.channels, (plane + p) % p_.channels, y, 0};
        };
        const std::int64_t begin = std::clamp<std::int64_t>(down_.place(first, 0), 0, down_.in),
                           end = std::clamp<std::int64_t>(down_.place(last - 1, down_.taps - 1) + 1,
                                                          begin, down_.in),
                           width = count > 1 ? beside : 1, n = (end - begin) * along_.in,
                           line = along_.out * width;
        const T* planes[beside];
        for (std::int64_t p = 0; p < width; ++p)
            planes[p] = p < count ? lines_.read(place(p, begin), end, p, count) : planes[0];
        if (count > 1) {
            beside_.resize(static_cast<std::size_t>(n * width));
            run_wide(put_beside<T>{}, &planes[0], n, beside_.data());
        }
        const T* const v = count > 1 ? beside_.data() : planes[0];
        array_list<To> joined(static_cast<std::size_t>((last - first) * line), start);
        for (std::int64_t y = first; y < last; ++y) {
            To* const to = joined.data() + (y - first) * line;
            if (count > 1)
                run_wide(each_output<T, Join, beside>{}, &down_, &along_, y, v, begin, to);
            else if (is_short()) each_output<T, Join, 1>{}(&down_, &along_, y, v, begin, to);
            else each_tap(join, down_, along_, y, v, begin, to);
        }
        const std::int64_t lines = results_follow_ ? last - first : 1;
        for (std::int64_t p = 0; p < count; ++p)
            for (std::int64_t y = first; y < last; y += lines) {
                T* const values = results_.place(place(p, y), lines * along_.out);
                const To* const from = joined.data() + (y - first) * line + p;
                for (std::int64_t i = 0; i < lines; ++i)
                    for (std::int64_t o = 0; o < along_.out; ++o)
                        values[i * along_.out + o] = result(from[i * line + o * width], y + i, o);
                results_.write(place(p, y), lines * along_.out, values);
            }
    }

    const pool_problem& p_;
    const pool_op& op_;
    window_axis down_, along_;
    plane_lines<T> lines_;
    number_results<T> results_;
    bool results_follow_;
    T least_;
    array_list<T> beside_;
    array_list<std::int64_t> down_counts_, counts_;  // of taps, by lines and places along them
};

template <class T>
void pool_planes(const pool_problem& p, const host_buffers& buffers, const thread_pool& threads) {
    const pool_op& op = p.shape_of;
    const window_axis down(op, 0, p.in_size[0], p.out_size[0], op.window[0]);
    each_stretch(p.batch * p.channels, down, p.out_size[1] * op.window[0] * op.window[1], threads,
                 [&](std::int64_t plane, std::int64_t end, std::int64_t first, std::int64_t last) {
                     pooling_lines<T>(p, buffers).run(plane, end, first, last);
                 });
}

template <std::same_as<pool_problem> P>
void pool_all(const P& p, const host_buffers& buffers, const thread_pool& threads) {
    with_host_arithmetic(info(p.input.type()).arithmetic, [&]<class H>(H) {
        if constexpr (!std::is_same_v<H, bool>)
            pool_planes<typename number_of<H>::type>(p, buffers, threads);
    });
}

}  // namespace detail

template <std::same_as<pool_problem> P>
void find_loop(const P& p, const host_buffers& buffers, host_loop& out) {
    const dtype type = p.input.type();
    if (type == dtype::boolean || (p.shape_of.what == pooling::average && !is_floating(type)) ||
        p.batch * p.channels * p.out_size[0] * p.out_size[1] == 0)
        return;
    out.solve<detail::pool_all<P>>(p, buffers);
}

}}  // namespace pumice::PUMICE_ABI
