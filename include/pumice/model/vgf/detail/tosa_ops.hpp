// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The table of TOSA's operators, by their numbers in TOSA.001000.1.
#pragma once

#include <pumice/model/vgf/detail/tosa_shapes.hpp>
#include <pumice/model/vgf/detail/tosa_windows.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf {

struct tosa_row {
    std::string_view name;
    any_tensor (*build)(const tosa_node&);  // null where Pumice has none
    /// Its operands in their order: the names of attributes, `*` for a tensor. Those beyond are
    /// tensors.
    std::string_view operands = "";
};

inline constexpr std::array<tosa_row, 66> tosa_table = [] {
    namespace b = build;
    std::array<tosa_row, 66> t{};
    t[TOSAARGMAX] = {"ARGMAX", &b::argmax, "axis nan_mode"};
    t[TOSAAVG_POOL2D] = {"AVG_POOL2D", &b::average_pool,
                         "kernel stride pad acc_type * input_zp output_zp"};
    t[TOSACONV2D] = {"CONV2D", &b::conv<false>,
                     "pad stride dilation acc_type local_bound * * * input_zp weight_zp"};
    t[TOSACONV3D] = {"CONV3D", nullptr,
                     "pad stride dilation acc_type local_bound * * * input_zp weight_zp"};
    t[TOSADEPTHWISE_CONV2D] = {"DEPTHWISE_CONV2D", &b::conv<true>,
                               "pad stride dilation acc_type local_bound * * * input_zp weight_zp"};
    t[TOSAFFT2D] = {"FFT2D", nullptr, "inverse local_bound"};
    t[TOSAMATMUL] = {"MATMUL", &b::matmul, "* * A_zp B_zp"};
    t[TOSAMAX_POOL2D] = {"MAX_POOL2D", &b::max_pool, "kernel stride pad nan_mode"};
    t[TOSARFFT2D] = {"RFFT2D", nullptr, "local_bound"};
    t[TOSATRANSPOSE_CONV2D] = {"TRANSPOSE_CONV2D", &b::transpose_conv,
                               "out_pad stride acc_type local_bound * * * input_zp weight_zp"};
    t[TOSACLAMP] = {"CLAMP", &b::clamp, "min_val max_val nan_mode"};
    t[TOSAERF] = {"ERF", &b::unary<op::erf>};
    t[TOSASIGMOID] = {"SIGMOID", &b::unary<op::sigmoid>};
    t[TOSATANH] = {"TANH", &b::unary<op::tanh>};
    t[TOSAADD] = {"ADD", &b::binary<op::add>};
    t[TOSAARITHMETIC_RIGHT_SHIFT] = {"ARITHMETIC_RIGHT_SHIFT", &b::arithmetic_right_shift, "round"};
    t[TOSABITWISE_AND] = {"BITWISE_AND", &b::binary<op::bitwise_and>};
    t[TOSABITWISE_OR] = {"BITWISE_OR", &b::binary<op::bitwise_or>};
    t[TOSABITWISE_XOR] = {"BITWISE_XOR", &b::binary<op::bitwise_xor>};
    t[TOSAINTDIV] = {"INTDIV", &b::binary<op::divide>};
    t[TOSALOGICAL_AND] = {"LOGICAL_AND", &b::binary<op::logical_and>};
    t[TOSALOGICAL_LEFT_SHIFT] = {"LOGICAL_LEFT_SHIFT", &b::binary<op::bitwise_left_shift>};
    t[TOSALOGICAL_RIGHT_SHIFT] = {"LOGICAL_RIGHT_SHIFT", &b::logical_right_shift};
    t[TOSALOGICAL_OR] = {"LOGICAL_OR", &b::binary<op::logical_or>};
    t[TOSALOGICAL_XOR] = {"LOGICAL_XOR", &b::binary<op::logical_xor>};
    t[TOSAMAXIMUM] = {"MAXIMUM", &b::extremum<op::maximum, op::fmax>, "nan_mode"};
    t[TOSAMINIMUM] = {"MINIMUM", &b::extremum<op::minimum, op::fmin>, "nan_mode"};
    t[TOSAMUL] = {"MUL", &b::mul, "* * shift"};
    t[TOSAPOW] = {"POW", &b::binary<op::pow>};
    t[TOSASUB] = {"SUB", &b::binary<op::subtract>};
    t[TOSATABLE] = {"TABLE", &b::table};
    t[TOSAABS] = {"ABS", &b::unary<op::abs>};
    t[TOSABITWISE_NOT] = {"BITWISE_NOT", &b::unary<op::bitwise_invert>};
    t[TOSACEIL] = {"CEIL", &b::unary<op::ceil>};
    t[TOSACLZ] = {"CLZ", &b::clz};
    t[TOSACOS] = {"COS", &b::unary<op::cos>};
    t[TOSAEXP] = {"EXP", &b::unary<op::exp>};
    t[TOSAFLOOR] = {"FLOOR", &b::unary<op::floor>};
    t[TOSALOG] = {"LOG", &b::unary<op::log>};
    t[TOSALOGICAL_NOT] = {"LOGICAL_NOT", &b::unary<op::logical_not>};
    t[TOSANEGATE] = {"NEGATE", &b::negate, "* input1_zp output_zp"};
    t[TOSARECIPROCAL] = {"RECIPROCAL", &b::unary<op::reciprocal>};
    t[TOSARSQRT] = {"RSQRT", &b::unary<op::rsqrt>};
    t[TOSASIN] = {"SIN", &b::unary<op::sin>};
    t[TOSASELECT] = {"SELECT", &b::ternary<op::where>};
    t[TOSAEQUAL] = {"EQUAL", &b::binary<op::equal>};
    t[TOSAGREATER] = {"GREATER", &b::binary<op::greater>};
    t[TOSAGREATER_EQUAL] = {"GREATER_EQUAL", &b::binary<op::greater_equal>};
    t[TOSAREDUCE_ALL] = {"REDUCE_ALL", &b::reduce<reduction::all>, "axis"};
    t[TOSAREDUCE_ANY] = {"REDUCE_ANY", &b::reduce<reduction::any>, "axis"};
    t[TOSAREDUCE_MAX] = {"REDUCE_MAX", &b::reduce_extremum<reduction::max, op::fmax>,
                         "axis nan_mode"};
    t[TOSAREDUCE_MIN] = {"REDUCE_MIN", &b::reduce_extremum<reduction::min, op::fmin>,
                         "axis nan_mode"};
    t[TOSAREDUCE_PRODUCT] = {"REDUCE_PRODUCT", &b::reduce<reduction::prod>, "axis"};
    t[TOSAREDUCE_SUM] = {"REDUCE_SUM", &b::reduce<reduction::sum>, "axis"};
    t[TOSACONCAT] = {"CONCAT", &b::join, "axis"};
    t[TOSAPAD] = {"PAD", &b::pad, "* padding"};
    t[TOSARESHAPE] = {"RESHAPE", &b::as_shape, "* shape"};
    t[TOSAREVERSE] = {"REVERSE", &b::reverse, "axis"};
    t[TOSASLICE] = {"SLICE", &b::part, "* start size"};
    t[TOSATILE] = {"TILE", &b::repeat, "* multiples"};
    t[TOSATRANSPOSE] = {"TRANSPOSE", &b::transpose, "perms"};
    t[TOSAGATHER] = {"GATHER", &b::gather};
    t[TOSASCATTER] = {"SCATTER", &b::scatter};
    t[TOSARESIZE] = {"RESIZE", &b::resize, "mode * scale offset border"};
    t[TOSACAST] = {"CAST", &b::cast};
    t[TOSARESCALE] = {"RESCALE", &b::rescale,
                      "scale32 rounding_mode per_channel input_unsigned output_unsigned * * * "
                      "input_zp output_zp"};
    return t;
}();

/// Or its number, where TOSA 1.0 has none of that.
inline std::string name_of_op(std::uint32_t op) {
    return op < tosa_table.size() ? std::string(tosa_table[op].name) : cat({"number ", op});
}

}}}  // namespace pumice::PUMICE_ABI::vgf
