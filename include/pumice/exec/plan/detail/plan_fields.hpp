// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The members of a plan's parts, by the names that its JSON has for them.
#pragma once

#include <pumice/exec/control.hpp>
#include <pumice/kernels/fields.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// What a plan names and does not hold, beside the library's own ops. An op is found by its name
/// and its text, so several may share a name.
struct plan_names {
    std::vector<const op_info*> ops = {};
    std::vector<std::shared_ptr<const custom_kernel>> kernels = {};
    std::string_view called = "plan_names";  // in errors: what the caller gives them by
};

template <>
struct fields_of<plan_value> {
    static constexpr auto list =
        std::tuple{field{"role", &plan_value::role},     field{"index", &plan_value::index},
                   field{"type", &plan_value::type},     field{"shape", &plan_value::extent},
                   field{"layout", &plan_value::layout}, field{"alias", &plan_value::alias},
                   field{"offset", &plan_value::offset}, field{"place", &plan_value::place},
                   field{"name", &plan_value::label}};
};
template <>
struct fields_of<plan_step> {
    static constexpr auto list = std::tuple{field{"problem", &plan_step::what},
                                            field{"buffers", &plan_step::buffers},
                                            field{"outputs", &plan_step::outputs},
                                            field{"place", &plan_step::place},
                                            field{"unless_given", &plan_step::unless_given},
                                            field{"origin", &plan_step::origin}};
};
template <>
struct fields_of<giving> {
    static constexpr auto list = std::tuple{field{"step", &giving::step},
                                            field{"from", &giving::from}, field{"to", &giving::to}};
};

template <>
struct fields_of<plan> {
    static constexpr auto list =
        std::tuple{field{"numbers", &plan::numbers}, field{"values", &plan::values},
                   field{"steps", &plan::steps}, field{"givings", &plan::givings}};
};
template <>
struct fields_of<nested_plan> {
    static constexpr auto list =
        std::tuple{field{"plan", &nested_plan::what}, field{"reads", &nested_plan::reads}};
};
template <>
struct fields_of<control_problem> {
    using p = control_problem;
    static constexpr auto list = std::tuple{field{"call", &p::call},
                                            field{"what", &p::what},
                                            field{"plans", &p::parts},
                                            field{"carried", &p::carried},
                                            field{"count", &p::count},
                                            field{"wanted", &p::wanted},
                                            field{"tested", &p::tested},
                                            field{"operands", &p::operands},
                                            field{"results", &p::results},
                                            field{"operand_shapes", &p::operand_shapes},
                                            field{"result_shapes", &p::result_shapes}};
};

namespace detail {

template <class... P>
type_list<P..., control_problem> with_control(type_list<P...>);
using coded_problems = decltype(with_control(problems()));

template <class>
inline constexpr bool is_plan_list = false;
template <class T>
inline constexpr bool is_plan_list<array_list<T>> = true;

}  // namespace detail

}}  // namespace pumice::PUMICE_ABI
