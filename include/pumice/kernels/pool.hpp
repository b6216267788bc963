// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The pooling kernels: windows (shaders/pool.slang), and a window that is the whole input, which is
// a reduction.
#pragma once

#include <pumice/kernels/reduce.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

inline shape pool_input(const pool_problem& p) {
    return {p.batch, p.channels, p.in_size[0], p.in_size[1]};
}
inline shape pool_output(const pool_problem& p) {
    return {p.batch, p.channels, p.out_size[0], p.out_size[1]};
}

inline support supports_pool(const pool_problem& p, const device_info& device) {
    for (const fused* f : {&p.input, &p.epilogue})
        if (support s = supports_types(*f, device); !s.yes) return s;
    const dtype type = p.input.type();
    if (type == dtype::boolean || (p.shape_of.what == pooling::average && !is_floating(type)))
        return support::no({"this pool does not take ", to_string(type)});
    return {};
}

/// The tap of window position `at` (in the output) number `i`, along a spatial axis; negative and
/// beyond the input in the padding.
inline std::int64_t tap(const pool_op& op, int axis, std::int64_t at, std::int64_t i) {
    return at * op.stride[axis] - op.pad_begin[axis] + i * op.dilation[axis];
}

/// A line of the output from a plane of the input.
template <class T>
void pool_line(const pool_problem& p, const T* plane, std::int64_t line, span<T> out) {
    const pool_op& op = p.shape_of;
    const std::int64_t height = p.in_size[0], width = p.in_size[1];
    for (std::int64_t ox = 0; T & result : out) {
        T best = extreme_of<T>(p.input.type(), true);
        long double sum = 0;
        std::int64_t count = 0;
        for (int i = 0; i < op.window[0]; ++i)
            for (int j = 0; j < op.window[1]; ++j) {
                const std::int64_t y = tap(op, 0, line, i), x = tap(op, 1, ox, j);
                const bool inside = y >= 0 && y < height && x >= 0 && x < width;
                if (inside || (op.count_include_pad && y < height + op.pad_end[0] &&
                               x < width + op.pad_end[1]))
                    ++count;
                if (!inside) continue;
                const T v = plane[y * width + x];
                sum += static_cast<long double>(v);
                if (best == best && (v != v || v > best)) best = v;
            }
        result =
            op.what == pooling::max
                ? best
                : static_cast<T>(sum / static_cast<long double>(std::max<std::int64_t>(count, 1)));
        ++ox;
    }
}

}  // namespace detail

/// What every pooling kernel computes.
template <std::same_as<pool_problem> P>
void reference(const P& p, const host_buffers& buffers) {
    const dtype type = p.input.type(), wide = detail::widest(type);
    const std::int64_t height = p.in_size[0], width = p.in_size[1];
    host_rows input(p.input, buffers), epilogue(p.epilogue, buffers);
    detail::wide_values plane(height * width), line(p.out_size[1]);
    for_each_row({p.batch, p.channels, 1}, [&](const index_list& image) {
        for (std::int64_t y = 0; y < height; ++y)
            input.read({image[0], image[1], y, 0}, wide, plane.at(y * width), width);
        for (std::int64_t y = 0; y < p.out_size[0]; ++y) {
            detail::visit_widest(type, [&]<class T>(T) {
                detail::pool_line<T>(p, plane.as<T>().data(), y, line.as<T>());
            });
            epilogue.write({image[0], image[1], y, 0}, wide, line.at(0), p.out_size[1]);
        }
    });
}

/// An output element per invocation.
struct pool_windows {
    using problem_type = pool_problem;
    static constexpr std::string_view name = "pool/windows";
    static constexpr bool portable = true;

