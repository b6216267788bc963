// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Reductions, norms, products, convolutions and pools as operations of TOSA, which has channels
// last.
#pragma once

#include <pumice/model/vgf/detail/write_layouts.hpp>

#include <utility>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf { namespace detail {

class window_writer : protected layout_writer {
protected:
    using layout_writer::write;

    // reductions ----------------------------------------------------------------------------------
    value over(std::string_view name, value x, const array_list<int>& axes) {
        for (const int a : axes) x = w_.reduced(name, x, a);
        return x;
    }
    value mean(const value& x, const array_list<int>& axes) {
        double count = 1;
        for (const int a : axes) count *= static_cast<double>(x.shape[a]);
        return w_.times(over("reduce_sum", x, axes), 1 / count);
    }
    value write(const node& n, const reduce_op& op) {
        value x = input(n, 0);
        const dtype type = x.type;
        const bool narrow = !is_floating(type) && type != dtype::boolean && info(type).bits < 32;
        if (narrow) x = w_.cast(x, dtype::i32);
        const auto exp_sum = [&] {
            const value top = over("reduce_max", x, op.axes);
            const value sum = over("reduce_sum", w_.one("exp", w_.sub(x, top)), op.axes);
            return w_.add(w_.one("log", sum), top);
        };
        value r;
        switch (op.what) {
            case reduction::sum: r = over("reduce_sum", x, op.axes); break;
            case reduction::prod: r = over("reduce_product", x, op.axes); break;
            case reduction::max: r = over("reduce_max", x, op.axes); break;
            case reduction::min: r = over("reduce_min", x, op.axes); break;
            case reduction::any: r = over("reduce_any", x, op.axes); break;
            case reduction::all: r = over("reduce_all", x, op.axes); break;
            case reduction::mean: r = mean(x, op.axes); break;
            case reduction::logsumexp: r = exp_sum(); break;
            case reduction::var: {
                const value d = w_.sub(x, mean(x, op.axes));
                r = mean(w_.mul(d, d), op.axes);
                break;
            }
            default: tosa_writer::lacks({"operators for ", to_string(op.what)});
        }
        return w_.reshaped(narrow ? w_.cast(r, type) : r, with_axis(n.extent));
    }
    value write(const node& n, const normalize_op& op) {
        const value x = input(n, 0);
        if (op.what == normalization::softmax || op.what == normalization::log_softmax) {
            const value d = w_.sub(x, over("reduce_max", x, op.axes)), e = w_.one("exp", d),
                        sum = over("reduce_sum", e, op.axes);
            return op.what == normalization::softmax ? w_.mul(e, w_.one("reciprocal", sum))
                                                     : w_.sub(d, w_.one("log", sum));
        }
        const value d = op.what == normalization::layer_norm ? w_.sub(x, mean(x, op.axes)) : x;
        const value power = w_.plus(mean(w_.mul(d, d), op.axes), op.epsilon);
        return w_.mul(d, w_.one("rsqrt", power));
    }

    // products and windows ------------------------------------------------------------------------
    value zero(dtype type) { return w_.number(type, 1, 0); }
    value write(const node& n, const matmul_op&) {
        const shape& out = n.extent;
        shape batch(span(out.begin(), out.size() - 2));
        const auto folded = [&](const value& x) {
            shape full = batch;
            full.push_back(x.shape[x.shape.rank() - 2]);
            full.push_back(x.shape.back());
            const value all = w_.tiled(beside(x, full), full);
            return w_.reshaped(all, {element_count(batch), full[full.rank() - 2], full.back()});
        };
        const value a = folded(input(n, 0)), b = folded(input(n, 1));
        const value z = zero(n.type);
        return w_.reshaped(w_.op("matmul", {a, b, z, z}, n.type,
                                 {a.shape[0], a.shape[1], b.shape[2]}),
                           out);
    }

