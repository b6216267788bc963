// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// THE op table. A line gives the C++ function, its fusion, its ONNX operator, its host path, its
// test cases and its row in the docs. The names are the Python array API's, then ONNX's.
#pragma once

#include <pumice/expr/host_block.hpp>

namespace pumice { inline namespace PUMICE_ABI {

// With pumice::compiled the loops of the table's ops are compiled with the engine.
#if defined(PUMICE_COMPILED) || defined(PUMICE_COMPILING)
#ifdef PUMICE_COMPILED
#define PUMICE_TEMPLATE extern template
#else
#define PUMICE_TEMPLATE template
#endif
#undef PUMICE_OP_LOOP
#define PUMICE_OP_LOOP(NAME)                                                                 \
    PUMICE_TEMPLATE void detail::host_block<op::NAME>(arithmetic, const void* const*, void*, \
                                                      std::size_t);
#endif

// clang-format off
// arithmetic --------------------------------------------------------------------------------------
PUMICE_OP(add,           2, rules::numeric,        "Add",       x + y);
PUMICE_OP(subtract,      2, rules::numeric,        "Sub",       x - y);
PUMICE_OP(multiply,      2, rules::numeric,        "Mul",       x * y);
PUMICE_OP(divide,        2, rules::numeric,        "Div",       pm_divide(x, y));
PUMICE_OP(floor_divide,  2, rules::numeric,        "",          pm_floor_divide(x, y));
PUMICE_OP(remainder,     2, rules::numeric,        "Mod",       pm_remainder(x, y));
PUMICE_OP(fmod,          2, rules::numeric,        "",          pm_fmod(x, y));
PUMICE_OP(pow,           2, rules::numeric,        "Pow",       pm_pow(x, y));
PUMICE_OP(maximum,       2, rules::numeric,        "Max",       x > y || pm_isnan(x) ? x : y);
PUMICE_OP(minimum,       2, rules::numeric,        "Min",       x < y || pm_isnan(x) ? x : y);
PUMICE_OP(fmax,          2, rules::numeric,        "",          x > y || pm_isnan(y) ? x : y);
PUMICE_OP(fmin,          2, rules::numeric,        "",          x < y || pm_isnan(y) ? x : y);
PUMICE_OP(fma,           3, rules::floating,       "",          x * y + z);
PUMICE_OP(lerp,          3, rules::floating,       "",          x + z * (y - x));
PUMICE_OP(squared_difference, 2, rules::numeric,   "",          (x - y) * (x - y));
PUMICE_OP(negative,      1, rules::numeric,        "Neg",       -x);
PUMICE_OP(positive,      1, rules::numeric,        "Identity",  x);
PUMICE_OP(abs,           1, rules::numeric,        "Abs",       pm_abs(x));
PUMICE_OP(sign,          1, rules::numeric,        "Sign",      pm_sign(x));
PUMICE_OP(square,        1, rules::numeric,        "",          x * x);
PUMICE_OP(reciprocal,    1, rules::floating,       "Reciprocal", pm_divide(T(1), x));
PUMICE_OP(copysign,      2, rules::floating,       "",          pm_copysign(x, y));
PUMICE_OP(clip,          3, rules::numeric,        "",          x < y ? y : (x > z ? z : x));
// comparison and logic ----------------------------------------------------------------------------
PUMICE_OP(equal,         2, rules::compare,        "Equal",          x == y);
PUMICE_OP(not_equal,     2, rules::compare,        "",               x != y);
PUMICE_OP(less,          2, rules::order,          "Less",           x < y);
PUMICE_OP(less_equal,    2, rules::order,          "LessOrEqual",    x <= y);
PUMICE_OP(greater,       2, rules::order,          "Greater",        x > y);
PUMICE_OP(greater_equal, 2, rules::order,          "GreaterOrEqual", x >= y);
PUMICE_OP(logical_and,   2, rules::logical,        "And",            x && y);
PUMICE_OP(logical_or,    2, rules::logical,        "Or",             x || y);
PUMICE_OP(logical_xor,   2, rules::logical,        "Xor",            x != y);
PUMICE_OP(logical_not,   1, rules::logical,        "Not",            !x);
PUMICE_OP(where,         3, rules::choose,         "Where",          x ? y : z);
PUMICE_OP(isnan,         1, rules::order,          "IsNaN",          pm_isnan(x));
PUMICE_OP(isinf,         1, rules::order,          "IsInf",          pm_isinf(x));
PUMICE_OP(isfinite,      1, rules::order,          "",               !pm_isnan(x) && !pm_isinf(x));
PUMICE_OP(signbit,       1, rules::classify,       "",               pm_signbit(x));
// bits --------------------------------------------------------------------------------------------
PUMICE_OP(bitwise_and,   2, rules::integral,       "BitwiseAnd",     x & y);
PUMICE_OP(bitwise_or,    2, rules::integral,       "BitwiseOr",      x | y);
PUMICE_OP(bitwise_xor,   2, rules::integral,       "BitwiseXor",     x ^ y);
PUMICE_OP(bitwise_invert, 1, rules::integral,      "BitwiseNot",     ~x);
PUMICE_OP(bitwise_left_shift,  2, rules::integral, "",               pm_shift_left(x, y));
PUMICE_OP(bitwise_right_shift, 2, rules::integral, "",               pm_shift_right(x, y));
// powers, exponentials, logarithms ----------------------------------------------------------------
PUMICE_OP(sqrt,          1, rules::floating,       "Sqrt",      pm_sqrt(x));
PUMICE_OP(rsqrt,         1, rules::floating,       "",          pm_divide(T(1), pm_sqrt(x)));
PUMICE_OP(cbrt,          1, rules::floating,       "",          pm_cbrt(x));
PUMICE_OP(hypot,         2, rules::floating,       "",          pm_hypot(x, y));
PUMICE_OP(exp,           1, rules::floating,       "Exp",       pm_exp(x));
PUMICE_OP(exp2,          1, rules::floating,       "",          pm_exp2(x));
PUMICE_OP(expm1,         1, rules::floating,       "",          pm_expm1(x));
PUMICE_OP(log,           1, rules::floating,       "Log",       pm_log(x));
PUMICE_OP(log2,          1, rules::floating,       "",          pm_log2(x));
PUMICE_OP(log10,         1, rules::floating,       "",          pm_log10(x));
PUMICE_OP(log1p,         1, rules::floating,       "",          pm_log1p(x));
PUMICE_OP(logaddexp,     2, rules::floating,       "",          pm_logaddexp(x, y));
// trigonometric and hyperbolic --------------------------------------------------------------------
PUMICE_OP(sin,           1, rules::floating,       "Sin",       pm_sin(x));
PUMICE_OP(cos,           1, rules::floating,       "Cos",       pm_cos(x));
PUMICE_OP(tan,           1, rules::floating,       "Tan",       pm_tan(x));
PUMICE_OP(asin,          1, rules::floating,       "Asin",      pm_asin(x));
PUMICE_OP(acos,          1, rules::floating,       "Acos",      pm_acos(x));
PUMICE_OP(atan,          1, rules::floating,       "Atan",      pm_atan(x));
PUMICE_OP(atan2,         2, rules::floating,       "",          pm_atan2(x, y));
PUMICE_OP(sinh,          1, rules::floating,       "Sinh",      pm_sinh(x));
PUMICE_OP(cosh,          1, rules::floating,       "Cosh",      pm_cosh(x));
PUMICE_OP(tanh,          1, rules::floating,       "Tanh",      pm_tanh(x));
PUMICE_OP(asinh,         1, rules::floating,       "Asinh",     pm_asinh(x));
PUMICE_OP(acosh,         1, rules::floating,       "Acosh",     pm_acosh(x));
PUMICE_OP(atanh,         1, rules::floating,       "Atanh",     pm_atanh(x));
PUMICE_OP(degrees,       1, rules::floating,       "",          x * T(57.29577951308232));
PUMICE_OP(radians,       1, rules::floating,       "",          x * T(0.017453292519943295));
// rounding ----------------------------------------------------------------------------------------
PUMICE_OP(floor,         1, rules::numeric,        "Floor",     pm_floor(x));
PUMICE_OP(ceil,          1, rules::numeric,        "Ceil",      pm_ceil(x));
PUMICE_OP(trunc,         1, rules::numeric,        "",          pm_trunc(x));
PUMICE_OP(round,         1, rules::numeric,        "Round",     pm_round(x));
// special functions and activations ---------------------------------------------------------------
PUMICE_OP(erf,           1, rules::floating,       "Erf",       pm_erf(x));
PUMICE_OP(sigmoid,       1, rules::floating,       "Sigmoid",   pm_sigmoid(x));
PUMICE_OP(relu,          1, rules::numeric,        "Relu",      x < T(0) ? T(0) : x);
PUMICE_OP(relu6,         1, rules::numeric,        "",          x < T(0) ? T(0) : (x > T(6) ? T(6) : x));
PUMICE_OP(leaky_relu,    2, rules::floating,       "LeakyRelu alpha=0.01", x < T(0) ? x * y : x);
PUMICE_OP(prelu,         2, rules::signed_numeric, "PRelu",     x < T(0) ? x * y : x);
PUMICE_OP(elu,           2, rules::floating,       "Elu alpha=1", x < T(0) ? y * pm_expm1(x) : x);
PUMICE_OP(celu,          2, rules::floating,       "Celu alpha=1", x < T(0) ? y * pm_expm1(pm_divide(x, y)) : x);
PUMICE_OP(selu,          3, rules::floating,       "Selu alpha=1.6732632423543772 gamma=1.0507009873554805", x > T(0) ? z * x : z * y * pm_expm1(x));
PUMICE_OP(thresholded_relu, 2, rules::floating,    "ThresholdedRelu alpha=1", x > y ? x : T(0));
PUMICE_OP(hard_sigmoid,  3, rules::floating,       "HardSigmoid alpha=0.2 beta=0.5", pm_unit_clip(x * y + z));
PUMICE_OP(hard_swish,    1, rules::floating,       "HardSwish", x * pm_unit_clip(x * T(0.16666666666666666) + T(0.5)));
PUMICE_OP(hard_tanh,     1, rules::floating,       "",          x < T(-1) ? T(-1) : (x > T(1) ? T(1) : x));
PUMICE_OP(softplus,      1, rules::floating,       "Softplus",  pm_softplus(x));
PUMICE_OP(softsign,      1, rules::floating,       "Softsign",  pm_divide(x, T(1) + pm_abs(x)));
PUMICE_OP(silu,          1, rules::floating,       "",          x * pm_sigmoid(x));
PUMICE_OP(mish,          1, rules::floating,       "Mish",      x * pm_tanh(pm_softplus(x)));
PUMICE_OP(gelu,          1, rules::floating,       "Gelu",      pm_gelu(x));
PUMICE_OP(gelu_tanh,     1, rules::floating,       "",          x * pm_sigmoid(T(1.5957691216057308) * (x + T(0.044715) * x * x * x)));
PUMICE_OP(shrink,        3, rules::signed_numeric, "Shrink lambd=0.5 bias=0", x < -y ? x + z : (x > y ? x - z : T(0)));
PUMICE_OP(heaviside,     2, rules::floating,       "",          pm_isnan(x) ? x : (x < T(0) ? T(0) : (x > T(0) ? T(1) : y)));
// clang-format on

#undef PUMICE_OP_LOOP
#undef PUMICE_TEMPLATE
#define PUMICE_OP_LOOP(NAME)

// Names until 0.1, for one release.
[[deprecated("isnan")]] inline constexpr op_function<op::isnan> is_nan{};
[[deprecated("isinf")]] inline constexpr op_function<op::isinf> is_inf{};
[[deprecated("isfinite")]] inline constexpr op_function<op::isfinite> is_finite{};
[[deprecated("pow")]] inline constexpr op_function<op::pow> power{};
namespace op {
using is_nan [[deprecated("isnan")]] = isnan;
using is_inf [[deprecated("isinf")]] = isinf;
using is_finite [[deprecated("isfinite")]] = isfinite;
using power [[deprecated("pow")]] = pow;
}  // namespace op

/// Every op of the table, for tests, docs and the model loader.
using all_ops =
    op_list<op::add, op::subtract, op::multiply, op::divide, op::floor_divide, op::remainder,
            op::fmod, op::pow, op::maximum, op::minimum, op::fmax, op::fmin, op::fma, op::lerp,
            op::squared_difference, op::negative, op::positive, op::abs, op::sign, op::square,
            op::reciprocal, op::copysign, op::clip, op::equal, op::not_equal, op::less,
            op::less_equal, op::greater, op::greater_equal, op::logical_and, op::logical_or,
            op::logical_xor, op::logical_not, op::where, op::isnan, op::isinf, op::isfinite,
            op::signbit, op::bitwise_and, op::bitwise_or, op::bitwise_xor, op::bitwise_invert,
            op::bitwise_left_shift, op::bitwise_right_shift, op::sqrt, op::rsqrt, op::cbrt,
            op::hypot, op::exp, op::exp2, op::expm1, op::log, op::log2, op::log10, op::log1p,
            op::logaddexp, op::sin, op::cos, op::tan, op::asin, op::acos, op::atan, op::atan2,
            op::sinh, op::cosh, op::tanh, op::asinh, op::acosh, op::atanh, op::degrees, op::radians,
            op::floor, op::ceil, op::trunc, op::round, op::erf, op::sigmoid, op::relu, op::relu6,
            op::leaky_relu, op::prelu, op::elu, op::celu, op::selu, op::thresholded_relu,
            op::hard_sigmoid, op::hard_swish, op::hard_tanh, op::softplus, op::softsign, op::silu,
            op::mish, op::gelu, op::gelu_tanh, op::shrink, op::heaviside>;

}}  // namespace pumice::PUMICE_ABI