    static support supports(const pool_problem& p, const device_info& device) {
        support s = detail::supports_pool(p, device);
        if (!s.yes) return s;
        if (support index = supports_index(is_wide(p), device); !index.yes) return index;
        const shape out = detail::pool_output(p);
        const double taps =
            std::min(static_cast<double>(p.shape_of.window[0]) * p.shape_of.window[1],
                     8.0);  // neighbours share the rest in caches
        return support::in(seconds_to_move(device,
                                           taps * bytes_of(p.epilogue, out) +
                                               bytes_of(p.input, detail::pool_input(p)),
                                           0.7, static_cast<double>(element_count(out)), 16));
    }
    static launch make(const pool_problem& p, const device_info& device) {
        const pool_op& op = p.shape_of;
        const bool wide = is_wide(p),
                   last = p.epilogue.outputs[0].steps[1] < p.epilogue.outputs[0].steps[3];
        const shape input = detail::pool_input(p), output = detail::pool_output(p);
        const bool small =
            std::int64_t{op.window[0]} * op.window[1] <= 32 && p.in_size[0] * p.in_size[1] > 0;
        launch l("pool", "windows",
                 {emitted_name(p.input.body->view()), emitted_name(p.epilogue.body->view()),
                  index_type(wide),
                  detail::reduction_struct(op.what == pooling::max ? reduction::max
                                                                   : reduction::mean,
                                           p.input.type(), wide),
                  last ? 1 : 0, op.count_include_pad ? 1 : 0, small ? op.window[0] : 0,
                  small ? op.window[1] : 0},
                 {&p.input, &p.epilogue});
        l.threads = 256;
        const std::int64_t count = element_count(output);
        const std::uint32_t width = spread(l, (count + 255) / 256, device);
        const shape order = last ? shape{output[0], output[2], output[3], output[1]} : output;
        write_block(l, wide, "PoolParams",
                    {{"P.Args input", block::arguments{p.input, input}},
                     {"E.Args output", block::arguments{p.epilogue, output}},
                     {"Places<P, I, 2> reads", block::places{p.input, 2}},
                     {"Steps<P, I, 2> window", block::steps{p.input, 2, 2}},
                     {"Places<E, I, 4> writes", block::places{p.epilogue, 4}},
                     {"Extents<I, 4> extent", block::extents{order}},
                     {"I count", count},
                     {"int size[2]", p.in_size},
                     {"int taps[2]", op.window},
                     {"int stride[2]", op.stride},
                     {"int dilation[2]", op.dilation},
                     {"int padBegin[2]", op.pad_begin},
                     {"int padEnd[2]", op.pad_end},
                     {"uint width", width}});
        return l;
    }

private:
    static bool is_wide(const pool_problem& p) {
        return needs_wide_index(p.input.leaves, detail::pool_input(p)) ||
               needs_wide_index(all_operands(p.epilogue), detail::pool_output(p));
    }
};

/// A window of the whole input without padding: the reduction over y and x.
struct pool_global {
    using problem_type = pool_problem;
    static constexpr std::string_view name = "pool/global";
    static constexpr bool portable = false;

    static support supports(const pool_problem& p, const device_info& device) {
        if (support s = detail::supports_pool(p, device); !s.yes) return s;
        const pool_op& op = p.shape_of;
        for (int i = 0; i < 2; ++i)
            if (p.out_size[i] != 1 || op.window[i] != p.in_size[i] || op.pad_begin[i] != 0 ||
                (op.dilation[i] != 1 && op.window[i] != 1))
                return support::no("the window is not the whole input");
        const reduce_problem r = reduction_of(p);
        if (support s = reduce_vector_rows::supports(r, device); s.yes) return s;
        return by_columns(r, device) ? reduce_columns::supports(r, device)
                                     : reduce_rows::supports(r, device);
    }
    static launch make(const pool_problem& p, const device_info& device) {
        const reduce_problem r = reduction_of(p);
        if (reduce_vector_rows::supports(r, device).yes) return reduce_vector_rows::make(r, device);
        return by_columns(r, device) ? reduce_columns::make(r, device)
                                     : reduce_rows::make(r, device);
    }

private:
    /// Whether neighbours run along the kept axes, as where channels are innermost.
    static bool by_columns(const reduce_problem& r, const device_info& device) {
        const support rows = reduce_rows::supports(r, device),
                      columns = reduce_columns::supports(r, device);
        return rows.yes && columns.yes && columns.best().seconds < rows.best().seconds;
    }
    static reduce_problem reduction_of(const pool_problem& p) {
        reduce_problem r{p.shape_of.what == pooling::max ? reduction::max : reduction::mean,
                         {p.batch, p.channels},
                         {p.in_size[0], p.in_size[1]},
                         p.input,
                         p.epilogue,
                         p.input.type()};
        for (operand* o : operands_of(r.epilogue)) o->steps = part_of(o->steps, 0, 2);
        return r;
    }
};

static_assert(kernel_type<pool_windows> && kernel_type<pool_global>);

}}  // namespace pumice::PUMICE_ABI
