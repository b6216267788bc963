// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Norms, variances and standard deviations of typed tensors. A scale and a bias are ordinary
// arithmetic, `layer_norm(x) * g + b`, and part of the norm's kernel.
#pragma once

#include <pumice/graph/norms.hpp>
#include <pumice/tensor/axes.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Taken from the number of elements that var and std divide by: 1 for an unbiased variance.
struct correction {
    double value = 0;
};

namespace detail {

template <class X, class Axes>
auto typed_norm(normalization what, const X& x, Axes, double epsilon) {
    using e = element_of_argument<X>;
    if constexpr (!is_floating(dtype_of<e>)) return op_needs_floating_point_use_astype<e>{};
    else {
        using checked [[maybe_unused]] = reduced_t<X, true, Axes>;  // the axes are X's
        return tensor<e, extents_of<X>>(noted(normalize(what, any_tensor(x.get()), Axes::list,
                                                        epsilon)));
    }
}

}  // namespace detail

/// (x - mean) / sqrt(variance + epsilon) over the axes named, in one kernel.
template <array_argument X, int... Is>
auto layer_norm(const X& x, axes_t<Is...> over, double epsilon = 1e-5) {
    return detail::typed_norm(normalization::layer_norm, x, over, epsilon);
}
template <array_argument X>
auto layer_norm(const X& x, double epsilon = 1e-5) {
    return layer_norm(x, axis<-1>, epsilon);
}
/// An integer is an axis, not an epsilon: axes stand in the type, axis<1>.
template <array_argument X, std::integral N>
auto layer_norm(const X&, N) {
    return name_axes_in_the_type_as_axis_1<N>{};
}
/// x / sqrt(mean(x * x) + epsilon) over the axes named.
template <array_argument X, int... Is>
auto rms_norm(const X& x, axes_t<Is...> over, double epsilon = 1e-5) {
    return detail::typed_norm(normalization::rms_norm, x, over, epsilon);
}
template <array_argument X>
auto rms_norm(const X& x, double epsilon = 1e-5) {
    return rms_norm(x, axis<-1>, epsilon);
}
/// An integer is an axis, not an epsilon: axes stand in the type, axis<1>.
template <array_argument X, std::integral N>
auto rms_norm(const X&, N) {
    return name_axes_in_the_type_as_axis_1<N>{};
}

/// layer_norm over each of `groups` groups of the channels of x (N, C, ...), times scale (C), plus
/// bias (C).
template <array_argument X, array_argument Scale, array_argument Bias>
auto group_norm(const X& x, std::int64_t groups, const Scale& scale, const Bias& bias,
                double epsilon = 1e-5) {
    using e = detail::element_of_argument<X>;
    using scales = detail::element_of_argument<Scale>;
    using biases = detail::element_of_argument<Bias>;
    if constexpr (!is_floating(dtype_of<e>)) return op_needs_floating_point_use_astype<e>{};
    else if constexpr (!std::same_as<scales, e>)
        return cannot_convert_elements_use_astype<scales, e>{};
    else if constexpr (!std::same_as<biases, e>)
        return cannot_convert_elements_use_astype<biases, e>{};
    else
        return tensor<e, detail::extents_of<X>>(detail::noted(group_norm(any_tensor(x.get()),
                                                                         groups,
                                                                         any_tensor(scale.get()),
                                                                         any_tensor(bias.get()),
                                                                         epsilon)));
}
template <array_argument X>
auto group_norm(const X& x, std::int64_t groups, double epsilon = 1e-5) {
    using e = detail::element_of_argument<X>;
    if constexpr (!is_floating(dtype_of<e>)) return op_needs_floating_point_use_astype<e>{};
    else
        return tensor<e, detail::extents_of<X>>(detail::noted(group_norm(any_tensor(x.get()),
                                                                         groups, {}, {}, epsilon)));
}

namespace detail {

template <class... Options>
struct axes_among {
    using type = axes_t<>;
};
template <int... Is, class... Rest>
struct axes_among<axes_t<Is...>, Rest...> {
    using type = axes_t<Is...>;
};
template <class First, class... Rest>
struct axes_among<First, Rest...> : axes_among<Rest...> {};

template <class Option>
inline constexpr bool names_axes = false;
template <int... Is>
inline constexpr bool names_axes<axes_t<Is...>> = true;
template <class Option>
concept deviation_option =
    names_axes<Option> || std::same_as<Option, correction> || std::same_as<Option, keepdims_t>;

template <bool Root>
struct deviation {
    template <array_argument X, std::integral N, class... Options>
    auto operator()(const X&, N, Options...) const {
        return name_axes_in_the_type_as_axis_1<N>{};
    }
    /// Options in any order: the axes (all where none is named), correction, keepdims.
    template <array_argument X, deviation_option... Options>
    auto operator()(const X& x, Options... options) const {
        static_assert(check_reduced<reduction::var, X>());
        using over = typename axes_among<Options...>::type;
        constexpr bool keep = (std::same_as<Options, keepdims_t> || ...);
        double taken = 0;
        [[maybe_unused]] const auto look = [&](auto option) {
            if constexpr (std::same_as<decltype(option), correction>) taken = option.value;
        };
        (look(options), ...);
        return tensor<element_of_argument<X>, reduced_t<X, keep, over>>((*this)(any_tensor(x.get()),
                                                                                over::list, taken,
                                                                                keep));
    }
    /// Of run-time type; all axes where none is named.
    any_tensor operator()(const any_tensor& x, span<const std::int64_t> list = {}, double taken = 0,
                          bool keep = false) const {
        const any_tensor v = variance(x, list, taken, keep);
        return noted(Root ? apply<op::sqrt>(v) : v);
    }
};

}  // namespace detail

/// The variance, without cancellation: `var(x, pm::axis<1>, pm::correction{1}, pm::keepdims)`.
inline constexpr detail::deviation<false> var;
/// The standard deviation, its root.
inline constexpr detail::deviation<true> std;

}}  // namespace pumice::PUMICE_ABI
