// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions as products, the input's windows gathered on the way (shaders/matmul.slang,
// shaders/split_k.slang).
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/kernels/split_k.hpp>

#include <algorithm>
#include <limits>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// Steps of f's operands over axes {g, i...}, where axis 0 was g * size + i.
inline void split_group(fused& f, std::int64_t size, int axis) {
    for (operand* o : operands_of(f)) {
        const std::int64_t step = o->steps[axis];
        o->steps.insert(0, step * size);
    }
}

inline void move_axis(fused& f, int from, int to) {
    for (operand* o : operands_of(f)) {
        const std::int64_t step = o->steps[from];
        o->steps.erase(from);
        o->steps.insert(to, step);
    }
}

/// A window of one element on an unpadded input whose lines follow each other: a matrix per image.
inline bool pointwise(const conv_problem& q, product& p) {
    const conv_op& op = q.shape_of;
    for (int i = 0; i < 2; ++i)
        if (q.window[i] != 1 || op.pad_begin[i] != 0 || op.pad_end[i] != 0) return false;
    if (q.batch != 1 && q.out_size[0] * q.out_size[1] < 64) return false;
    fused right = q.input;  // {n, c, y, x} -> {n, g, y, x, c}
    for (operand* o : operands_of(right))
        for (int i = 0; i < 2; ++i) o->steps[2 + i] *= op.stride[i];
    split_group(right, q.in_channels / op.group, 1);
    move_axis(right, 0, 1);
    move_axis(right, 2, 4);
    shape lines{q.out_size[0], q.out_size[1]};
    array_list<operand*> all = operands_of(right);
    for (operand* o : all)
        std::rotate(o->steps.begin(), o->steps.begin() + 2, o->steps.begin() + 4);
    if (collapse(lines, all, 0, 2) != 1) return false;
    for (operand* o : all)
        std::rotate(o->steps.begin(), o->steps.begin() + 1, o->steps.begin() + 3);
    p.right = std::move(right);  // {n, g, yx, c}
    for (operand* o : operands_of(p.left)) o->steps.insert(0, 0);
    move_axis(p.epilogue, 2, 0);  // {g, c, n, y, x} -> {n, g, c, y, x}
    p.batch = {q.batch, op.group};
    p.n = q.out_size[0] * q.out_size[1];
    p.columns = {q.out_size[0], q.out_size[1]};
    return true;
}

/// The problem as a product of a group's weights (m = channel out) with windows (n = image, y, x),
/// or with a plain matrix where they are of one element.
inline product product_of(const conv_problem& q) {
    const std::int64_t groups = q.shape_of.group, in = q.in_channels / groups,
                       out = q.out_channels / groups;
    product p;
    p.batch = {groups};
    p.m = out;
    p.n = q.batch * q.out_size[0] * q.out_size[1];
    p.k = in * q.window[0] * q.window[1];
    p.columns = {q.batch, q.out_size[0], q.out_size[1]};
    p.depth = {in, q.window[0], q.window[1]};
    p.left = q.weight;
    split_group(p.left, out, 0);  // {g, channel out, channel in, y, x}
    p.right = q.input;
    p.epilogue = q.epilogue;  // {n, channel out, y, x} -> {g, channel out, n, y, x}
    split_group(p.epilogue, out, 1);
    move_axis(p.epilogue, 1, 2);
    p.sum = info(q.input.type()).arithmetic;
    shape whole = p.batch + p.m + p.depth;
    collapse(whole, operands_of(p.left), 2, 5);
    p.depth = shape(span(whole).subspan(2));
    if (!pointwise(q, p)) p.image = {q.batch, q.in_channels, q.in_size[0], q.in_size[1]};
    const int first = p.batch.rank() + 1;
    whole = p.batch + p.m + p.columns;
    collapse(whole, operands_of(p.epilogue), first, whole.rank());
    p.columns = shape(span(whole).subspan(static_cast<std::size_t>(first)));
    return p;
}

