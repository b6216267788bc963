// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Windows that move over planes on the host: where their taps lie, and lines of planes shared among
// threads.
#pragma once

#include <pumice/base/thread_pool.hpp>
#include <pumice/host/values.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

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

}}}  // namespace pumice::PUMICE_ABI::detail
