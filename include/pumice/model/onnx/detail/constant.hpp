// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Builders of ONNX operators that make values: Constant, ConstantOfShape, Range, Pad, Where's kin.
#pragma once

#include <pumice/graph/manipulation.hpp>
#include <pumice/model/onnx/detail/shape.hpp>

#include <algorithm>
#include <cmath>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx::build {

/// The one attribute that is set gives the value.
inline any_tensor constant(node_builder& b) {
    const auto& list = b.at().from->attributes;
    if (list.size() != 1)
        b.fail(errc::bad_file, "needs exactly one attribute, has " + std::to_string(list.size()));
    const attribute& a = list[0];
    b.ignore(a.name);
    const auto is = [&](const char* name, attribute_type type) {
        return a.name == name && a.type == type;
    };
    const auto length = [](const auto& v) { return shape{static_cast<std::int64_t>(v.size())}; };
    if (is("value", attribute_type::tensor)) return b.decode(a);
    if (is("value_float", attribute_type::real))
        return make_constant<float>(shape{}, span(&a.real, 1));
    if (is("value_int", attribute_type::integer))
        return make_constant<std::int64_t>(shape{}, span(&a.integer, 1));
    if (is("value_floats", attribute_type::reals))
        return make_constant<float>(length(a.reals), span(a.reals));
    if (is("value_ints", attribute_type::integers))
        return make_constant<std::int64_t>(length(a.integers), span(a.integers));
    b.fail(a.name == "value" || a.name == "value_float" ? errc::bad_file : errc::unsupported,
           "has a value of a kind that Pumice lacks: " + std::string(a.name));
}

/// One element, repeated by a view.
inline any_tensor constant_of_shape(node_builder& b) {
    const auto* value = b.find("value", attribute_type::tensor);
    const float zero = 0;
    any_tensor one = value ? b.decode(*value) : make_constant<float>(shape{}, span(&zero, 1));
    if (one.size() != 1)
        b.fail(errc::bad_file,
               "has a value of " + std::to_string(one.size()) + " elements, needs 1");
    one = *b.folded(reshape(one, {}));
    const shape to = to_shape(b, b.input_integers(0));
    if (element_count(to) <= b.limits().folded_elements)
        return broadcast_to(one, to);  // a constant again
    return broadcast_to(b.own(0, one), to);
}

inline any_tensor range(node_builder& b) {
    const any_tensor ends[] = {b.fetched(0), b.fetched(1), b.fetched(2)};
    for (const any_tensor& e : ends)
        if (e.size() != 1 || e.dtype() != ends[0].dtype() || e.dtype() == dtype::boolean)
            b.fail(errc::bad_file, "needs start, limit and delta of one type, each one number");
    const auto count = [&](double start, double limit, double delta) {
        const double n = std::ceil((limit - start) / delta);
        if (!(n <= static_cast<double>(b.limits().folded_elements)))
            b.fail(errc::unsupported,
                   "gives more elements than are folded (model_limits::folded_elements), or has a "
                   "delta of 0");
        return n > 0 ? static_cast<std::size_t>(n) : 0;
    };
    const auto build = [&]<class T>(T) {  // in T, half types in float
        const T start = constant_values<T>(ends[0])[0], delta = constant_values<T>(ends[2])[0];
        std::vector<T> values(count(static_cast<double>(start), constant_values<double>(ends[1])[0],
                                    static_cast<double>(delta)));
        for (std::size_t i = 0; i < values.size(); ++i) {
            if constexpr (std::is_integral_v<T>)
                values[i] = static_cast<T>(static_cast<std::uint64_t>(start) +
                                           i * static_cast<std::uint64_t>(delta));
            else values[i] = start + static_cast<T>(i) * delta;
        }
        return make_constant<T>(shape{static_cast<std::int64_t>(values.size())},
                                span<const T>(values));
    };
    const dtype type = ends[0].dtype();
    if (type == dtype::f64) return build(double{});
    return astype(is_floating(type) ? build(float{}) : build(std::int64_t{}), type);
}

inline any_tensor pad(node_builder& b) {
    const auto name = b.text("mode", "constant");
    constexpr std::string_view names[] = {"constant", "edge", "reflect", "wrap"};  // as pad_mode
    const auto mode = std::find(std::begin(names), std::end(names), name);
    if (mode == std::end(names)) b.fail(errc::bad_file, "has an unknown mode");
    const auto pads = list_of(b, "pads", 1, 11);
    if (!pads) b.fail(errc::bad_file, "lacks the pads");
    const auto axes = b.opset() >= 18 && b.has(3)
                          ? std::optional(b.input_integers(3, {.narrow = true}))
                          : std::nullopt;
    const any_tensor x = b.tensor(0);
    const std::size_t count = axes ? axes->size() : x.shape().size();
    if (pads->size() != 2 * count)
        b.fail(errc::bad_file,
               "has " + std::to_string(pads->size()) + " pads, needs " + std::to_string(2 * count));
    any_operand value = scalar(b.opset() < 11 ? b.real("value", 0) : 0.0);
    if (name == "constant" && b.opset() >= 11 && b.has(2)) value = b.tensor(2);
    std::vector<pad_width> widths(count);
    if (axes) {
        widths.assign(x.shape().size(), {});
        const std::vector<int> where = b.axes_of(*axes, x.rank());
        for (std::size_t k = 0; k < count; ++k)
            widths[static_cast<std::size_t>(where[k])] = {(*pads)[k], (*pads)[k + count]};
    } else {
        for (std::size_t k = 0; k < count; ++k) widths[k] = {(*pads)[k], (*pads)[k + count]};
    }
    return pumice::pad(x, widths, static_cast<pad_mode>(mode - std::begin(names)), value);
}

}}}  // namespace pumice::PUMICE_ABI::onnx::build
