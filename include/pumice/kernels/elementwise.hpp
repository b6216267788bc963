// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The elementwise kernels: contiguous in fours, and any strides (shaders/elementwise.slang).
#pragma once

#include <pumice/expr/host.hpp>
#include <pumice/kernels/collapse.hpp>
#include <pumice/kernels/launch.hpp>
#include <pumice/kernels/reference.hpp>

namespace pumice::inline PUMICE_ABI {

namespace detail {

inline constexpr std::int64_t elementwise_group = 256;

/// The launch that both kernels share; `row` is the innermost extent, `domain` counts invocations.
inline launch elementwise_launch(const elementwise_problem& p, shape domain, std::int64_t row,
                                 const char* entry, const device_info& device) {
    std::vector<operand> all = p.body.leaves;
    all.insert(all.end(), p.body.outputs.begin(), p.body.outputs.end());
    const bool wide = needs_wide_index(all, p.domain);
    const int rank = domain.rank();
    launch l("elementwise", entry, {emitted_name(p.body.body->view()), index_type(wide), rank},
             {&p.body});
    const std::int64_t count = element_count(domain);
    const std::uint32_t width =
        spread(l, (count + elementwise_group - 1) / elementwise_group, device);
    block_writer w(l, wide);
    w.args(p.body, p.domain);
    w.offsets(p.body);
    w.strides_of(p.body, rank);
    w.row(domain, rank);
    w.index(count);
    w.index(row);
    w.integer(static_cast<std::int32_t>(width));
    return l;
}

inline elementwise_problem collapsed(elementwise_problem p) {
    collapse(p.domain, operands_of(p.body), 0, p.domain.rank());
    return p;
}

}  // namespace detail

/// One element per invocation.
struct elementwise_strided {
    using problem_type = elementwise_problem;
    static constexpr std::string_view name = "elementwise/strided";
    static constexpr bool portable = true;

    static support supports(const elementwise_problem& p, const device_info& device) {
        support s = supports_types(p.body, device);
        s.cost = 2;
        return s;
    }
    static launch make(const elementwise_problem& asked, const device_info& device) {
        const elementwise_problem p = detail::collapsed(asked);
        return detail::elementwise_launch(p, p.domain, p.domain.back(), "strided", device);
    }
    static void reference(const elementwise_problem& p, const host_buffers& buffers) {
        run_on_host(p.body.body->view(), p.domain, buffers.arrays(p.body.leaves), p.body.scalars,
                    buffers.arrays(p.body.outputs));
    }
};

/// Four elements of the innermost axis per invocation, 16-byte accesses.
struct elementwise_vector4 {
    using problem_type = elementwise_problem;
    static constexpr std::string_view name = "elementwise/vector4";
    static constexpr bool portable = false;

    static support supports(const elementwise_problem& asked, const device_info& device) {
        support s = supports_types(asked.body, device);
        if (!s.yes) return s;
        const elementwise_problem p = detail::collapsed(asked);
        if (!vector_mask(p.body, p.domain))
            return support::no(
                "an operand is neither contiguous, nor constant, along the innermost axis, or not "
                "aligned to 4 elements");
        s.cost = 1;
        return s;
    }
    static launch make(const elementwise_problem& asked, const device_info& device) {
        const elementwise_problem p = detail::collapsed(asked);
        shape quads = p.domain;
        quads[quads.rank() - 1] = (quads.back() + 3) / 4;
        launch l = detail::elementwise_launch(p, quads, p.domain.back(), "vector4", device);
        l.specialise({*vector_mask(p.body, p.domain)});
        return l;
    }
    static void reference(const elementwise_problem& p, const host_buffers& b) {
        elementwise_strided::reference(p, b);
    }
};

static_assert(kernel_type<elementwise_strided> && kernel_type<elementwise_vector4>);

}  // namespace pumice::inline PUMICE_ABI
