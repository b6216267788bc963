// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Builders of ONNX operators over windows and matrices: Conv, the pools, MatMul, Gemm.
#pragma once

#include <pumice/graph/window.hpp>
#include <pumice/model/onnx/detail/node_builder.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx::build {

/// The attributes that Conv and the pools share, over two axes; one axis gets a first of length 1.
struct window_attributes {
    int window[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1}, pad_begin[2] = {0, 0},
        pad_end[2] = {0, 0};
};

/// Pads and windows are multiplied in 32 bits later on.
inline int small(node_builder& b, std::int64_t value, const char* what) {
    if (value < 0 || value > 32767)
        b.fail(errc::bad_file, "has " + std::string(what) + " of " + std::to_string(value) +
                                   ", outside 0 to 32767");
    return static_cast<int>(value);
}

/// `image` is the input's shape; `kernel` the window's extents where the weight gives them.
inline window_attributes read_window(node_builder& b, const shape& image,
                                     span<const std::int64_t> kernel) {
    const int axes = image.rank() - 2;
    if (axes < 1)
        b.fail(errc::rank_mismatch,
               "needs an input (N, C, axes...), got the shape " + to_string(image));
    if (axes > 2)
        b.fail(errc::unsupported,
               "has " + std::to_string(axes) + " spatial axes; Pumice has kernels for 1 and 2");
    const auto count = static_cast<std::size_t>(axes);
    const auto list = [&](const char* name, std::size_t n, std::vector<std::int64_t> otherwise) {
        auto values = b.integers(name);
        if (values && values->size() != n)
            b.fail(errc::bad_file, std::string("has ") + std::to_string(values->size()) + " " +
                                       name + ", needs " + std::to_string(n));
        return values ? *values : otherwise;
    };
    const std::vector<std::int64_t> ones(count, 1);
    auto windows =
        list("kernel_shape", count, std::vector<std::int64_t>(kernel.begin(), kernel.end()));
    if (windows.size() != count) b.fail(errc::bad_file, "lacks kernel_shape");
    if (!kernel.empty() &&
        !std::equal(windows.begin(), windows.end(), kernel.begin(), kernel.end()))
        b.fail(errc::shape_mismatch, "has a kernel_shape that is not its weight's");
    const auto stride = list("strides", count, ones), dilation = list("dilations", count, ones);
    const auto pads = list("pads", 2 * count, std::vector<std::int64_t>(2 * count, 0));
    const auto how = b.text("auto_pad", "NOTSET");
    if (how != "NOTSET" && how != "VALID" && how != "SAME_UPPER" && how != "SAME_LOWER")
        b.fail(errc::bad_file, "has an unknown auto_pad: " + std::string(how.substr(0, 32)));

    window_attributes w;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = i + 2 - count;
        w.window[at] = small(b, windows[i], "a window");
        w.stride[at] = small(b, stride[i], "a stride");
        w.dilation[at] = small(b, dilation[i], "a dilation");
        if (w.window[at] == 0 || w.stride[at] == 0 || w.dilation[at] == 0)
            b.fail(errc::bad_file, "has a window, stride or dilation of 0");
        if (how == "NOTSET") {
            w.pad_begin[at] = small(b, pads[i], "a pad");
            w.pad_end[at] = small(b, pads[count + i], "a pad");
        } else if (how != "VALID") {  // ceil(length / stride) outputs, an odd pad goes to one side
            const std::int64_t length = image[2 + static_cast<int>(i)],
                               outputs = (length + w.stride[at] - 1) / w.stride[at];
            const std::int64_t reach =
                static_cast<std::int64_t>(w.window[at] - 1) * w.dilation[at] + 1;
            const std::int64_t total =
                std::max<std::int64_t>((outputs - 1) * w.stride[at] + reach - length, 0);
            const std::int64_t less = total / 2;
            w.pad_begin[at] = small(b, how == "SAME_UPPER" ? less : total - less, "a pad");
            w.pad_end[at] = small(b, how == "SAME_UPPER" ? total - less : less, "a pad");
        }
    }
    return w;
}

template <class Op>
void copy_window(const window_attributes& from, Op& to) {
    for (int i = 0; i < 2; ++i) {
        to.stride[i] = from.stride[i], to.dilation[i] = from.dilation[i];
        to.pad_begin[i] = from.pad_begin[i], to.pad_end[i] = from.pad_end[i];
    }
}

/// (N, C, L) as (N, C, 1, L).
inline any_tensor planar(const any_tensor& x) {
    const shape& s = x.shape();
    return s.rank() == 3 ? reshape(x, {s[0], s[1], 1, s[2]}) : x;
}
inline any_tensor linear(const any_tensor& x) {
    const shape& s = x.shape();
    return reshape(x, {s[0], s[1], s[3]});
}

