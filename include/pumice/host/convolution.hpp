// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Convolution on the host, of any type, line by line.
#pragma once

#include <pumice/base/thread_pool.hpp>
#include <pumice/base/wide.hpp>
#include <pumice/host/loop.hpp>
#include <pumice/host/window.hpp>
#include <pumice/kernels/conv.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

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

template <std::same_as<conv_problem> P>
void find_loop(const P& p, const host_buffers& buffers, host_loop& out) {
    if (p.batch * p.out_channels * p.out_size[0] * p.out_size[1] == 0) return;
    out.solve<detail::convolve_all<P>>(p, buffers);
}

}}  // namespace pumice::PUMICE_ABI
