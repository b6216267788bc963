// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The engine storey: Vulkan, Slang, kernels, execution. Including it registers the engine and
// compiles all of it, for a program's files that have only the front; one file does. <pumice.hpp>
// compiles what its own file uses.
#pragma once

#include <pumice/exec/adopt.hpp>
#include <pumice/exec/control.hpp>
#include <pumice/exec/make_devices.hpp>
#include <pumice/exec/placed_memory.hpp>
#include <pumice/exec/varying.hpp>
#include <pumice/tensor/scan_loop.hpp>
#include <pumice/tensor/varying.hpp>

#include <tuple>

#ifndef PUMICE_COMPILED

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

template <class Ops>
struct every_op;
template <class... Ops>
struct every_op<type_list<Ops...>> {
    static constexpr auto lowered = std::tuple{&lower_op<Ops>...};
    static constexpr auto on_host = std::tuple{&pumice::find_loop<Ops>...};
};
template struct every_op<operations>;
template <class Op>
struct every_family : every_op<type_list<Op>> {
    static constexpr auto functions = &functions_of<Op>;
};
template struct every_op<type_list<control_op>>;
template struct every_family<control_op>;

}  // namespace detail

template std::shared_ptr<prepared_graph> prepare_graph<0>(engine&, const traced_graph&);
template std::shared_ptr<prepared_graph> prepare_range<0>(engine&, const traced_range&);
template std::shared_ptr<engine> make_null_engine<0>(policy_set);
template std::shared_ptr<engine> make_devices_engine<0>(const device_list&, const policy_set&);
template void place_below<0>(std::int64_t, placement&);
template void require_finite<0>(const computed_op&, bool);
template const detail::op_showing& detail::showing_of_ops<0>();
template const shader_functions& functions_of_shaders<0>();
template std::shared_ptr<placed_memory> place_memory<0>(const std::shared_ptr<engine>&,
                                                        const placed_request&);

}}  // namespace pumice::PUMICE_ABI

#endif