/// The convolution of an image with a kernel over two axes, by the extents of inputs x and w that
/// they come from.
inline any_tensor convolved(node_builder& b, int x, int w, const any_tensor& from,
                            const any_tensor& kernel) {
    const shape &image = b.extent(x), &weight = b.extent(w);
    if (weight.rank() != image.rank())
        b.fail(errc::rank_mismatch, "has an input of shape " + to_string(image) +
                                        " and a weight of " + to_string(weight));
    const window_attributes read = read_window(b, image, span(weight).subspan(2));
    conv_op options;
    copy_window(read, options);
    options.group = small(b, b.integer("group", 1), "a group");
    checked_multiply(weight[1], options.group, "conv");
    return pumice::conv(from, kernel, options);
}

/// With input `bias` added to each channel: the fuser makes it the epilogue.
inline any_tensor biased(node_builder& b, const any_tensor& y, int bias, std::int64_t channels) {
    if (b.extent(bias) != shape{channels})
        b.fail(errc::shape_mismatch, "has a bias of shape " + to_string(b.extent(bias)) + " for " +
                                         std::to_string(channels) + " channels");
    return pumice::apply<op::add>(y, b.derived(bias, {bias}, [](auto in) {
        return reshape(in[0], {in[0].shape()[0], 1, 1});
    }));
}

inline any_tensor conv(node_builder& b) {
    const bool line = b.extent(0).rank() == 3;
    const any_tensor kernel =
        line ? b.derived(1, {1}, [](auto in) { return planar(in[0]); }) : b.tensor(1);
    any_tensor y = convolved(b, 0, 1, planar(b.tensor(0)), kernel);
    if (b.has(2)) y = biased(b, y, 2, b.extent(1)[0]);
    return line ? linear(y) : y;
}

inline any_tensor pool_of(node_builder& b, pooling what) {
    const shape& image = b.extent(0);
    const window_attributes w = read_window(b, image, {});
    pool_op options;
    options.what = what;
    copy_window(w, options);
    std::copy_n(w.window, 2, options.window);
    options.ceil_mode = b.integer("ceil_mode", 0) != 0;
    if (what == pooling::average)
        options.count_include_pad = b.integer("count_include_pad", 0) != 0;
    else b.ignore("storage_order");  // of the second output, which is refused
    const any_tensor y = pool(planar(b.tensor(0)), options);
    return image.rank() == 3 ? linear(y) : y;
}
inline any_tensor max_pool(node_builder& b) { return pool_of(b, pooling::max); }
inline any_tensor average_pool(node_builder& b) { return pool_of(b, pooling::average); }

/// A reduction over the spatial axes, of any number.
inline any_tensor global_pool(node_builder& b, reduction what) {
    std::vector<std::int64_t> axes;
    for (int i = 2; i < b.extent(0).rank(); ++i) axes.push_back(i);
    if (axes.empty())
        b.fail(errc::rank_mismatch,
               "needs an input (N, C, axes...), got the shape " + to_string(b.extent(0)));
    return reduce(what, b.tensor(0), axes, true);
}
inline any_tensor global_average_pool(node_builder& b) { return global_pool(b, reduction::mean); }
inline any_tensor global_max_pool(node_builder& b) { return global_pool(b, reduction::max); }

inline any_tensor matmul(node_builder& b) { return pumice::matmul(b.tensor(0), b.tensor(1)); }

/// alpha * A * B + beta * C, with A or B transposed by a view.
inline any_tensor gemm(node_builder& b) {
    const std::int64_t swap[] = {1, 0};
    if (b.extent(0).rank() != 2 || b.extent(1).rank() != 2)
        b.fail(errc::rank_mismatch, "takes matrices, got the shapes " + to_string(b.extent(0)) +
                                        " and " + to_string(b.extent(1)));
    any_tensor x = b.tensor(0), y = b.tensor(1);
    if (b.integer("transA", 0) != 0) x = permute_dims(x, swap);
    if (b.integer("transB", 0) != 0) y = permute_dims(y, swap);
    const double alpha = b.real("alpha", 1), beta = b.real("beta", 1);
    b.ignore("broadcast");  // before operator set 7; what follows broadcasts always
    any_tensor r = pumice::matmul(x, y);
    if (alpha != 1) r = pumice::apply<op::multiply>(r, alpha);
    if (!b.has(2) || beta == 0) return r;
    any_tensor c = b.tensor(2);
    if (broadcast(c.shape(), r.shape(), "Gemm") != r.shape())
        b.fail(errc::shape_mismatch, "has an addend of shape " + to_string(c.shape()) +
                                         " for a product of " + to_string(r.shape()));
    if (beta != 1) c = pumice::apply<op::multiply>(c, beta);
    return pumice::apply<op::add>(r, c);
}

}}}  // namespace pumice::PUMICE_ABI::onnx::build
