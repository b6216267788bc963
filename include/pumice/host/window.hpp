// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Windows that move over planes on the host, of any type: pooling and convolution, line by line;
// lines are shared among threads.
#pragma once

#include <pumice/base/thread_pool.hpp>
#include <pumice/base/wide.hpp>
#include <pumice/host/joins.hpp>
#include <pumice/host/loop.hpp>
#include <pumice/host/values.hpp>
#include <pumice/kernels/conv.hpp>
#include <pumice/kernels/pool.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// Windows along an axis: tap i of the window of output o reads place(o, i) of the input.
struct window_axis {
    std::int64_t in, out, taps, stride, dilation, pad_begin, pad_end;

    template <class Op>
    window_axis(const Op& op, int axis, std::int64_t in_size, std::int64_t out_size,
                std::int64_t window)
        : in(in_size), out(out_size), taps(window), stride(op.stride[axis]),
          dilation(op.dilation[axis]), pad_begin(op.pad_begin[axis]), pad_end(op.pad_end[axis]) {}

    std::int64_t place(std::int64_t o, std::int64_t tap) const noexcept {
        return o * stride - pad_begin + tap * dilation;
    }
    /// The outputs [first, last) of which a tap lies within the input.
    std::int64_t first(std::int64_t tap) const noexcept {
        const std::int64_t before = pad_begin - tap * dilation;
        return before <= 0 ? 0 : std::min(out, (before + stride - 1) / stride);
    }
    std::int64_t last(std::int64_t tap) const noexcept {
        const std::int64_t room = in - 1 + pad_begin - tap * dilation;
        return room < 0 ? first(tap) : std::max(first(tap), std::min(out, room / stride + 1));
    }
    /// Leaves of the taps [begin, end) of an output those that lie within the input.
    void cut(std::int64_t o, std::int64_t& begin, std::int64_t& end) const noexcept {
        while (begin < end && place(o, begin) < 0) ++begin;
        while (end > begin && place(o, end - 1) >= in) --end;
    }
    /// The taps of an output that lie within the input, or, `padded`, before the end of its pads.
    std::int64_t count(std::int64_t o, bool padded) const noexcept {
        std::int64_t n = 0;
        for (std::int64_t i = 0; i < taps; ++i) {
            const std::int64_t at = place(o, i);
            n += padded ? at < in + pad_end : at >= 0 && at < in;
        }
        return n;
    }
};

/// Lines of a program's planes as numbers of the type that they are computed in, in place where
/// they lie so.
template <class T>
class plane_lines {
public:
    plane_lines(const fused& f, const host_buffers& buffers, std::int64_t width) : width_(width) {
        const operand* const leaf = leaf_alone<T>(f);
        if (leaf && leaf->steps[3] == 1 && leaf->steps[2] == width) leaf_ = buffers.array(*leaf);
        else rows_.emplace(f, buffers);
    }
    /// Lines [first, last) of a plane.
    const T* read(std::int64_t image, std::int64_t channel, std::int64_t first, std::int64_t last) {
        index_list at{image, channel, first, 0};
        if (!rows_) return reinterpret_cast<const T*>(leaf_.data) + offset_of(leaf_, at);
        room_.resize(static_cast<std::size_t>((last - first) * width_));
        T* to = room_.data();
        for (; at[2] < last; ++at[2])
            for (std::int64_t i = 0; i < width_; i += host_program::block) {
                const std::int64_t n = std::min(host_program::block, width_ - i);
                to = std::copy_n(static_cast<const T*>(rows_->values(at, i, n)), n, to);
            }
        return room_.data();
    }

private:
    std::int64_t width_;
    host_array leaf_;
    std::optional<host_rows> rows_;  // where values are computed
    array_list<T> room_;
};

