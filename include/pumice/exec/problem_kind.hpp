// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What solves each kind of problem: the lists of the library's kernels, the host's loop, and the
// reference.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/span.hpp>
#include <pumice/host/find_loop.hpp>
#include <pumice/kernels/conv_channels.hpp>
#include <pumice/kernels/conv_direct.hpp>
#include <pumice/kernels/custom_kernel.hpp>
#include <pumice/kernels/elementwise.hpp>
#include <pumice/kernels/matmul.hpp>
#include <pumice/kernels/normalize.hpp>
#include <pumice/kernels/operands.hpp>
#include <pumice/kernels/own_shader.hpp>
#include <pumice/kernels/pool.hpp>
#include <pumice/kernels/reduce.hpp>
#include <pumice/kernels/scan.hpp>
#include <pumice/kernels/scatter.hpp>
#include <pumice/kernels/sort_radix.hpp>
#include <pumice/kernels/take.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// A chosen kernel, ready to launch.
struct choice {
    array_list<launch> launches;  // in order; hazards between them are tracked as between any
    std::int64_t scratch = 0;     // bytes of buffer -2
    std::shared_ptr<kernel_record> record;
};

/// A kernel, the type of its problems forgotten.
struct kernel_entry {
    std::string_view name;
    bool portable;
    reduced_precision needs;  // a policy's leave
    support (*supports)(const void* p, const device_info&);
    void (*make)(choice&, const void* p, const device_info&, const configuration& way);
};
using kernel_entries = span<const kernel_entry>;

struct plan_decisions;

/// What the library can do with problems of one kind.
struct problem_kind {
    std::string_view name;
    kernel_entries kernels;
    void (*visit_operands)(const void* p, const operand_visitor&);
    /// The programs fused before the kernel's own work, and that behind it.
    array_list<const fused*> (*before)(const void* p);
    const fused* (*after)(const void* p);
    /// Which op it is that the problem is of, where the kind's name does not say; else empty.
    std::string_view (*op)(const void* p);
    /// The host's own loop for a problem over buffers, where it has one.
    void (*find_loop)(const void* p, const host_buffers&, host_loop& out);
    /// What every kernel computes.
    void (*reference)(const void* p, const host_buffers&);
    /// Of problems that decide what runs: what runs plans with them (exec/control.hpp). Else null.
    const plan_decisions* decisions;
};

namespace detail {

template <kernel_type K>
struct kernel_entry_of {
    using P = typename K::problem_type;
    static const P& typed(const void* p) { return *static_cast<const P*>(p); }
    static support supports(const void* p, const device_info& device) {
        return K::supports(typed(p), device);
    }
    static void make(choice& c, const void* p, const device_info& device,
                     const configuration& way) {
        if constexpr (requires { K::make_all(typed(p), device, way); }) {
            c.launches = K::make_all(typed(p), device, way);
        } else if constexpr (requires { K::make_all(typed(p), device); }) {
            c.launches = K::make_all(typed(p), device);
        } else if constexpr (requires { K::make(typed(p), device, way); }) {
            c.launches.push_back(K::make(typed(p), device, way));
        } else {
            c.launches.push_back(K::make(typed(p), device));
        }
        if constexpr (requires { K::scratch(typed(p), device, way); })
            c.scratch = K::scratch(typed(p), device, way);
        else if constexpr (requires { K::scratch(typed(p), device); })
            c.scratch = K::scratch(typed(p), device);
    }
    static constexpr reduced_precision needs = [] {
        if constexpr (requires { K::needs; }) return K::needs;
        else return reduced_precision::none;
    }();
    static constexpr kernel_entry value{K::name, K::portable, needs, supports, make};
};

}  // namespace detail

/// A list of kernels by their structs.
template <kernel_type... K>
inline constexpr kernel_entry kernel_list[] = {detail::kernel_entry_of<K>::value...};

/// The kernels of a kind of problem, those that need least of a device last. A kernel is part of
/// the library by standing here; a kind of your own has a list of its own.
template <class Problem>
inline constexpr kernel_entries kernels_for;
template <>
inline constexpr kernel_entries kernels_for<elementwise_problem> =
    kernel_list<elementwise_vectors, elementwise_tiled, elementwise_strided>;
template <>
inline constexpr kernel_entries kernels_for<reduce_problem> =
    kernel_list<reduce_vector_rows, reduce_rows, reduce_vector_columns, reduce_columns,
                reduce_slices>;
