// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The kernels of softmax and of the norms: rows that stay in registers, and rows of any length that
// are read twice; with neighbouring invocations along the row or along the outer axes
// (shaders/normalize.slang).
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/kernels/detail/normalize_reference.hpp>
#include <pumice/kernels/seconds.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

struct normalize_plan {
    normalize_problem p;
    shape all;  // outer ++ inner
    int outer_rank = 0, inner_rank = 0;
    bool wide = false, fits = false;
    std::int64_t outers = 0, length = 0;
    vector_runs vectors;
    int group = 256, lanes = 256;
    int kept = 16;     // values that a lane holds in registers
    int subgroup = 1;  // 1: lanes do not read each other's

    explicit normalize_plan(const normalize_problem& asked, bool wanted = false)
        : p(asked), all(asked.outer) {
        for (std::int64_t d : p.inner) all.push_back(d);
        const int given = p.outer.rank();
        if (given == 0) inner_rank = collapse(all, operands(), 0, all.rank());
        if (given == 0 && inner_rank == max_rank) return;
        outer_rank = collapse(all, operands(), 0, given);
        inner_rank = collapse(all, operands(), outer_rank, all.rank());
        fits = true;
        p.outer = part_of(all, 0, outer_rank);
        p.inner = part_of(all, outer_rank, inner_rank);
        outers = element_count(p.outer);
        length = element_count(p.inner);
        wide = needs_wide_index(p.prologue.leaves, all) ||
               needs_wide_index(all_operands(p.epilogue), all);
        if (wanted) vectors = runs_of({&p.prologue, &p.epilogue}, all, true, kept / 2);
        if (vectors && !is_double()) kept = 32;
    }
    array_list<operand*> operands() { return operands_of(p.prologue, p.epilogue); }
    bool is_double() const { return p.prologue.type() == dtype::f64; }

    /// Whether a group has the invocations, and the memory for `numbers` of each and of each row.
    bool runs(int numbers, const device_info& device) const {
        return group <= device.max_workgroup_invocations &&
               (group + group / lanes) * numbers * (is_double() ? 8 : 4) <= device.shared_memory;
    }
    /// Chooses the lanes of a row that stays in registers; false where it is too long. What is
    /// folded: a greatest value and a sum of two numbers.
    bool keep(bool columns, const device_info& device) {
        static constexpr int along[] = {8, 32, 64, 128, 256, 512, 1024}, across[] = {1, 8, 32};
        for (const int n : columns ? span<const int>(across) : span<const int>(along)) {
            lanes = n;
            group = std::max(n, 256);
            if (length > std::int64_t{n} * kept) continue;
            if (!columns) subgroup = subgroup_for(n, device);
            return runs(3, device);
        }
        return false;
    }
    /// Moments are four numbers.
    void stream(bool columns, const device_info& device) {
        group = lanes = 1024;
        if (columns || outers >= 512 || !runs(4, device)) group = lanes = 256;
        if (columns) lanes = 8;
    }

    launch make(bool cached, bool columns, const device_info& device) const {
        constexpr std::array<std::string_view, 2> names[] = {
            {"Exponential<", ", 0"}, {"Exponential<", ", 1"}, {"LayerNorm<", ""}, {"RmsNorm<", ""}};
        const auto& [name, rest] = names[static_cast<int>(p.what)];
        const std::string_view real = is_double() ? "double" : "float",
                               half = rest.empty()                         ? ">"
                                      : info(p.prologue.type()).bits <= 16 ? ", 1>"
                                                                           : ", 0>";
        launch l("normalize", cached ? "cached" : "streamed",
                 {real, cat({name, real, rest, half}), emitted_name(p.prologue.body->view()),
                  emitted_name(p.epilogue.body->view()), index_type(wide), outer_rank, inner_rank,
                  group, lanes, columns ? 1 : 0, kept, vectors.elements, vectors.masks[0],
                  vectors.masks[1]},
                 {&p.prologue, &p.epilogue});
        l.threads = group;
        const std::int64_t rows = group / lanes;
        // Of several rows a workgroup the last may lack some, which an extent that varies decides.
        const bool full = length == std::int64_t{lanes} * kept && rows == 1;
        if (cached) l.specialise({subgroup, full ? 1 : 0});
        if (subgroup > 1) l.subgroup_size = subgroup;
        const std::uint32_t width = spread(l, (outers + rows - 1) / rows, device);
        shape steps = p.inner;
        steps[inner_rank - 1] /= vectors.elements;
        write_block(l, wide, "NormalizeParams",
                    {{"P.Args input", block::arguments{p.prologue, all}},
                     {"E.Args output", block::arguments{p.epilogue, all}},
                     {"Places<P, I, RO> reads", block::places{p.prologue, outer_rank}},
                     {"Steps<P, I, RI> read", block::steps{p.prologue, outer_rank, inner_rank}},
                     {"Places<E, I, RO> writes", block::places{p.epilogue, outer_rank}},
                     {"Steps<E, I, RI> write", block::steps{p.epilogue, outer_rank, inner_rank}},
                     {"Extents<I, RO> outer", block::extents{p.outer}},
                     {"Extents<I, RI> inner", block::extents{steps}},
                     {"I outers", outers},
                     {"I length", element_count(steps)},
                     {"A epsilon", block::real{p.epsilon, is_double()}},
                     {"uint width", width}});
        return l;
    }
};