/// The parameters of Window (shaders/tile_load.slang): windows of `how` on q's input, each of which
/// gives a value of {image, y, x}.
inline void add_windows(parameter_block& to, const char* slang, const conv_problem& q,
                        const conv_op& how, const shape& result) {
    const shape image{q.batch, q.in_channels, q.in_size[0], q.in_size[1]};
    to.add({{slang,
             "WindowParams",
             {{"P.Args args", block::arguments{q.input, image}},
              {"Places<P, I, 4> places", block::places{q.input, 4}},
              {"I channels", q.in_channels / q.shape_of.group},
              {"I size[2]", q.in_size},
              {"Extents<I, 3> result", block::extents{result}},
              {"I stride[2]", how.stride},
              {"I dilation[2]", how.dilation},
              {"I pad[2]", how.pad_begin}}}});
}
inline std::string window_type(const conv_problem& q, const std::string& chunk, bool wide,
                               std::int64_t high, std::int64_t across) {
    return cat({"Window<", emitted_name(q.input.body->view()), ",", index_type(wide), ",", chunk,
                ",", high, ",", across, ">"});
}
/// The windows as a loader of chunks of this type.
inline special_loader window_loader(const conv_problem& q, const std::string& chunk, bool wide) {
    return {window_type(q, chunk, wide, q.window[0], q.window[1]), &q,
            [](parameter_block& to, const char* slang, const product&, const void* of) {
                const conv_problem& p = *static_cast<const conv_problem*>(of);
                add_windows(to, slang, p, p.shape_of, {p.batch, p.out_size[0], p.out_size[1]});
            }};
}
inline launch convolution_launch(const conv_problem& q, const product& p, const core_choice& core,
                                 const device_info& device) {
    const bool wide = is_wide(p);
    if (!p.gathers()) return staged_launch(p, core, device, wide);
    const special_loader windows = window_loader(q, core.chunk, wide);
    return staged_launch(p, core, device, wide, &windows);
}

/// A line of an output channel: sums of floats in double, rounded once; of integers modulo 2^64.
template <class T>
void convolve_line(const conv_problem& p, const T* weights, const T* x, std::int64_t channel,
                   std::int64_t line, span<T> sums) {
    const conv_op& op = p.shape_of;
    const std::int64_t in = p.in_channels / op.group, out = p.out_channels / op.group;
    const std::int64_t height = p.in_size[0], width = p.in_size[1];
    std::fill(sums.begin(), sums.end(), T(0));
    weights += channel * in * p.window[0] * p.window[1];
    x += channel / out * in * height * width;
    for (std::int64_t c = 0; c < in; ++c, x += height * width)
        for (std::int64_t i = 0; i < p.window[0]; ++i) {
            const std::int64_t y = line * op.stride[0] - op.pad_begin[0] + i * op.dilation[0];
            for (std::int64_t j = 0; j < p.window[1]; ++j) {
                const T factor = *weights++;
                std::int64_t at = j * op.dilation[1] - op.pad_begin[1];
                if (y < 0 || y >= height) continue;
                for (T& sum : sums) {
                    if (at >= 0 && at < width) sum += factor * x[y * width + at];
                    at += op.stride[1];
                }
            }
        }
}

inline support supports_convolution(const conv_problem& p, const device_info& device) {
    if (support s = supports_programs({&p.input, &p.weight, &p.epilogue}, device); !s.yes) return s;
    if (support s = supports_sum(p.input.type(), p.weight.type()); !s.yes) return s;
    const std::int64_t terms = p.in_channels / p.shape_of.group * p.window[0] * p.window[1];
    if (terms > std::numeric_limits<std::int32_t>::max())
        return support::no({"an output sums ", terms,
                            " products, and kernels count them in 32 bits"});
    return {};
}

}  // namespace detail

/// What every kernel of convolutions computes.
template <std::same_as<conv_problem> P>
void reference(const P& p, const host_buffers& buffers) {
    using detail::operator+;
    const dtype type = p.input.type(), wide = detail::widest_sum(type);
    const std::int64_t in = p.in_channels / p.shape_of.group, height = p.in_size[0],
                       width = p.in_size[1];
    host_rows input(p.input, buffers), weight(p.weight, buffers), result(p.epilogue, buffers);
    detail::wide_values w, x, sums(p.out_size[1]);
    for_each_row({p.out_channels, in, p.window[0], 1}, [&](const index_list& at) {
        weight.read(at + 0, wide, w.grow(p.window[1]), p.window[1]);
    });
    for (std::int64_t n = 0; n < p.batch; ++n) {
        x.clear();
        for_each_row({p.in_channels, height, 1}, [&](const index_list& at) {
            input.read({n, at[0], at[1], 0}, wide, x.grow(width), width);
        });
        for_each_row({p.out_channels, p.out_size[0], 1}, [&](const index_list& at) {
            detail::visit_sum(type, [&]<class T>(T) {
                detail::convolve_line<T>(p, w.as<T>().data(), x.as<T>().data(), at[0], at[1],
                                         sums.as<T>());
            });
            result.write({n, at[0], at[1], 0}, wide, sums.at(0), p.out_size[1]);
        });
    }
}

