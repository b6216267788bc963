// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Builders of elementwise ONNX operators: those of THE op table, and the few that need more than a
// name.
#pragma once

#include <pumice/model/onnx/detail/node_builder.hpp>

#include <array>

#include <cmath>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx::build {

/// Input i of an elementwise op. A known single number becomes a scalar argument, as in `x * 2`,
/// where that does not change the result's shape: it takes no memory and no place among the leaves.
inline any_operand operand(node_builder& b, int i) {
    const any_tensor& v = b.value(i);
    if (!constant_of(v) || v.size() != 1 || v.dtype() == dtype::boolean) return b.tensor(i);
    const double number = constant_values<double>(v)[0];
    // From 2^53 on a double may be the neighbour of an integer.
    if (b.widest() < v.rank() || (!is_floating(v.dtype()) && std::fabs(number) >= 0x1p53))
        return b.tensor(i);
    return number;
}

/// Any op of the table: the inputs, then the attributes as scalars.
inline any_tensor elementwise(node_builder& b) {
    std::vector<any_operand> operands;
    for (int i = 0; i < b.inputs(); ++i) operands.push_back(operand(b, i));
    for (const attribute& a : b.at().from->attributes)
        b.ignore(a.name);  // they are among the scalars
    for (double s : b.at().scalars) operands.emplace_back(s);
    return pumice::apply(*b.at().op, operands);
}

inline any_tensor fold_inputs(node_builder& b, const op_info& op) {
    if (b.inputs() == 1) return b.tensor(0);
    any_operand total = operand(b, 0);
    if (total.is_number) total = b.tensor(0);
    for (int i = 1; i < b.inputs(); ++i) {
        const any_operand pair[] = {total, operand(b, i)};
        total = pumice::apply(op, pair);
    }
    return total.array;
}
inline any_tensor max(node_builder& b) { return fold_inputs(b, op_info_of<op::maximum>); }
inline any_tensor min(node_builder& b) { return fold_inputs(b, op_info_of<op::minimum>); }
inline any_tensor sum(node_builder& b) { return fold_inputs(b, op_info_of<op::add>); }
inline any_tensor mean(node_builder& b) {
    const any_tensor total = fold_inputs(b, op_info_of<op::add>);
    return b.inputs() == 1 ? total : pumice::apply<op::multiply>(total, 1.0 / b.inputs());
}

inline any_tensor mod(node_builder& b) {
    const bool fmod = b.integer("fmod", 0) != 0;
    const any_operand pair[] = {operand(b, 0), operand(b, 1)};
    return pumice::apply(fmod ? op_info_of<op::fmod> : op_info_of<op::remainder>, pair);
}

/// The result has the type of the base, whatever the exponent's.
inline any_tensor pow(node_builder& b) {
    any_operand base = operand(b, 0), exponent = operand(b, 1);
    const dtype type = b.value(0).dtype(), other = b.value(1).dtype();
    const dtype result = b.computed(type);
    if (type != other && is_floating(other) && !is_floating(type)) {
        if (!base.is_number) base = astype(base.array, b.computed(other));
    } else if (!exponent.is_number && type != other) {
        exponent = astype(exponent.array, result);
    }
    if (exponent.is_number && exponent.number.as<double>() == 2 && !base.is_number)
        return astype(pumice::apply<op::square>(base.array), result);
    const any_operand pair[] = {base, exponent};
    return astype(pumice::apply(op_info_of<op::pow>, pair), result);
}

/// Bounds are inputs from operator set 11 on and attributes before; either may be left out.
inline any_tensor clip(node_builder& b) {
    any_tensor x = b.tensor(0);
    if (b.opset() < 11) {
        constexpr double top = 3.402823466e38;
        const double low = b.real("min", -top), high = b.real("max", top);
        return pumice::apply<op::clip>(x, low, high);
    }
    const bool low = b.has(1), high = b.has(2);
    for (int i = 1; i <= 2; ++i) {
        if (!b.has(i)) continue;
        const bool single = b.value(i).rank() == 0;
        if (!single || b.computed(b.value(i).dtype()) != b.computed(x.dtype()))
            b.fail(single ? errc::dtype_mismatch : errc::shape_mismatch,
                   "has a bound of " + std::string(to_string(b.value(i).dtype())) + " " +
                       to_string(b.extent(i)) + ", needs one number of " +
                       std::string(to_string(x.dtype())));
    }
    const auto bound = [&](int i) -> any_operand {
        const auto n = b.number(i);
        if (n && !b.known(0) && (is_floating(x.dtype()) || std::fabs(*n) < 0x1p53)) return *n;
        return any_operand(b.tensor(i));
    };
    if (low && high) {  // where the bounds cross, the upper one is the result
        any_operand least = bound(1), most = bound(2);
        if (least.is_number && most.is_number)
            least = std::min(least.number.as<double>(), most.number.as<double>());
        else least = pumice::apply(op_info_of<op::minimum>, std::array{least, most});
        return pumice::apply(op_info_of<op::clip>, std::array{any_operand(x), least, most});
    }
    if (!low && !high) return x;
    const any_operand pair[] = {x, bound(low ? 1 : 2)};
    return pumice::apply(low ? op_info_of<op::maximum> : op_info_of<op::minimum>, pair);
}

