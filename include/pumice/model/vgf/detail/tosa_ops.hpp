// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The table of TOSA's operators, by their numbers in TOSA.001000.1.
#pragma once

#include <pumice/model/vgf/detail/tosa_shapes.hpp>
#include <pumice/model/vgf/detail/tosa_windows.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf {

/// Null where Pumice has none.
using tosa_builder = any_tensor (*)(const tosa_node&);

inline constexpr std::array<tosa_builder, tosa_names.size()> tosa_table = [] {
    namespace b = build;
    std::array<tosa_builder, tosa_names.size()> t{};
    t[TOSAARGMAX] = &b::argmax;
    t[TOSAAVG_POOL2D] = &b::average_pool;
    t[TOSACONV2D] = &b::conv<false>;
    t[TOSADEPTHWISE_CONV2D] = &b::conv<true>;
    t[TOSAMATMUL] = &b::matmul;
    t[TOSAMAX_POOL2D] = &b::max_pool;
    t[TOSATRANSPOSE_CONV2D] = &b::transpose_conv;
    t[TOSACLAMP] = &b::clamp;
    t[TOSAERF] = &b::unary<op::erf>;
    t[TOSASIGMOID] = &b::unary<op::sigmoid>;
    t[TOSATANH] = &b::unary<op::tanh>;
    t[TOSAADD] = &b::binary<op::add>;
    t[TOSAARITHMETIC_RIGHT_SHIFT] = &b::arithmetic_right_shift;
    t[TOSABITWISE_AND] = &b::binary<op::bitwise_and>;
    t[TOSABITWISE_OR] = &b::binary<op::bitwise_or>;
    t[TOSABITWISE_XOR] = &b::binary<op::bitwise_xor>;
    t[TOSAINTDIV] = &b::binary<op::divide>;
    t[TOSALOGICAL_AND] = &b::binary<op::logical_and>;
    t[TOSALOGICAL_LEFT_SHIFT] = &b::binary<op::bitwise_left_shift>;
    t[TOSALOGICAL_RIGHT_SHIFT] = &b::logical_right_shift;
    t[TOSALOGICAL_OR] = &b::binary<op::logical_or>;
    t[TOSALOGICAL_XOR] = &b::binary<op::logical_xor>;
    t[TOSAMAXIMUM] = &b::extremum<op::maximum, op::fmax>;
    t[TOSAMINIMUM] = &b::extremum<op::minimum, op::fmin>;
    t[TOSAMUL] = &b::mul;
    t[TOSAPOW] = &b::binary<op::pow>;
    t[TOSASUB] = &b::binary<op::subtract>;
    t[TOSATABLE] = &b::table;
    t[TOSAABS] = &b::unary<op::abs>;
    t[TOSABITWISE_NOT] = &b::unary<op::bitwise_invert>;
    t[TOSACEIL] = &b::unary<op::ceil>;
    t[TOSACLZ] = &b::clz;
    t[TOSACOS] = &b::unary<op::cos>;
    t[TOSAEXP] = &b::unary<op::exp>;
    t[TOSAFLOOR] = &b::unary<op::floor>;
    t[TOSALOG] = &b::unary<op::log>;
    t[TOSALOGICAL_NOT] = &b::unary<op::logical_not>;
    t[TOSANEGATE] = &b::negate;
    t[TOSARECIPROCAL] = &b::unary<op::reciprocal>;
    t[TOSARSQRT] = &b::unary<op::rsqrt>;
    t[TOSASIN] = &b::unary<op::sin>;
    t[TOSASELECT] = &b::ternary<op::where>;
    t[TOSAEQUAL] = &b::binary<op::equal>;
    t[TOSAGREATER] = &b::binary<op::greater>;
    t[TOSAGREATER_EQUAL] = &b::binary<op::greater_equal>;
    t[TOSAREDUCE_ALL] = &b::reduce<reduction::all>;
    t[TOSAREDUCE_ANY] = &b::reduce<reduction::any>;
    t[TOSAREDUCE_MAX] = &b::reduce_extremum<reduction::max, op::fmax>;
    t[TOSAREDUCE_MIN] = &b::reduce_extremum<reduction::min, op::fmin>;
    t[TOSAREDUCE_PRODUCT] = &b::reduce<reduction::prod>;
    t[TOSAREDUCE_SUM] = &b::reduce<reduction::sum>;
    t[TOSACONCAT] = &b::join;
    t[TOSAPAD] = &b::pad;
    t[TOSARESHAPE] = &b::as_shape;
    t[TOSAREVERSE] = &b::reverse;
    t[TOSASLICE] = &b::part;
    t[TOSATILE] = &b::repeat;
    t[TOSATRANSPOSE] = &b::transpose;
    t[TOSAGATHER] = &b::gather;
    t[TOSASCATTER] = &b::scatter;
    t[TOSARESIZE] = &b::resize;
    t[TOSACAST] = &b::cast;
    t[TOSARESCALE] = &b::rescale;
    return t;
}();

}}}  // namespace pumice::PUMICE_ABI::vgf
