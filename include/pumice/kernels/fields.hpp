// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The members of problems and of what they hold, by name: for whatever treats all kinds alike, such
// as the text of a plan.
#pragma once

#include <pumice/graph/custom_kernel.hpp>
#include <pumice/kernels/problem.hpp>

#include <tuple>

namespace pumice { inline namespace PUMICE_ABI {

template <class Member>
struct field {
    const char* name;
    Member member;
};
template <class Member>
field(const char*, Member) -> field<Member>;

/// `list`, a tuple of fields.
template <class T>
struct fields_of;

template <class T>
concept has_fields = requires { fields_of<T>::list; };

/// f(name, member) for each field, in order.
template <class T, class F>
void each_field(T& object, F&& f) {
    std::apply([&](const auto&... each) { (f(each.name, object.*each.member), ...); },
               fields_of<std::remove_const_t<T>>::list);
}

template <>
struct fields_of<mapped_axis> {
    static constexpr auto list =
        std::tuple{field{"how", &mapped_axis::how}, field{"extent", &mapped_axis::extent},
                   field{"add", &mapped_axis::add}, field{"length", &mapped_axis::length},
                   field{"step", &mapped_axis::step}};
};
template <>
struct fields_of<operand> {
    static constexpr auto list =
        std::tuple{field{"buffer", &operand::buffer}, field{"type", &operand::type},
                   field{"offset", &operand::offset}, field{"steps", &operand::steps},
                   field{"format", &operand::format}, field{"map", &operand::map},
                   field{"origin", &operand::origin}};
};
template <>
struct fields_of<fused> {
    static constexpr auto list =
        std::tuple{field{"program", &fused::body}, field{"leaves", &fused::leaves},
                   field{"scalars", &fused::scalars}, field{"outputs", &fused::outputs}};
};
template <>
struct fields_of<conv_op> {
    static constexpr auto list =
        std::tuple{field{"stride", &conv_op::stride}, field{"dilation", &conv_op::dilation},
                   field{"pad_begin", &conv_op::pad_begin}, field{"pad_end", &conv_op::pad_end},
                   field{"group", &conv_op::group}};
};
template <>
struct fields_of<pool_op> {
    static constexpr auto list =
        std::tuple{field{"what", &pool_op::what},
                   field{"window", &pool_op::window},
                   field{"stride", &pool_op::stride},
                   field{"dilation", &pool_op::dilation},
                   field{"pad_begin", &pool_op::pad_begin},
                   field{"pad_end", &pool_op::pad_end},
                   field{"ceil_mode", &pool_op::ceil_mode},
                   field{"count_include_pad", &pool_op::count_include_pad}};
};
template <>
struct fields_of<kernel_value> {
    static constexpr auto list =
        std::tuple{field{"type", &kernel_value::dtype}, field{"shape", &kernel_value::shape}};
};
template <>
struct fields_of<elementwise_problem> {
    static constexpr auto list = std::tuple{field{"domain", &elementwise_problem::domain},
                                            field{"body", &elementwise_problem::body}};
};
template <>
struct fields_of<reduce_problem> {
    static constexpr auto list = std::tuple{field{"what", &reduce_problem::what},
                                            field{"outer", &reduce_problem::outer},
                                            field{"inner", &reduce_problem::inner},
                                            field{"prologue", &reduce_problem::prologue},
                                            field{"epilogue", &reduce_problem::epilogue},
                                            field{"result", &reduce_problem::result},
                                            field{"by", &reduce_problem::by}};
};
template <>
struct fields_of<normalize_problem> {
    static constexpr auto list = std::tuple{field{"what", &normalize_problem::what},
                                            field{"epsilon", &normalize_problem::epsilon},
                                            field{"outer", &normalize_problem::outer},
                                            field{"inner", &normalize_problem::inner},
                                            field{"prologue", &normalize_problem::prologue},
                                            field{"epilogue", &normalize_problem::epilogue}};
};
template <>
struct fields_of<scan_problem> {
    static constexpr auto list = std::tuple{
        field{"what", &scan_problem::what},        field{"outer", &scan_problem::outer},
        field{"length", &scan_problem::length},    field{"count", &scan_problem::count},
        field{"lead", &scan_problem::lead},        field{"prologue", &scan_problem::prologue},
        field{"epilogue", &scan_problem::epilogue}};
};
template <>
struct fields_of<matmul_problem> {
    static constexpr auto list = std::tuple{field{"batch", &matmul_problem::batch},
                                            field{"m", &matmul_problem::m},
                                            field{"n", &matmul_problem::n},
                                            field{"k", &matmul_problem::k},
                                            field{"a", &matmul_problem::a},
                                            field{"b", &matmul_problem::b},
                                            field{"epilogue", &matmul_problem::epilogue},
                                            field{"accumulator", &matmul_problem::accumulator}};
};
template <>
struct fields_of<conv_problem> {
    static constexpr auto list = std::tuple{field{"shape_of", &conv_problem::shape_of},
                                            field{"batch", &conv_problem::batch},
                                            field{"in_channels", &conv_problem::in_channels},
                                            field{"out_channels", &conv_problem::out_channels},
                                            field{"in_size", &conv_problem::in_size},
                                            field{"out_size", &conv_problem::out_size},
                                            field{"window", &conv_problem::window},
                                            field{"input", &conv_problem::input},
                                            field{"weight", &conv_problem::weight},
                                            field{"epilogue", &conv_problem::epilogue},
                                            field{"accumulator", &conv_problem::accumulator}};
};
template <>
struct fields_of<pool_problem> {
    static constexpr auto list = std::tuple{
        field{"shape_of", &pool_problem::shape_of}, field{"batch", &pool_problem::batch},
        field{"channels", &pool_problem::channels}, field{"in_size", &pool_problem::in_size},
        field{"out_size", &pool_problem::out_size}, field{"input", &pool_problem::input},
        field{"epilogue", &pool_problem::epilogue}};
};
template <>
struct fields_of<take_problem> {
    static constexpr auto list =
        std::tuple{field{"domain", &take_problem::domain},   field{"values", &take_problem::values},
                   field{"indices", &take_problem::indices}, field{"output", &take_problem::output},
                   field{"next", &take_problem::next},       field{"length", &take_problem::length},
                   field{"step", &take_problem::step}};
};
template <>
struct fields_of<sort_problem> {
    static constexpr auto list = std::tuple{
        field{"outer", &sort_problem::outer},   field{"length", &sort_problem::length},
        field{"first", &sort_problem::first},   field{"descending", &sort_problem::descending},
        field{"values", &sort_problem::values}, field{"output", &sort_problem::output}};
};
template <>
struct fields_of<scatter_problem> {
    static constexpr auto list = std::tuple{
        field{"what", &scatter_problem::what},         field{"count", &scatter_problem::count},
        field{"rows", &scatter_problem::rows},         field{"width", &scatter_problem::width},
        field{"from_end", &scatter_problem::from_end}, field{"keys", &scatter_problem::keys},
        field{"order", &scatter_problem::order},       field{"updates", &scatter_problem::updates},
        field{"data", &scatter_problem::data},         field{"output", &scatter_problem::output}};
};
template <>
struct fields_of<custom_kernel_problem> {
    static constexpr auto list = std::tuple{field{"call", &custom_kernel_problem::call},
                                            field{"inputs", &custom_kernel_problem::inputs},
                                            field{"epilogue", &custom_kernel_problem::epilogue},
                                            field{"outputs", &custom_kernel_problem::outputs}};
};

}}  // namespace pumice::PUMICE_ABI
