// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The softmax kernels: rows that stay in registers, and rows of any length that are read twice; with
// neighbouring invocations along the row or along the outer axes (shaders/softmax.slang).
#pragma once

#include <pumice/kernels/detail/rows.hpp>

#include <cmath>

namespace pumice::inline PUMICE_ABI {

namespace detail {

struct softmax_plan {
    softmax_problem p;
    shape all;  // outer ++ {length}
    int outer_rank = 0;
    bool wide = false;
    std::int64_t outers = 0;
    std::optional<std::uint32_t> flat_in, flat_out;
    int group = 256, lanes = 256;

    explicit softmax_plan(const softmax_problem& asked, bool vectors = false)
        : p(asked), all(asked.outer) {
        all.push_back(p.length);
        outer_rank = collapse(all, operands_of(p.prologue, p.epilogue), 0, p.outer.rank());
        p.outer = part_of(all, 0, outer_rank);
        outers = element_count(p.outer);
        wide = needs_wide_index(p.prologue.leaves, all) ||
               needs_wide_index(all_operands(p.epilogue), all);
        if (!vectors || p.length % 4 != 0) return;
        flat_in = vector_mask(p.prologue, all);
        flat_out = vector_mask(p.epilogue, all);
    }
    bool vectors() const { return flat_in && flat_out; }

    /// Elements that a lane keeps in registers.
    static constexpr int kept = 16;

    /// Chooses the lanes of a row that stays in registers; false where it is too long.
    bool keep(bool columns, const device_info& device) {
        for (const int n : columns ? std::array{1, 8, 32, 32} : std::array{8, 64, 256, 1024}) {
            lanes = n;
            group = std::max(n, 256);
            if (p.length <= std::int64_t{n} * kept)
                return group <= device.max_workgroup_invocations;
        }
        return false;
    }
    void stream(bool columns, const device_info& device) {
        group = !columns && outers < 512 && device.max_workgroup_invocations >= 1024 ? 1024 : 256;
        lanes = columns ? 8 : group;
    }

    /// True where neighbours along the outer axes lie closer together.
    bool prefers_columns() const {
        const auto spacing = [&](int axis) {
            return spacing_along(p.prologue, axis) + spacing_along(p.epilogue, axis);
        };
        return all[outer_rank - 1] > 1 && spacing(outer_rank - 1) < spacing(outer_rank);
    }