/// best[o] joined with v[o * step].
template <class T>
struct join_greatest {
    [[gnu::always_inline]] static void some(const T* v, std::int64_t n, T* __restrict best) {
        for (std::int64_t o = 0; o < n; ++o)
            best[o] = joined_extreme<T, 1>::beats(v[o], best[o]) ? v[o] : best[o];
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

/// The same output by output, where lines are short, with the taps of each in the same order.
template <class T, class Join, class To>
void each_output(const Join&, const window_axis& down, const window_axis& along, std::int64_t y,
                 const T* v, std::int64_t begin, To* line) {
    std::int64_t top = 0, bottom = down.taps;
    down.cut(y, top, bottom);
    for (std::int64_t o = 0; o < along.out; ++o) {
        std::int64_t left = 0, right = along.taps;
        along.cut(o, left, right);
        To joined = line[o];
        for (std::int64_t i = top; i < bottom; ++i) {
            const T* from = v + (down.place(y, i) - begin) * along.in + along.place(o, left);
            for (std::int64_t j = left; j < right; ++j, from += along.dilation)
                Join::some(from, 1, &joined);
        }
        line[o] = joined;
    }
}

/// Calls f(plane, end, first, last) for planes [plane, end), or stretches of lines of one, each
/// worth a part of a job.
template <class F>
void each_stretch(std::int64_t planes, const window_axis& down, std::int64_t work_of_line,
                  const thread_pool& threads, F&& f) {
    const std::int64_t fitting = thread_part / std::max<std::int64_t>(work_of_line, 1),
                       lines = std::clamp<std::int64_t>(fitting, 1, down.out),
                       stretches = (down.out + lines - 1) / lines,
                       some = stretches > 1 ? 1 : std::max<std::int64_t>(1, fitting / down.out),
                       groups = (planes + some - 1) / some;
    threads.run(groups * stretches,
                parts_for_a_thread(std::max<std::int64_t>(some * lines * work_of_line, 1)),
                [&](std::int64_t part) {
                    const std::int64_t first = part % stretches * lines,
                                       plane = part / stretches * some;
                    f(plane, std::min(plane + some, planes), first,
                      std::min(first + lines, down.out));
                });
}

template <class T>
class pooling_lines {
public:
    pooling_lines(const pool_problem& p, const host_buffers& buffers)
        : p_(p), op_(p.shape_of), down_(op_, 0, p.in_size[0], p.out_size[0], op_.window[0]),
          along_(op_, 1, p.in_size[1], p.out_size[1], op_.window[1]),
          lines_(p.input, buffers, along_.in), results_(p.epilogue, buffers),
          least_(static_cast<T>(extreme_of<widest_of<T>>(p.input.type(), true))) {
        if (op_.what == pooling::max) return;
        totals_.resize(static_cast<std::size_t>(along_.out));
        for (std::int64_t o = 0; o < along_.out; ++o)
            counts_.push_back(along_.count(o, op_.count_include_pad));
    }
    /// Lines [first, last) of the results of a plane.
    void run(std::int64_t plane, std::int64_t first, std::int64_t last) {
        const std::int64_t image = plane / p_.channels, channel = plane % p_.channels,
                           begin = std::clamp<std::int64_t>(down_.place(first, 0), 0, down_.in),
                           end = std::clamp<std::int64_t>(down_.place(last - 1, down_.taps - 1) + 1,
                                                          begin, down_.in);
        const T* const v = lines_.read(image, channel, begin, end);
        for (std::int64_t y = first; y < last; ++y) {
            const index_list at{image, channel, y, 0};
            T* const line = results_.place(at, along_.out);
            if (op_.what == pooling::max) {
                std::fill_n(line, along_.out, least_);
                join(join_greatest<T>{}, y, v, begin, line);
            } else if constexpr (std::is_floating_point_v<T>) {
                std::fill(totals_.begin(), totals_.end(), sum(0));
                join(join_added<T>{}, y, v, begin, totals_.data());
                const std::int64_t some = down_.count(y, op_.count_include_pad);
                for (std::size_t o = 0; o < totals_.size(); ++o)
                    line[o] = static_cast<T>(static_cast<double>(
                        totals_[o] /
                        static_cast<sum>(std::max<std::int64_t>(some * counts_[o], 1))));
            }
            results_.write(at, along_.out, line);
        }
    }

private:
    using sum = typename join_added<T>::sum;

    template <class Join, class To>
    void join(const Join& how, std::int64_t y, const T* v, std::int64_t begin, To* line) const {
        if (along_.out < 8) each_output(how, down_, along_, y, v, begin, line);
        else each_tap(how, down_, along_, y, v, begin, line);
    }

    const pool_problem& p_;
    const pool_op& op_;
    window_axis down_, along_;
    plane_lines<T> lines_;
    number_results<T> results_;
    T least_;
    array_list<sum> totals_;
    array_list<std::int64_t> counts_;  // of taps, by places along a line
};

template <class T>
void pool_planes(const pool_problem& p, const host_buffers& buffers, const thread_pool& threads) {
    const pool_op& op = p.shape_of;
    const window_axis down(op, 0, p.in_size[0], p.out_size[0], op.window[0]);
    each_stretch(p.batch * p.channels, down, p.out_size[1] * op.window[0] * op.window[1], threads,
                 [&](std::int64_t plane, std::int64_t end, std::int64_t first, std::int64_t last) {
                     pooling_lines<T> lines(p, buffers);
                     for (; plane < end; ++plane) lines.run(plane, first, last);
                 });
}

template <std::same_as<pool_problem> P>
void pool_all(const P& p, const host_buffers& buffers, const thread_pool& threads) {
    with_host_arithmetic(info(p.input.type()).arithmetic, [&]<class H>(H) {
        if constexpr (!std::is_same_v<H, bool>)
            pool_planes<typename number_of<H>::type>(p, buffers, threads);
    });
}

/// Sums of products of some outputs that lie in one line, in order of input channel and window.
template <class T, std::size_t Vectors>
struct convolve_some {
    using lanes [[gnu::vector_size(32)]] = T;
    using lanes_in_memory [[gnu::vector_size(32), gnu::aligned(8), gnu::may_alias]] = T;
    static constexpr std::int64_t lane_count = 4, width = lane_count * std::int64_t{Vectors};

    std::int64_t channels, plane, lines, line, taps, tap;  // how many, and how far apart they lie
    std::int64_t window, step;  // weights of a channel; from one output to the next

    [[gnu::always_inline]] void operator()(const T* weights, const T* x, T* out) const {
        lanes sums[Vectors] = {};
        for (std::int64_t k = 0; k < channels; ++k, x += plane, weights += window)
            for (std::int64_t i = 0; i < lines; ++i) {
                const T* v = x + i * line;
                for (std::int64_t j = 0; j < taps; ++j, v += tap) {
                    const T factor = weights[i * taps + j];
                    const T* from = v;
#pragma GCC unroll 4
                    for (lanes& sum : sums) {
                        if (step == 1)
                            sum += factor * *reinterpret_cast<const lanes_in_memory*>(from);
                        else
                            sum +=
                                factor * lanes{from[0], from[step], from[2 * step], from[3 * step]};
                        from += lane_count * step;
                    }
                }
            }
        for (const lanes& sum : sums) {
            *reinterpret_cast<lanes_in_memory*>(out) = sum;
            out += lane_count;
        }
    }
};

template <class T>
class convolution {
public:
    convolution(const conv_problem& p, const T* weights, const T* x)
        : p_(p), weights_(weights), x_(x),
          down_(p.shape_of, 0, p.in_size[0], p.out_size[0], p.window[0]),
          along_(p.shape_of, 1, p.in_size[1], p.out_size[1], p.window[1]),
          in_(p.in_channels / p.shape_of.group) {
        for (std::int64_t j = 0; j < along_.taps; ++j) {
            begin_ = std::max(begin_, along_.first(j));
            end_ = std::min(end_ < 0 ? along_.out : end_, along_.last(j));
        }
    }

    void line(std::int64_t channel, std::int64_t y, T* sums) const {
        const T* const w = weights_ + channel * in_ * down_.taps * along_.taps;
        const T* const x = x_ + channel / (p_.out_channels / p_.shape_of.group) * in_ * plane();
        std::int64_t first = 0, last = down_.taps;
        down_.cut(y, first, last);
        const T* const from = x + (first < last ? down_.place(y, first) * along_.in : 0);
        std::int64_t o = 0;
        for (; o < std::min(begin_, along_.out); ++o) sums[o] = at_edge(w, x, y, o);
        const auto some = [&]<std::size_t Vectors>(std::integral_constant<std::size_t, Vectors>) {
            using loop = convolve_some<T, Vectors>;
            const loop whole{in_,
                             plane(),
                             last - first,
                             down_.dilation * along_.in,
                             along_.taps,
                             along_.dilation,
                             down_.taps * along_.taps,
                             along_.stride};
            const auto at = [&](std::int64_t i) {
                run_wide(whole, w + first * along_.taps, from + along_.place(i, 0), sums + i);
            };
            if (end_ - begin_ < loop::width) return;
            for (; o + loop::width <= end_; o += loop::width) at(o);
            if (Vectors == 1 && o < end_) at(end_ - loop::width), o = end_;  // some of them again
        };
        some(std::integral_constant<std::size_t, 4>{});
        some(std::integral_constant<std::size_t, 1>{});
        for (; o < along_.out; ++o) sums[o] = at_edge(w, x, y, o);
    }

private:
    std::int64_t plane() const { return down_.in * along_.in; }
    T at_edge(const T* w, const T* x, std::int64_t y, std::int64_t o) const {
        T sum = 0;
        for (std::int64_t c = 0; c < in_; ++c, x += plane())
            for (std::int64_t i = 0; i < down_.taps; ++i, w += along_.taps) {
                const std::int64_t row = down_.place(y, i);
                if (row < 0 || row >= down_.in) continue;
                for (std::int64_t j = 0; j < along_.taps; ++j) {
                    const std::int64_t at = along_.place(o, j);
                    if (at >= 0 && at < along_.in) sum += w[j] * x[row * along_.in + at];
                }
            }
        return sum;
    }

    const conv_problem& p_;
    const T *weights_, *x_;
    window_axis down_, along_;
    std::int64_t in_, begin_ = 0, end_ = -1;  // outputs of a line whose taps all lie within
};

template <std::same_as<conv_problem> P>
void convolve_all(const P& p, const host_buffers& buffers, const thread_pool& threads) {
    const dtype type = p.input.type(), wide = widest_sum(type);
    const std::int64_t in = p.in_channels / p.shape_of.group, line = p.in_size[1],
                       lines = p.in_channels * p.in_size[0];
    host_rows weight(p.weight, buffers);
    wide_values w, x;
    for_each_row({p.out_channels, in, p.window[0], 1}, [&](const index_list& at) {
        weight.read(at + 0, wide, w.grow(p.window[1]), p.window[1]);
    });
    x.grow(lines * line);
    const window_axis down(p.shape_of, 0, p.in_size[0], p.out_size[0], p.window[0]);
    for (std::int64_t n = 0; n < p.batch; ++n) {
        const std::int64_t some =
            std::max<std::int64_t>(1, thread_part / std::max<std::int64_t>(line, 1));
        threads.run((lines + some - 1) / some,
                    parts_for_a_thread(std::max<std::int64_t>(some * line, 1)),
                    [&](std::int64_t part) {
                        host_rows input(p.input, buffers);
                        for (std::int64_t i = part * some; i < std::min(lines, (part + 1) * some);
                             ++i)
                            input.read({n, i / p.in_size[0], i % p.in_size[0], 0}, wide,
                                       x.at(i * line), line);
                    });
        each_stretch(p.out_channels, down, p.out_size[1] * in * p.window[0] * p.window[1], threads,
                     [&](std::int64_t channel, std::int64_t end, std::int64_t first,
                         std::int64_t last) {
                         host_rows result(p.epilogue, buffers);
                         wide_values sums(p.out_size[1]);
                         visit_sum(type, [&]<class T>(T) {
                             const convolution<T> all(p, w.as<T>().data(), x.as<T>().data());
                             for (; channel < end; ++channel)
                                 for (std::int64_t y = first; y < last; ++y) {
                                     all.line(channel, y, sums.as<T>().data());
                                     result.write({n, channel, y, 0}, wide, sums.at(0),
                                                  p.out_size[1]);
                                 }
                         });
                     });
    }
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

template <std::same_as<conv_problem> P>
void find_loop(const P& p, const host_buffers& buffers, host_loop& out) {
    if (p.batch * p.out_channels * p.out_size[0] * p.out_size[1] == 0) return;
    out.solve<detail::convolve_all<P>>(p, buffers);
}

}}  // namespace pumice::PUMICE_ABI
