// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Builders of ONNX reductions, running sums, softmax and normalisations.
#pragma once

#include <pumice/graph/norms.hpp>
#include <pumice/graph/scan.hpp>
#include <pumice/model/onnx/detail/shape.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx::build {

/// What goes before and after a reduction, both elementwise, both fused into it.
enum class around : std::uint8_t { none, abs_before, square_before, square_root, logarithm };

/// Unlike NumPy's, ONNX's greatest and least of nothing are the type's least and greatest.
inline any_tensor reduce_or_identity(node_builder& b, reduction what, const any_tensor& x,
                                     span<const std::int64_t> axes, bool keep) {
    if (x.size() > 0 || (what != reduction::max && what != reduction::min))
        return reduce(what, x, axes, keep);
    const shape out = reduced_shape(make_reduction(what, x.rank(), axes, keep), x.shape());
    if (element_count(out) == 0) return reduce(what, x, axes, keep);
    std::vector<std::byte> identity;
    visit(x.dtype(), [&](auto t) {
        using T = decltype(t);
        if constexpr (!std::is_same_v<T, bool>) {
            using limits = std::numeric_limits<std::conditional_t<std::is_integral_v<T>, T, float>>;
            const bool max = what == reduction::max;
            const T value = is_floating(x.dtype())
                                ? convert<T>(max ? -limits::infinity() : limits::infinity())
                                : convert<T>(max ? limits::lowest() : limits::max());
            const auto raw = as_bytes(span(&value, 1));
            identity.assign(raw.begin(), raw.end());
        }
    });
    return broadcast_to(b.own(0, make_constant(x.dtype(), {}, std::move(identity))), out);
}

/// Their sum in 64 bits by their number, rounded toward zero.
inline any_tensor mean_of_integers(node_builder& b, const any_tensor& x,
                                   span<const std::int64_t> axes, bool keep) {
    const dtype wide = x.dtype() == dtype::u64 ? dtype::u64 : dtype::i64;
    const any_tensor sum = reduce_or_identity(b, reduction::sum, astype(x, wide), axes, keep);
    const std::int64_t count = x.size() / std::max<std::int64_t>(sum.size(), 1);
    return pumice::apply<op::divide>(sum, scalar(wide, count));
}

/// Axes are an attribute, or an input from `since` on; none means all, or nothing with
/// noop_with_empty_axes.
inline any_tensor reduce_axes(node_builder& b, reduction what, around with, int since) {
    const auto axes = list_of(b, "axes", 1, since);
    const bool keep = b.integer("keepdims", 1) != 0;
    const bool noop = b.opset() >= since && b.integer("noop_with_empty_axes", 0) != 0;
    any_tensor x = b.tensor(0);
    const dtype type = x.dtype();
    if (type == dtype::boolean && (what == reduction::max || what == reduction::min))
        what = what == reduction::max ? reduction::any : reduction::all;
    const bool none = !axes || axes->empty(), reduces = x.rank() > 0 && !(none && noop);
    const bool mean = what == reduction::mean && reduces;
    if (mean && !is_floating(type) && x.size() > 0)
        return astype(mean_of_integers(b, x, none ? span<const std::int64_t>{} : *axes, keep),
                      type);
    const bool real = mean || what == reduction::logsumexp || with == around::square_root ||
                      with == around::logarithm;
    if (real && !is_floating(type)) x = astype(x, dtype::f64);
    if (with == around::abs_before) x = pumice::apply<op::abs>(x);
    if (with == around::square_before || with == around::square_root)
        x = pumice::apply<op::square>(x);
    if (reduces)
        x = reduce_or_identity(b, what, x, none ? span<const std::int64_t>{} : *axes, keep);
    else if (!none) b.axes_of(*axes, x.rank());
    if (with == around::square_root) x = pumice::apply<op::sqrt>(x);
    if (with == around::logarithm) x = pumice::apply<op::log>(x);
    return astype(x, type);
}