template <>
inline constexpr kernel_entries kernels_for<normalize_problem> =
    kernel_list<normalize_vector_rows, normalize_rows, normalize_columns, normalize_vector_streamed,
                normalize_streamed, normalize_streamed_columns>;
template <>
inline constexpr kernel_entries kernels_for<matmul_problem> =
    kernel_list<matmul_f16_accumulation, matmul_bf16_3x, matmul_cooperative, matmul_packed,
                matmul_split_k, matmul_tiled>;
template <>
inline constexpr kernel_entries kernels_for<conv_problem> =
    kernel_list<conv_f16_accumulation, conv_bf16_3x, conv_direct, conv_cooperative, conv_channels,
                conv_split_k, conv_tiled>;
template <>
inline constexpr kernel_entries kernels_for<pool_problem> = kernel_list<pool_windows, pool_global>;
template <>
inline constexpr kernel_entries kernels_for<take_problem> = kernel_list<take_chunks, take_elements>;
template <>
inline constexpr kernel_entries kernels_for<sort_problem> =
    kernel_list<sort_radix_rows, sort_radix, sort_rows>;
template <>
inline constexpr kernel_entries kernels_for<scatter_problem> = kernel_list<scatter_rows>;
template <>
inline constexpr kernel_entries kernels_for<scan_problem> =
    kernel_list<scan_vector_rows, scan_rows, scan_columns>;
template <>
inline constexpr kernel_entries kernels_for<custom_kernel_problem> =
    kernel_list<custom_kernel_slang, custom_kernel_shader>;

template <class Problem>
inline constexpr const plan_decisions* decisions_for = nullptr;

namespace detail {

template <class P>
struct kind_of_problem {
    static array_list<const fused*> before(const void* held) {
        const P& p = *static_cast<const P*>(held);
        if constexpr (requires { p.body; }) return {&p.body};
        else if constexpr (requires { p.prologue; }) return {&p.prologue};
        else if constexpr (requires { p.weight; }) return {&p.input, &p.weight};
        else if constexpr (requires { p.input; }) return {&p.input};
        else if constexpr (requires { p.a; }) return {&p.a, &p.b};
        else if constexpr (requires { p.inputs; }) {
            array_list<const fused*> all;
            for (const fused& f : p.inputs) all.push_back(&f);
            return all;
        } else return {};
    }
    static const fused* after(const void* held) {
        if constexpr (requires(const P& p) { p.epilogue; })
            return &static_cast<const P*>(held)->epilogue;
        else return nullptr;
    }
    static std::string_view op(const void* held) {
        if constexpr (requires(const P& p) {
                          { p.op() } -> std::same_as<std::string_view>;
                      })
            return static_cast<const P*>(held)->op();
        else return {};
    }
    static void operands(const void* held, const operand_visitor& f) {
        visit_operands(*static_cast<const P*>(held), f);
    }
    static void loop_of(const void* held, const host_buffers& buffers, host_loop& out) {
        const P& p = *static_cast<const P*>(held);
        if constexpr (requires { find_loop(p, buffers, out); }) find_loop(p, buffers, out);
    }
    static void by_reference(const void* held, const host_buffers& buffers) {
        reference(*static_cast<const P*>(held), buffers);
    }
    static constexpr problem_kind value{P::name, kernels_for<P>, operands,        before, after, op,
                                        loop_of, by_reference,   decisions_for<P>};
};

}  // namespace detail

template <class P>
const problem_kind& kind_of() noexcept {
    return detail::kind_of_problem<P>::value;
}

/// (A template, so that no kind of problem is taken for one of any kind.)
template <std::same_as<problem> Any>
void visit_operands(const Any& p, const operand_visitor& f) {
    p.kind().visit_operands(p.get(), f);
}

/// Bytes of results that solving the problem writes; of a scatter what its updates make at most.
inline std::int64_t written_bytes(const problem& p) {
    if (const auto* w = p.get_if<scatter_problem>())
        return byte_count(w->output.type, w->count * w->width);
    std::int64_t bytes = 0;
    visit_operands(p, [&](const operand& o, const shape& domain, bool write) {
        if (write && o.buffer >= 0) bytes += byte_count(o.type, element_count(domain));
    });
    return bytes;
}

}}  // namespace pumice::PUMICE_ABI