/// Plain arithmetic: every element type, any strides, groups, dilations and pads, any device.
struct conv_tiled {
    using problem_type = conv_problem;
    static constexpr std::string_view name = "conv/tiled";
    static constexpr bool portable = true;

    static support supports(const conv_problem& p, const device_info& device) {
        if (support s = detail::supports_convolution(p, device); !s.yes) return s;
        return detail::supports_registers(detail::product_of(p), device);
    }
    static launch make(const conv_problem& asked, const device_info& device,
                       const configuration& way) {
        const detail::product p = detail::product_of(asked);
        return detail::convolution_launch(asked, p, detail::register_core(p, way, device), device);
    }
};

/// Cooperative matrices, as in matmul_matrices. A fused input is rounded to what they multiply
/// first.
template <reduced_precision Needs>
struct conv_matrices {
    using problem_type = conv_problem;
    static constexpr reduced_precision needs = Needs;
    static constexpr std::string_view name = Needs == reduced_precision::bf16_3x ? "conv/bf16_3x"
                                             : Needs == reduced_precision::f16_accumulation
                                                 ? "conv/f16_accumulation"
                                                 : "conv/cooperative";
    static constexpr bool portable = false;

    static support supports(const conv_problem& q, const device_info& device) {
        if (support s = detail::supports_convolution(q, device); !s.yes) return s;
        const detail::product p = detail::product_of(q);
        const detail::fragments_or_reason of = fragments_for(q, p);
        return of.kind ? detail::supports_matrices(p, *of.kind, device) : of.none;
    }
    static launch make(const conv_problem& q, const device_info& device, const configuration& way) {
        const detail::product p = detail::product_of(q);
        return detail::convolution_launch(q, p,
                                          detail::matrix_core(p, *fragments_for(q, p).kind, way,
                                                              device),
                                          device);
    }

private:
    static detail::fragments_or_reason fragments_for(const conv_problem& q,
                                                     const detail::product& p) {
        return {p, detail::multiplied_type(q.input), detail::multiplied_type(q.weight), Needs};
    }
};
using conv_cooperative = conv_matrices<reduced_precision::none>;
using conv_bf16_3x = conv_matrices<reduced_precision::bf16_3x>;
using conv_f16_accumulation = conv_matrices<reduced_precision::f16_accumulation>;

/// Few sums by plain arithmetic: work for a whole device where tiles leave it idle.
struct conv_split_k {
    using problem_type = conv_problem;
    static constexpr std::string_view name = "conv/split_k";
    static constexpr bool portable = false;

    static support supports(const conv_problem& p, const device_info& device) {
        if (support s = detail::supports_convolution(p, device); !s.yes) return s;
        return detail::supports_split_k(detail::product_of(p), device);
    }
    static launch make(const conv_problem& asked, const device_info& device,
                       const configuration& way) {
        const detail::product p = detail::product_of(asked);
        const bool wide = detail::is_wide(p);
        if (!p.gathers()) return detail::split_k_launch(p, device, wide, way);
        const detail::special_loader windows =
            detail::window_loader(asked, cat({"Plain<", slang_name(p.sum), ">"}), wide);
        return detail::split_k_launch(p, device, wide, way, &windows);
    }
    static std::int64_t scratch(const conv_problem& p, const device_info&,
                                const configuration& way) {
        return detail::split_k_scratch(detail::product_of(p), way);
    }
};

static_assert(kernel_type<conv_tiled> && kernel_type<conv_cooperative> &&
              kernel_type<conv_split_k> && kernel_type<conv_bf16_3x> &&
              kernel_type<conv_f16_accumulation>);

}}  // namespace pumice::PUMICE_ABI