/// A builder for a row: axes are an input from operator set 18 on, but of ReduceSum from 13 on.
template <reduction What, around With = around::none, int Since = 18>
any_tensor reduce_by(node_builder& b) {
    return reduce_axes(b, What, With, Since);
}

inline any_tensor arg_reduce(node_builder& b, reduction what) {
    const any_tensor x = b.tensor(0);
    const std::int64_t axis[] = {b.integer("axis", 0)};
    const bool keep = b.integer("keepdims", 1) != 0;
    if (b.integer("select_last_index", 0) == 0) return reduce(what, x, axis, keep);
    const std::int64_t last = x.shape()[normalize_axis(axis[0], x.rank(), "ArgMax")] - 1;
    return pumice::apply<op::subtract>(static_cast<double>(last),
                                       reduce(what, flip(x, axis), axis, keep));
}
inline any_tensor arg_max(node_builder& b) { return arg_reduce(b, reduction::argmax); }
inline any_tensor arg_min(node_builder& b) { return arg_reduce(b, reduction::argmin); }

inline any_tensor cumulative_sum(node_builder& b) {
    const auto axis = b.input_integers(1, {.narrow = true, .single = true});
    if (axis.size() != 1)
        b.fail(errc::bad_file, "takes one axis, got " + std::to_string(axis.size()));
    return cumulative(reduction::sum, b.tensor(0), axis[0],
                      {.exclusive = b.integer("exclusive", 0) != 0,
                       .reverse = b.integer("reverse", 0) != 0});
}

/// Before operator set 13 the axes from `axis` on are one.
inline any_tensor softmax_of(node_builder& b, bool log) {
    const any_tensor x = b.tensor(0);
    if (b.opset() >= 13) return softmax(x, b.integer("axis", -1), log);
    const int axis = normalize_axis(b.integer("axis", 1), x.rank(), "Softmax");
    if (axis == x.rank() - 1) return softmax(x, axis, log);
    return reshape(softmax(reshape(x, as_matrix(x.shape(), axis)), 1, log), x.shape());
}
inline any_tensor softmax_axis(node_builder& b) { return softmax_of(b, false); }
inline any_tensor log_softmax_axis(node_builder& b) { return softmax_of(b, true); }

/// (C) as it broadcasts along axis 1 of `rank` axes.
inline shape along_channels(const shape& s, int rank) {
    shape to = shape::filled(std::max(rank - 1, 1), 1);
    to[0] = element_count(s);
    return to;
}

/// Inputs `first` to `last` hold a number for each channel of x.
inline void must_be_of_channels(node_builder& b, const any_tensor& x, int first, int last) {
    for (int i = first; i <= last; ++i)
        if (b.extent(i) != shape{x.shape()[1]})
            b.fail(errc::shape_mismatch, "has a parameter of shape " + to_string(b.extent(i)) +
                                             " for an input of " + to_string(x.shape()));
}

/// Inference: x * factor + (bias - mean * factor), whose two vectors are worked out once.
inline any_tensor batch_normalization(node_builder& b) {
    const double epsilon = b.real("epsilon", 1e-5);
    b.ignore("momentum"), b.ignore("is_test");
    if (b.integer("training_mode", 0) != 0 || (b.opset() < 9 && b.integer("spatial", 1) != 1))
        b.fail(errc::unsupported, "is in training mode or not spatial");
    const any_tensor x = b.tensor(0);
    if (x.rank() < 2)
        b.fail(errc::rank_mismatch,
               "needs an input (N, C, ...), got the shape " + to_string(x.shape()));
    must_be_of_channels(b, x, 1, 4);
    const auto factor_of = [&](const any_tensor& scale, const any_tensor& variance) {
        return pumice::apply<op::multiply>(
            scale, pumice::apply<op::rsqrt>(pumice::apply<op::add>(variance, epsilon)));
    };
    const any_tensor factor = b.derived(0, {1, 4}, [&](auto in) {
        return reshape(factor_of(in[0], in[1]), along_channels(in[0].shape(), x.rank()));
    });
    const any_tensor offset = b.derived(1, {1, 2, 3, 4}, [&](auto in) {
        const any_tensor shift =
            pumice::apply<op::subtract>(in[1],
                                        pumice::apply<op::multiply>(in[2],
                                                                    factor_of(in[0], in[3])));
        return reshape(shift, along_channels(in[0].shape(), x.rank()));
    });
    return pumice::apply<op::add>(pumice::apply<op::multiply>(x, factor), offset);
}