inline any_tensor gelu(node_builder& b) {
    const auto how = b.text("approximate", "none");
    if (how != "none" && how != "tanh")
        b.fail(errc::bad_file,
               "has an unknown value of \"approximate\": " + std::string(how.substr(0, 32)));
    return how == "tanh" ? pumice::apply<op::gelu_tanh>(b.tensor(0))
                         : pumice::apply<op::gelu>(b.tensor(0));
}

inline any_tensor is_inf(node_builder& b) {
    const bool negative = b.integer("detect_negative", 1) != 0,
               positive = b.integer("detect_positive", 1) != 0;
    const any_tensor x = b.tensor(0);
    const any_tensor inf = pumice::apply<op::isinf>(x);
    if (negative && positive) return inf;
    const any_tensor minus = pumice::apply<op::signbit>(x);
    if (negative) return pumice::apply<op::logical_and>(inf, minus);
    if (positive) return pumice::apply<op::logical_and>(inf, pumice::apply<op::logical_not>(minus));
    return pumice::apply<op::logical_and>(inf, pumice::apply<op::logical_not>(inf));
}

inline any_tensor bit_shift(node_builder& b) {
    const auto direction = b.text("direction", "");
    if (direction != "LEFT" && direction != "RIGHT")
        b.fail(errc::bad_file, "needs a direction, LEFT or RIGHT");
    const any_operand pair[] = {operand(b, 0), operand(b, 1)};
    return pumice::apply(direction == "LEFT" ? op_info_of<op::bitwise_left_shift>
                                             : op_info_of<op::bitwise_right_shift>,
                         pair);
}

inline any_tensor identity(node_builder& b) { return b.known(0) ? b.value(0) : b.tensor(0); }

/// Floats of 8 bits: saturated, unless that is switched off, to the greatest finite value.
inline any_tensor cast_to(node_builder& b, const any_tensor& x, dtype type) {
    b.ignore("round_mode");  // of FLOAT8E8M0 only
    const bool saturates = b.integer("saturate", 1) != 0;
    const double most = type == dtype::f8_e4m3 ? 448 : 57344;
    if (!saturates || info(type).bits != 8 || !is_floating(type) || x.dtype() == type ||
        x.dtype() == dtype::boolean || (x.dtype() == dtype::f8_e4m3 && most > 448))
        return astype(x, type);
    const any_tensor real = is_floating(x.dtype()) ? x : astype(x, dtype::f32);
    return astype(pumice::apply<op::maximum>(pumice::apply<op::minimum>(real, most), -most), type);
}

inline any_tensor cast(node_builder& b) {
    const auto* to = b.find("to", attribute_type::integer);
    if (!to) b.fail(errc::bad_file, "lacks the attribute \"to\"");
    if (!is_type(to->integer)) b.fail(errc::bad_file, "casts to " + name_of_type(to->integer));
    const auto type = to_dtype(static_cast<std::int32_t>(to->integer));
    if (!type)
        b.fail(errc::unsupported,
               "casts to " + name_of_type(to->integer) + ", which Pumice has no element type for");
    return cast_to(b, b.tensor(0), b.computed(*type));
}

inline any_tensor cast_like(node_builder& b) {
    return cast_to(b, b.tensor(0), b.computed(b.value(1).dtype()));
}

inline any_tensor swish(node_builder& b) {
    const any_tensor x = b.tensor(0);
    const double alpha = b.real("alpha", 1);
    return alpha == 1 ? pumice::apply<op::silu>(x)
                      : pumice::apply<op::multiply>(
                            x, pumice::apply<op::sigmoid>(pumice::apply<op::multiply>(x, alpha)));
}

/// Inference: the input itself; the mask, where it is asked for, is all true.
inline any_tensor dropout(node_builder& b) {
    b.ignore("ratio"), b.ignore("seed"), b.ignore("is_test");
    if (b.has(2) && b.number(2) != 0.0) b.fail(errc::unsupported, "is in training mode");
    if (b.wants(1)) {
        const std::uint8_t one = 1;
        const any_tensor yes = make_constant(dtype::boolean, shape{}, {std::byte(one)});
        const any_tensor mask = broadcast_to(b.own(0, yes), b.extent(0));
        b.set(1, b.opset() < 10 ? astype(mask, b.tensor(0).dtype()) : mask);
    }
    return identity(b);
}

}}}  // namespace pumice::PUMICE_ABI::onnx::build
