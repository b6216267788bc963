// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Builders of ONNX operators over quantised integers: to and from them, and products of them.
#pragma once

#include <pumice/graph/decode.hpp>
#include <pumice/model/onnx/detail/window.hpp>

#include <array>
#include <numeric>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx::build {

/// Whoever reads it decodes as it loads.
inline any_tensor dequantize_linear(node_builder& b) {
    const any_tensor x = b.tensor(0), scale = b.tensor(1);
    const any_tensor y =
        pumice::dequantize_linear(x, scale, b.has(2) ? b.tensor(2) : any_tensor(),
                                  b.integer("axis", 1), b.integer("block_size", 0));
    const std::int64_t code = b.integer("output_dtype", 0);
    const std::optional<dtype> type =
        code == 0 ? scale.dtype() : to_dtype(static_cast<std::int32_t>(code));
    if (!type || !is_floating(*type)) b.fail(errc::unsupported, "gives " + name_of_type(code));
    return astype(y, b.computed(*type));
}

inline any_tensor quantize_linear(node_builder& b) {
    const std::int64_t code = b.integer("output_dtype", 0);
    const std::optional<dtype> named =
        code == 0 ? dtype::u8 : to_dtype(static_cast<std::int32_t>(code));
    const std::optional<dtype> type = b.has(2) ? b.value(2).dtype() : named;
    if (!named || !type) b.fail(errc::unsupported, "gives " + name_of_type(code));
    if (b.has(2) && code != 0 && *named != *type)
        b.fail(errc::bad_file, "gives " + std::string(to_string(*named)) +
                                   " and has a zero point of " + std::string(to_string(*type)));
    // Of the division: that of the scale from operator set 23 on, f32 before.
    const std::int64_t precision = b.integer("precision", 0);
    std::optional<dtype> quotient = b.opset() >= 23 ? b.value(1).dtype() : dtype::f32;
    if (precision != 0) quotient = to_dtype(static_cast<std::int32_t>(precision));
    if (!quotient || !is_floating(*quotient))
        b.fail(errc::unsupported, "divides in " + name_of_type(precision));
    return pumice::quantize_linear(b.tensor(0), b.tensor(1), b.has(2) ? b.tensor(2) : any_tensor(),
                                   *type, b.integer("axis", 1), b.integer("block_size", 0),
                                   b.integer("saturate", 1) != 0, *quotient);
}

/// y, scale and zero point of u8 that hold the least to the greatest of x, and 0.
inline any_tensor dynamic_quantize_linear(node_builder& b) {
    const any_tensor x = astype(b.tensor(0), dtype::f32);
    std::vector<std::int64_t> axes(static_cast<std::size_t>(x.rank()));
    std::iota(axes.begin(), axes.end(), 0);
    const any_tensor least = apply<op::minimum>(reduce(reduction::min, x, axes, false), 0.0),
                     most = apply<op::maximum>(reduce(reduction::max, x, axes, false), 0.0),
                     step = apply<op::divide>(apply<op::subtract>(most, least), 255.0);
    // Of nothing but zeros any scale will do.
    const any_tensor scale = apply<op::where>(apply<op::equal>(step, 0.0), 1.0, step),
                     below = apply<op::negative>(apply<op::divide>(least, scale)),
                     zero = astype(apply<op::round>(below), dtype::u8);
    if (b.wants(1)) b.set(1, astype(scale, b.computed(dtype::f32)));
    if (b.wants(2)) b.set(2, zero);
    return pumice::quantize_linear(x, scale, zero, dtype::u8, 0, 0, true);
}

/// Input i, a scale or a zero point, as it broadcasts over a tensor of this shape: one number, or a
/// list along `axis`, or as it is. A negative axis: one number only.
inline any_tensor along(node_builder& b, int i, const shape& of, int axis) {
    const shape extent = b.extent(i);
    if (element_count(extent) == 1)
        return b.derived(i, {i}, [](auto in) { return reshape(in[0], {}); });
    if (axis < 0 || (extent.rank() == 1 && extent[0] != of[axis]))
        b.fail(errc::shape_mismatch,
               "has a scale or zero point (input " + std::to_string(i) + ") of shape " +
                   to_string(extent) +
                   (axis < 0 ? " where it takes one number"
                             : " for " + std::to_string(of[axis]) + " rows, columns or channels"));
    if (extent.rank() != 1) return b.tensor(i);
    shape over{of[axis]};
    for (int d = axis + 1; d < of.rank(); ++d) over.push_back(1);
    return b.derived(i, {i}, [over](auto in) { return reshape(in[0], over); });
}

/// A zero point of input x in 32 bits: one number or a list along `axis`.
inline any_tensor zero_point(node_builder& b, int x, int zero, int axis) {
    if (b.value(zero).dtype() != b.value(x).dtype())
        b.fail(errc::dtype_mismatch, "has a zero point of " +
                                         std::string(to_string(b.value(zero).dtype())) + " for " +
                                         std::string(to_string(b.value(x).dtype())));
    return astype(along(b, zero, b.extent(x), axis), dtype::i32);
}