/// The axes from `first` on.
inline std::vector<std::int64_t> axes_from(int first, int rank) {
    std::vector<std::int64_t> axes;
    for (int i = first; i < rank; ++i) axes.push_back(i);
    return axes;
}

inline any_tensor layer_normalization(node_builder& b) {
    const any_tensor x = b.tensor(0);
    const double epsilon = b.real("epsilon", 1e-5);
    // The sums are in f32 for every type below; the type of the two other outputs is this one.
    const std::int64_t stash = b.integer("stash_type", 1);
    const std::optional<dtype> kept = to_dtype(static_cast<std::int32_t>(stash));
    if (!kept || !is_floating(*kept)) b.fail(errc::unsupported, "sums in " + name_of_type(stash));
    const auto set = [&](std::size_t k, const any_tensor& t) {
        b.set(k, astype(t, b.computed(*kept)));
    };
    const auto axes =
        axes_from(normalize_axis(b.integer("axis", -1), x.rank(), "LayerNormalization"), x.rank());
    set(1, reduce(reduction::mean, x, axes, true));
    set(2, pumice::apply<op::rsqrt>(pumice::apply<op::add>(reduce(reduction::var, x, axes, true),
                                                           epsilon)));
    const any_tensor y = pumice::apply<op::multiply>(layer_norm(x, axes, epsilon), b.tensor(1));
    return b.has(2) ? pumice::apply<op::add>(y, b.tensor(2)) : y;
}

inline any_tensor rms_normalization(node_builder& b) {
    const any_tensor x = b.tensor(0);
    const double epsilon = b.real("epsilon", 1e-5);
    b.ignore("stash_type");
    const auto axes =
        axes_from(normalize_axis(b.integer("axis", -1), x.rank(), "RMSNormalization"), x.rank());
    return pumice::apply<op::multiply>(rms_norm(x, axes, epsilon), b.tensor(1));
}

inline any_tensor instance_normalization(node_builder& b) {
    const any_tensor x = b.tensor(0);
    const double epsilon = b.real("epsilon", 1e-5);
    if (x.rank() < 3)
        b.fail(errc::rank_mismatch,
               "needs an input (N, C, axes...), got the shape " + to_string(x.shape()));
    must_be_of_channels(b, x, 1, 2);
    const auto along = [&](auto in) {
        return reshape(in[0], along_channels(in[0].shape(), x.rank()));
    };
    const any_tensor y = layer_norm(x, axes_from(2, x.rank()), epsilon);
    return pumice::apply<op::add>(pumice::apply<op::multiply>(y, b.derived(0, {1}, along)),
                                  b.derived(1, {2}, along));
}

/// Channels in groups, each normalised as one; scale and bias are of a channel from operator set 21
/// on.
inline any_tensor group_normalization(node_builder& b) {
    const any_tensor x = b.tensor(0);
    const double epsilon = b.real("epsilon", 1e-5);
    b.ignore("stash_type");
    const std::int64_t groups = b.integer("num_groups", 0);
    if (b.opset() < 21)
        b.fail(errc::unsupported, "is of an operator set before 21, which ONNX withdrew");
    if (x.rank() < 3 || groups < 1 || x.shape()[1] % groups != 0)
        b.fail(errc::shape_mismatch, "cannot group the channels of " + to_string(x.shape()) +
                                         " by " + std::to_string(groups));
    return group_norm(x, groups, b.tensor(1), b.tensor(2), epsilon);
}

}}}  // namespace pumice::PUMICE_ABI::onnx::build