    static std::string list(std::initializer_list<std::int64_t> numbers) {
        std::string text = "array<i64: ";
        bool first = true;
        for (const std::int64_t k : numbers)
            append_text(text, {std::exchange(first, false) ? "" : ", ", k});
        return text + ">";
    }
    value channels_last(const value& x) { return w_.transposed(x, {0, 2, 3, 1}); }
    value channels_first(const value& x) { return w_.transposed(x, {0, 3, 1, 2}); }
    /// The image padded or cut at its end, so that windows fit it to the last element as TOSA asks;
    /// gives the pads (top, bottom, left, right) that are left to the operator.
    template <class Op>
    value fitted(value image, const Op& op, const int (&reach)[2], const shape& out,
                 std::int64_t (&pads)[4]) {
        for (int k = 0; k < 2; ++k) {
            const std::int64_t span = (out[2 + k] - 1) * op.stride[k] + reach[k];
            std::int64_t end = span - op.pad_begin[k] - image.shape[1 + k];
            if (end < 0) {
                shape size = image.shape;
                size[1 + k] += end;
                image = w_.sliced(image, shape(std::vector<std::int64_t>(4, 0)), size);
                end = 0;
            }
            pads[2 * k] = op.pad_begin[k];
            pads[2 * k + 1] = end;
        }
        return image;
    }
    value write(const node& n, const conv_op& op) {
        value image = channels_last(input(n, 0));
        const value w = input(n, 1);
        const int reach[2] = {static_cast<int>(w.shape[2] - 1) * op.dilation[0] + 1,
                              static_cast<int>(w.shape[3] - 1) * op.dilation[1] + 1};
        std::int64_t pads[4];
        image = fitted(image, op, reach, n.extent, pads);
        const std::string how =
            cat({"pad = ", list({pads[0], pads[1], pads[2], pads[3]}),
                 ", stride = ", list({op.stride[0], op.stride[1]}),
                 ", dilation = ", list({op.dilation[0], op.dilation[1]}), ", acc_type = f32"});
        const std::int64_t channels = image.shape[3], group = channels / op.group,
                           made = w.shape[0] / op.group;
        const value z = zero(n.type);
        const auto bias = [&](std::int64_t count) {
            return w_.tiled(w_.number(n.type, 1, 0), {count});
        };
        const shape out{n.extent[0], n.extent[2], n.extent[3], n.extent[1]};
        if (op.group == 1) {
            const value k = w_.transposed(w, {0, 2, 3, 1});
            return channels_first(w_.op("conv2d", {image, k, bias(w.shape[0]), z, z}, n.type, out,
                                        how));
        }
        if (group == 1) {  // (C * M, 1, H, W) as (H, W, C, M)
            const value k = w_.transposed(w_.reshaped(w, {channels, made, w.shape[2], w.shape[3]}),
                                          {2, 3, 0, 1});
            return channels_first(w_.op("depthwise_conv2d", {image, k, bias(w.shape[0]), z, z},
                                        n.type, out, how));
        }
        value all;
        for (std::int64_t g = 0; g < op.group; ++g) {
            shape size = image.shape, part = out, rows = w.shape;
            size[3] = group, part[3] = made, rows[0] = made;
            const value x = w_.sliced(image, {0, 0, 0, g * group}, size),
                        k = w_.transposed(w_.sliced(w, {g * made, 0, 0, 0}, rows), {0, 2, 3, 1});
            const value y = w_.op("conv2d", {x, k, bias(made), z, z}, n.type, part, how);
            if (g == 0) all = y;
            else {
                part[3] = all.shape[3] + made;
                all = w_.op("concat", {all, y}, n.type, part, "axis = 3 : i32");
            }
        }
        return channels_first(all);
    }
    value write(const node& n, const pool_op& op) {
        if (op.dilation[0] != 1 || op.dilation[1] != 1) tosa_writer::lacks({"pools with dilation"});
        value image = channels_last(input(n, 0));
        if (!is_floating(n.type) && n.type != dtype::i8)
            tosa_writer::lacks({"pools of ", to_string(n.type)});
        pool_op inner = op;
        if (op.what == pooling::average && op.count_include_pad) {
            if (op.ceil_mode) tosa_writer::lacks({"averages with ceil_mode that count pads"});
            image =
                padded(image,
                       {0, 0, op.pad_begin[0], op.pad_end[0], op.pad_begin[1], op.pad_end[1], 0, 0},
                       0);
            for (int k = 0; k < 2; ++k) inner.pad_begin[k] = inner.pad_end[k] = 0;
        }
        std::int64_t pads[4];
        image = fitted(image, inner, op.window, n.extent, pads);
        const shape out{n.extent[0], n.extent[2], n.extent[3], n.extent[1]};
        const std::string how = cat({"kernel = ", list({op.window[0], op.window[1]}),
                                     ", stride = ", list({op.stride[0], op.stride[1]}),
                                     ", pad = ", list({pads[0], pads[1], pads[2], pads[3]})});
        if (op.what == pooling::max)
            return channels_first(w_.op("max_pool2d", {image}, n.type, out,
                                        cat({how, ", nan_mode = #tosa.nan_mode<PROPAGATE>"})));
        const value z = zero(n.type);
        return channels_first(w_.op("avg_pool2d", {image, z, z}, n.type, out,
                                    cat({how, ", acc_type = f32"})));
    }
};

}}}}  // namespace pumice::PUMICE_ABI::vgf::detail