/// Integers of 8 bits in 32.
inline any_tensor widened(node_builder& b, int x) {
    const dtype type = b.value(x).dtype();
    if (type != dtype::i8 && type != dtype::u8)
        b.fail(errc::unsupported, "takes i8 or u8 as input " + std::to_string(x) + ", not " +
                                      std::string(to_string(type)));
    return astype(b.tensor(x), dtype::i32);
}

/// Whether there is a zero point, and it is not known to be 0.
inline bool moves(node_builder& b, int zero) { return b.has(zero) && b.number(zero) != 0.0; }

/// Less their zero point; without one, cooperative matrices multiply them as they lie.
inline any_tensor centred(node_builder& b, int x, int zero, int axis) {
    const any_tensor wide = widened(b, x);
    if (!b.has(zero)) return wide;
    const any_tensor from = zero_point(b, x, zero, axis);
    return moves(b, zero) ? apply<op::subtract>(wide, from) : wide;
}

/// Products of matrices: zero points of the left factor for its rows, of the right one for its
/// columns. Where that is a constant c without a zero point, (a - z) c = (a - s) c + (s - z) (1 c),
/// where 1 c are the sums of its columns and a - s is of its type, so that both factors are of 8
/// bits.
inline any_tensor integer_product(node_builder& b, int left, int left_zero, int right,
                                  int right_zero) {
    const int rows = b.extent(left).rank() - 2, depth = b.extent(right).rank() - 2;
    const any_tensor c = centred(b, right, right_zero, depth + 1);
    const dtype of_left = b.value(left).dtype(), of_right = b.value(right).dtype();
    const bool lower = of_left == dtype::u8 && of_right == dtype::i8;
    if (moves(b, right_zero) || !b.known(right) || rows < 0 || depth < 0 ||
        (of_left != of_right && !lower) || !(lower || moves(b, left_zero)))
        return pumice::matmul(centred(b, left, left_zero, rows), c);
    any_tensor a = widened(b, left);
    if (lower) a = astype(astype(apply<op::subtract>(a, 128.0), dtype::i8), dtype::i32);
    const any_tensor sums = b.derived(right, {right}, [depth](auto in) {
        return reduce(reduction::sum, astype(in[0], dtype::i32), std::array{std::int64_t{depth}},
                      true);
    });
    const double shift = lower ? 128 : 0;
    const any_tensor more =
        b.has(left_zero)
            ? apply<op::multiply>(sums,
                                  apply<op::subtract>(shift, zero_point(b, left, left_zero, rows)))
            : apply<op::multiply>(sums, shift);
    return apply<op::add>(pumice::matmul(a, c), more);
}
inline any_tensor matmul_integer(node_builder& b) { return integer_product(b, 0, 2, 1, 3); }

/// The zero point of a weight is one number or one for each channel.
inline any_tensor integer_convolution(node_builder& b, int x, int x_zero, int weight,
                                      int weight_zero) {
    return convolved(b, x, weight, planar(centred(b, x, x_zero, -1)),
                     planar(centred(b, weight, weight_zero, 0)));
}
inline any_tensor conv_integer(node_builder& b) {
    const any_tensor y = integer_convolution(b, 0, 2, 1, 3);
    return b.extent(0).rank() == 3 ? linear(y) : y;
}

/// Sums of products of quantised integers, times the scales of their factors and over that of the
/// result, of the type and zero point of input `zero`; the latter two are along `axis` of the sums.
inline any_tensor requantised(node_builder& b, const any_tensor& sums, const any_tensor& left,
                              const any_tensor& right, int scale, int zero, int axis) {
    const dtype type = b.value(zero).dtype();
    if (type != dtype::i8 && type != dtype::u8)
        b.fail(errc::unsupported, "gives i8 or u8, not " + std::string(to_string(type)));
    const auto real = [](const any_tensor& t) { return astype(t, dtype::f32); };
    const auto result = [&](int i) { return real(along(b, i, sums.shape(), axis)); };
    const any_tensor factor =
        apply<op::divide>(apply<op::multiply>(real(left), real(right)), result(scale));
    const any_tensor steps = apply<op::round>(apply<op::multiply>(real(sums), factor));
    return astype(apply<op::add>(steps, result(zero)), type);  // saturates
}

inline any_tensor q_linear_matmul(node_builder& b) {
    const any_tensor sums = integer_product(b, 0, 2, 3, 5);
    return requantised(b, sums, along(b, 1, b.extent(0), b.extent(0).rank() - 2),
                       along(b, 4, b.extent(3), b.extent(3).rank() - 1), 6, 7, sums.rank() - 2);
}

inline any_tensor q_linear_conv(node_builder& b) {
    any_tensor sums = integer_convolution(b, 0, 2, 3, 5);
    if (b.has(8)) sums = biased(b, sums, 8, b.extent(3)[0]);
    const any_tensor y =
        requantised(b, sums, along(b, 1, sums.shape(), -1), along(b, 4, sums.shape(), 1), 6, 7, -1);
    return b.extent(0).rank() == 3 ? linear(y) : y;
}

}}}  // namespace pumice::PUMICE_ABI::onnx::build