inline support supports_normalize(const normalize_problem& p, bool cached, bool columns,
                                  bool vectors, const device_info& device) {
    for (const fused* f : {&p.prologue, &p.epilogue})
        if (support s = supports_types(*f, device); !s.yes) return s;
    if (!is_floating(p.prologue.type()))
        return support::no({to_string(p.what), " does not take ", to_string(p.prologue.type())});
    normalize_plan plan(p, vectors);
    if (!plan.fits) return support::no("more than 8 axes, none of which can be merged");
    if (support index = supports_index(plan.wide, device); !index.yes) return index;
    if (vectors && !plan.vectors)
        return support::no(
            "an operand is neither contiguous, nor constant, along the innermost axis of a row, or "
            "not aligned to 4 elements");
    if (cached && !plan.keep(columns, device))
        return support::no("a row does not fit in the registers of a workgroup");
    if (!cached) plan.stream(columns, device);
    const int along = columns ? plan.outer_rank - 1 : plan.all.rank() - 1;
    memory_traffic t;
    t.add(plan.p.prologue, plan.all, along, cached ? 1 : 2);
    t.add(plan.p.epilogue, plan.all, along);
    // A workgroup joins what its lanes have, for its own row, and others fill the gaps in part.
    const double invocations = static_cast<double>(plan.outers * plan.lanes),
                 rounds = std::max(1.0, invocations / (1024 * device.rates().groups)),
                 joins = (cached ? 4 : 11) * device.rates().latency;
    return support::in(seconds_to_move(device, t, vectors ? 1 : 0.9, invocations,
                                       vectors ? 64 : 16) +
                       joins * (0.7 + 0.3 * rounds));
}

template <bool Cached, bool Columns, bool Vectors>
struct normalize_kernel {
    using problem_type = normalize_problem;

    static support supports(const normalize_problem& p, const device_info& device) {
        return supports_normalize(p, Cached, Columns, Vectors, device);
    }
    static launch make(const normalize_problem& p, const device_info& device) {
        normalize_plan plan(p, Vectors);
        if constexpr (Cached) plan.keep(Columns, device);
        else plan.stream(Columns, device);
        return plan.make(Cached, Columns, device);
    }
};

}  // namespace detail

/// Rows in registers, neighbours along the row.
struct normalize_rows : detail::normalize_kernel<true, false, false> {
    static constexpr std::string_view name = "normalize/rows";
    static constexpr bool portable = false;
};
struct normalize_vector_rows : detail::normalize_kernel<true, false, true> {
    static constexpr std::string_view name = "normalize/vector_rows";
    static constexpr bool portable = false;
};

/// Rows in registers, neighbours along the outer axes.
struct normalize_columns : detail::normalize_kernel<true, true, false> {
    static constexpr std::string_view name = "normalize/columns";
    static constexpr bool portable = false;
};

/// Rows of any length.
struct normalize_streamed : detail::normalize_kernel<false, false, false> {
    static constexpr std::string_view name = "normalize/streamed";
    static constexpr bool portable = true;
};
struct normalize_vector_streamed : detail::normalize_kernel<false, false, true> {
    static constexpr std::string_view name = "normalize/vector_streamed";
    static constexpr bool portable = false;
};
struct normalize_streamed_columns : detail::normalize_kernel<false, true, false> {
    static constexpr std::string_view name = "normalize/streamed_columns";
    static constexpr bool portable = true;
};

static_assert(kernel_type<normalize_rows> && kernel_type<normalize_vector_rows> &&
              kernel_type<normalize_columns> && kernel_type<normalize_streamed> &&
              kernel_type<normalize_vector_streamed> && kernel_type<normalize_streamed_columns>);

}}  // namespace pumice::PUMICE_ABI
