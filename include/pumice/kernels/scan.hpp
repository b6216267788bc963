// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The kernels of running sums and products, with neighbouring invocations along the row or along
// the outer axes (shaders/scan.slang).
#pragma once

#include <pumice/kernels/reduce.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

struct scan_plan {
    scan_problem p;
    shape all;  // outer ++ {count}
    int outer_rank = 0;
    bool wide = false;
    std::int64_t outers = 0;
    vector_runs runs;

    /// Neighbours that a lane takes at a time.
    static constexpr int piece = 16;
    int group, lanes;

    scan_plan(const scan_problem& asked, bool columns, bool vectors)
        : p(asked), all(asked.outer), group(columns ? 256 : 128), lanes(group) {
        all.push_back(p.count);
        outer_rank = collapse(all, operands_of(p.prologue, p.epilogue), 0, p.outer.rank());
        p.outer = part_of(all, 0, outer_rank);
        outers = element_count(p.outer);
        wide = needs_wide_index(p.prologue.leaves, read()) ||
               needs_wide_index(all_operands(p.epilogue), all);
        if (vectors && p.lead == 0) runs = runs_of({&p.prologue, &p.epilogue}, all, true);
        for (const int n : columns ? std::array{32, 8, 1} : std::array{128, 64, 8})
            if (n == (columns ? 32 : 128) || p.count <= std::int64_t{n} * piece ||
                (columns && outers * n >= 1 << 15))
                lanes = n;
    }
    /// outer ++ {length}: what is read.
    shape read() const {
        shape s = p.outer;
        s.push_back(p.length);
        return s;
    }

    launch make(bool columns, const device_info& device) const {
        launch l("scan", "scanned",
                 {emitted_name(p.prologue.body->view()), emitted_name(p.epilogue.body->view()),
                  index_type(wide), reduction_struct(p.what, p.prologue.type(), wide), outer_rank,
                  group, lanes, columns ? 1 : 0, piece, runs.elements, runs.masks[0],
                  runs.masks[1]},
                 {&p.prologue, &p.epilogue});
        const int subgroup = columns ? 1 : subgroup_for(lanes, device);
        l.specialise({subgroup});
        if (subgroup > 1) l.subgroup_size = subgroup;
        const std::int64_t rows = group / lanes;
        const std::uint32_t width = spread(l, (outers + rows - 1) / rows, device);
        write_block(l, wide, "ScanParams",
                    {{"P.Args input", block::arguments{p.prologue, read()}},
                     {"E.Args output", block::arguments{p.epilogue, all}},
                     {"Places<P, I, R> reads", block::places{p.prologue, outer_rank}},
                     {"Steps<P, I, 1> read", block::steps{p.prologue, outer_rank, 1}},
                     {"Places<E, I, R> writes", block::places{p.epilogue, outer_rank}},
                     {"Steps<E, I, 1> write", block::steps{p.epilogue, outer_rank, 1}},
                     {"Extents<I, R> outer", block::extents{p.outer}},
                     {"I outers", outers},
                     {"I length", p.length},
                     {"I count", p.count},
                     {"I lead", p.lead},
                     {"uint width", width}});
        return l;
    }
};

/// Running sums or products of `values`, `lead` results of none of them first; integers wrap.
template <class T>
void scan_values(const scan_problem& p, dtype type, span<const T> values, span<T> out) {
    using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, long double>;
    Wide r = p.what == reduction::prod ? 1 : 0;
    for (std::int64_t i = 0; i < p.count; ++i) {
        if (const std::int64_t j = i - p.lead; j >= 0 && j < p.length) {
            const auto v = static_cast<Wide>(values[static_cast<std::size_t>(j)]);
            r = p.what == reduction::prod ? r * v : r + v;
        }
        out[static_cast<std::size_t>(i)] = wrapped(type, static_cast<T>(r));
    }
}

inline support supports_scan(const scan_problem& p, bool columns, bool vectors,
                             const device_info& device) {
    for (const fused* f : {&p.prologue, &p.epilogue})
        if (support s = supports_types(*f, device); !s.yes) return s;
    if (reduction_struct(p.what, p.prologue.type(), false).empty())
        return support::no({to_string(p.what), " does not take ", to_string(p.prologue.type())});
    const scan_plan plan(p, columns, vectors);
    if (support index = supports_index(plan.wide, device); !index.yes) return index;
    if (vectors && !plan.runs)
        return support::no(
            "an operand is neither contiguous, nor constant, along the axis, or not aligned to "
            "4 elements, or the results are not the elements' own");
    const int along = columns ? plan.outer_rank - 1 : plan.all.rank() - 1;
    memory_traffic t;
    t.add(plan.p.prologue, plan.read(), along);
    t.add(plan.p.epilogue, plan.all, along);
    return support::in(seconds_to_move(device, t, vectors ? 0.7 : 0.6,
                                       static_cast<double>(plan.outers * plan.lanes),
                                       vectors ? 64 : 16));
}

template <bool Columns, bool Vectors>
struct scan_kernel {
    using problem_type = scan_problem;

    static support supports(const scan_problem& p, const device_info& device) {
        return supports_scan(p, Columns, Vectors, device);
    }
    static launch make(const scan_problem& p, const device_info& device) {
        return scan_plan(p, Columns, Vectors).make(Columns, device);
    }
};

}  // namespace detail

/// What every scan kernel computes.
template <std::same_as<scan_problem> P>
void reference(const P& p, const host_buffers& buffers) {
    host_rows prologue(p.prologue, buffers), epilogue(p.epilogue, buffers);
    const dtype type = p.prologue.type(), wide = detail::widest(type);
    detail::wide_values values(p.length), results(p.count);
    shape rows = p.outer;
    rows.push_back(1);  // for_each_row leaves out the last axis
    for_each_row(rows, [&](index_list at) {
        at.push_back(0);
        prologue.read(at, wide, values.at(0), p.length);
        detail::visit_widest(type, [&]<class T>(T) {
            detail::scan_values<T>(p, type, values.as<T>(), results.as<T>());
        });
        epilogue.write(at, wide, results.at(0), p.count);
    });
}

/// Neighbours along the row.
struct scan_rows : detail::scan_kernel<false, false> {
    static constexpr std::string_view name = "scan/rows";
    static constexpr bool portable = true;
};
struct scan_vector_rows : detail::scan_kernel<false, true> {
    static constexpr std::string_view name = "scan/vector_rows";
    static constexpr bool portable = false;
};

/// Neighbours along the outer axes.
struct scan_columns : detail::scan_kernel<true, false> {
    static constexpr std::string_view name = "scan/columns";
    static constexpr bool portable = true;
};

static_assert(kernel_type<scan_rows> && kernel_type<scan_vector_rows> && kernel_type<scan_columns>);

}}  // namespace pumice::PUMICE_ABI