    launch make(bool cached, bool columns, const device_info& device) const {
        const auto flat = [&](const std::optional<std::uint32_t>& mask) {
            return vectors() ? static_cast<int>(*mask) : -1;
        };
        launch l("softmax", cached ? "cached" : "streamed",
                 {emitted_name(p.prologue.body->view()), emitted_name(p.epilogue.body->view()),
                  p.prologue.type() == dtype::f64 ? "F64" : "F32", index_type(wide), outer_rank,
                  group, lanes, columns ? 1 : 0},
                 {&p.prologue, &p.epilogue});
        if (cached) l.specialise({vectors() ? kept / 4 : kept});
        l.specialise({flat(flat_in), flat(flat_out), p.log ? 1 : 0});
        const std::int64_t rows = group / lanes;
        const std::uint32_t width = spread(l, (outers + rows - 1) / rows, device);
        block_writer w(l, wide);
        w.args(p.prologue, all);
        w.args(p.epilogue, all);
        for (const fused* f : {&p.prologue, &p.epilogue}) {
            write_places(w, *f, outer_rank);
            write_steps(w, *f, outer_rank, 1);
        }
        w.row(p.outer, outer_rank);
        w.index(outers);
        w.index(p.length);
        w.integer(static_cast<std::int32_t>(width));
        return l;
    }
};

/// What every softmax kernel computes: row after row, the largest value taken off, in a wider type
/// than the kernels'.
inline void softmax_reference(const softmax_problem& p, const host_buffers& buffers) {
    host_rows prologue(p.prologue, buffers), epilogue(p.epilogue, buffers);
    wide_values row(p.length);
    const std::span<double> x = row.as<double>();
    shape rows = p.outer;
    rows.push_back(std::min<std::int64_t>(p.length, 1));
    for_each_row(rows, [&](index_list at) {
        at.push_back(0);
        prologue.read(at, dtype::f64, row.at(0), p.length);
        long double top = -std::numeric_limits<long double>::infinity(), sum = 0;
        for (double v : x) top = std::max<long double>(top, v);
        for (double v : x) sum += std::exp(v - top);
        const long double log_of_sum = std::log(sum);
        for (double& v : x)
            v = static_cast<double>(p.log ? v - top - log_of_sum : std::exp(v - top) / sum);
        epilogue.write(at, dtype::f64, row.at(0), p.length);
    });
}

inline support supports_softmax(const softmax_problem& p, bool cached, bool columns, bool vectors,
                                const device_info& device) {
    for (const fused* f : {&p.prologue, &p.epilogue})
        if (support s = supports_types(*f, device); !s.yes) return s;
    if (!is_floating(p.prologue.type()))
        return support::no({"softmax does not take ", to_string(p.prologue.type())});
    softmax_plan plan(p, vectors);
    if (support index = supports_index(plan.wide, device); !index.yes) return index;
    if (vectors && !plan.vectors())
        return support::no(
            "an operand is neither contiguous, nor constant, along the axis, or not aligned to "
            "4 elements");
    if (cached && !plan.keep(columns, device))
        return support::no("a row does not fit in the registers of a workgroup");
    support s;
    s.cost = 1 + (columns == plan.prefers_columns() ? 0 : 8) + (cached ? 0 : 4) + (vectors ? 0 : 1);
    return s;
}

template <bool Cached, bool Columns, bool Vectors>
struct softmax_kernel {
    using problem_type = softmax_problem;

    static support supports(const softmax_problem& p, const device_info& device) {
        return supports_softmax(p, Cached, Columns, Vectors, device);
    }
    static launch make(const softmax_problem& p, const device_info& device) {
        softmax_plan plan(p, Vectors);
        if constexpr (Cached) plan.keep(Columns, device);
        else plan.stream(Columns, device);
        return plan.make(Cached, Columns, device);
    }
    static void reference(const softmax_problem& p, const host_buffers& buffers) {
        softmax_reference(p, buffers);
    }
};

}  // namespace detail

/// Rows in registers, neighbours along the row.
struct softmax_rows : detail::softmax_kernel<true, false, false> {
    static constexpr std::string_view name = "softmax/rows";
    static constexpr bool portable = false;
};
struct softmax_rows4 : detail::softmax_kernel<true, false, true> {
    static constexpr std::string_view name = "softmax/rows4";
    static constexpr bool portable = false;
};

/// Rows in registers, neighbours along the outer axes.
struct softmax_columns : detail::softmax_kernel<true, true, false> {
    static constexpr std::string_view name = "softmax/columns";
    static constexpr bool portable = false;
};

/// Rows of any length.
struct softmax_streamed : detail::softmax_kernel<false, false, false> {
    static constexpr std::string_view name = "softmax/streamed";
    static constexpr bool portable = true;
};
struct softmax_streamed4 : detail::softmax_kernel<false, false, true> {
    static constexpr std::string_view name = "softmax/streamed4";
    static constexpr bool portable = false;
};
struct softmax_streamed_columns : detail::softmax_kernel<false, true, false> {
    static constexpr std::string_view name = "softmax/streamed_columns";
    static constexpr bool portable = true;
};

static_assert(kernel<softmax_rows> && kernel<softmax_rows4> && kernel<softmax_columns> &&
              kernel<softmax_streamed> && kernel<softmax_streamed4> &&
              kernel<softmax_streamed_columns>);

}  // namespace pumice::inline PUMICE_ABI
