// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The reduction kernels: neighbouring invocations along the reduced or along the kept axes; whole,
// or in slices, which the last workgroup joins, or a second launch (shaders/reduce.slang).
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/kernels/detail/reduce_reference.hpp>
#include <pumice/kernels/seconds.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

inline constexpr int reduce_group = 256;

/// op(given 0, given 1).
inline std::shared_ptr<const program> joining(const op_info& op, dtype type) {
    auto p = std::make_shared<program>();
    instruction join{instruction::code::apply, type, 0, {0, 1}, &op};
    for (std::uint16_t i = 0; i < 2; ++i) p->push({instruction::code::given, type, i});
    p->outputs.push_back(p->push(join));
    return p;
}

/// The struct of shaders/reduce.slang; empty where the reduction does not take the type.
inline std::string reduction_struct(reduction what, dtype type, bool wide) {
    const bool logical = type == dtype::boolean;
    if (what == reduction::any || (logical && what == reduction::max))
        return cat({"Any<", index_type(wide), ">"});
    if (what == reduction::all || (logical && what == reduction::min))
        return cat({"All<", index_type(wide), ">"});
    const bool real = what == reduction::logsumexp || what == reduction::var;
    if (logical || (real && !is_floating(type)) || what == reduction::by_op) return "";
    constexpr std::string_view names[] = {"Sum", "Prod",    "Max",     "Min",       "Mean", "Any",
                                          "All", "Extreme", "Extreme", "LogSumExp", "Var"};
    // Where there is no infinity to begin with, one of float is as good: they compute in float.
    const dtype as = type == dtype::f8_e4m3 ? dtype::f32 : type;
    return cat({names[static_cast<int>(what)], "<", info(as).slang, ", ", index_type(wide),
                what == reduction::argmax   ? ", 1>"
                : what == reduction::argmin ? ", -1>"
                                            : ">"});
}

/// The same, of a problem. Pre: it is supported.
inline std::string reduction_struct(const reduce_problem& p, bool wide) {
    const dtype type = p.prologue.type();
    if (!p.by) return reduction_struct(p.what, type, wide);
    return cat({"Joined<", info(type).slang, ", ", index_type(wide), ", ",
                emitted_name(joining(*p.by, type)->view()), ">"});
}

enum class reduce_step { whole, slice, joined };

/// The prologue over axes of which the last is an outer one: what neighbouring columns are read by.
inline vector_runs runs_across(const fused& prologue, const shape& all, int outer_axis) {
    fused f = prologue;
    shape domain = all;
    const auto last = [&](index_list& list) {
        std::rotate(list.begin() + outer_axis, list.begin() + outer_axis + 1, list.end());
    };
    last(domain);
    for (operand& o : f.leaves) last(o.steps);
    return runs_of({&f}, domain, true);
}

/// A reduction with few axes, and how a kernel goes about it. Vectors are read along the innermost
/// axis, or in columns across outer coordinates.
struct reduce_plan {
    reduce_problem p;
    shape all;  // outer ++ inner
    int outer_rank = 0, inner_rank = 0;
    bool wide = false, columns = false, fits = false;
    /// Workgroups of a slice that count, each, the slices that are done.
    static constexpr int most_counted = 64;

    int lanes = 1;  // invocations that share an outer coordinate
    std::int64_t outers = 0, length = 0, part = 0, slices = 1;
    vector_runs runs;

    reduce_plan(const reduce_problem& asked, bool along_outer, bool vectors)
        : p(asked), columns(along_outer) {
        p.prologue = cast_value(p.prologue, reduced_type(p));
        all = p.outer;
        for (std::int64_t d : p.inner) all.push_back(d);
        const int kept = p.outer.rank();
        if (kept == 0) inner_rank = collapse(all, operands_of(p.prologue), 0, all.rank());
        if (kept == 0 && inner_rank == max_rank) return;
        outer_rank = collapse(all, operands_of(p.prologue, p.epilogue), 0, kept);
        if (outer_rank == max_rank) return;
        inner_rank = collapse(all, operands_of(p.prologue), outer_rank, all.rank());
        fits = true;
        p.outer = part_of(all, 0, outer_rank);
        p.inner = part_of(all, outer_rank, inner_rank);
        outers = element_count(p.outer);
        length = part = element_count(p.inner);
        wide = needs_wide_index(p.prologue.leaves, all) ||
               needs_wide_index(all_operands(p.epilogue), p.outer);
        if (vectors)
            runs = columns ? runs_across(p.prologue, all, outer_rank - 1)
                           : runs_of({&p.prologue}, all, inner_rank > 1);
        const std::int64_t steps = length / (columns ? 1 : runs.elements);
        for (const int n : {8, 64, 256})
            if (steps >= 2 * n && (!columns || (n == 8 && slots() < 65536))) lanes = n;
    }

    /// The axes with the innermost kept one last.
    shape across() const {
        shape domain = p.outer;
        domain.erase(outer_rank - 1);
        for (const std::int64_t d : p.inner) domain.push_back(d);
        domain.push_back(p.outer.back());
        return domain;
    }

    /// Cuts each reduction so that some 1024 groups share the work; leaves one slice where it is
    /// short. Of no device's rates: the order of a sum, and so its bits, are the same on each.
    void cut() {
        const std::int64_t least = 16 * std::max(lanes, 64),
                           wanted =
                               std::max<std::int64_t>(1024 / std::max<std::int64_t>(groups(), 1),
                                                      1);
        const std::int64_t count = std::clamp<std::int64_t>(length / least, 1, wanted);
        part = (length + count - 1) / count;
        part = (part + 255) / 256 * 256;
        slices = part == 0 ? 1 : (length + part - 1) / part;
    }

    /// What lanes share: an outer coordinate, or a run of them.
    std::int64_t slots() const { return columns ? outers / runs.elements : outers; }
    std::int64_t slots_of_group() const { return reduce_group / lanes; }
    std::int64_t outers_of_group() const {
        return slots_of_group() * (columns ? runs.elements : 1);
    }
    std::int64_t groups() const { return (slots() + slots_of_group() - 1) / slots_of_group(); }
    /// Invocations that join the slices of an outer coordinate.
    int joining_lanes() const { return slices <= 16 ? 1 : slices <= 256 ? 16 : reduce_group; }
    /// Whether the last workgroup that comes to outer coordinates joins the slices of them: where
    /// that is little work for one.
    bool joins_at_once() const {
        return groups() <= most_counted && outers_of_group() * slices <= 8 * reduce_group;
    }
    std::int64_t scratch() const {
        constexpr std::int64_t largest_state = 32;  // bytes, of shaders/reduction.slang's
        return slices > 1 ? outers * slices * largest_state : 0;
    }

    /// True where neighbours along the outer axes lie closer together.
    bool prefers_columns() const {
        const int outer = outer_rank - 1, inner = all.rank() - 1;
        return all[outer] > 1 &&
               spacing_along(p.prologue, outer) < spacing_along(p.prologue, inner);
    }

    double seconds(const device_info& device) const {
        memory_traffic t;
        t.add(p.prologue, all, columns ? outer_rank - 1 : all.rank() - 1);
        t.add(bytes_of(p.epilogue, p.outer));
        const double whole =
            seconds_to_move(device, t, runs ? 1 : 0.9,
                            static_cast<double>(slots() * lanes * slices), runs ? 64 : 16);
        if (slices == 1 || joins_at_once()) return whole;
        return whole + seconds_to_move(device, static_cast<double>(scratch()), 0.9,
                                       static_cast<double>(outers * joining_lanes()));
    }

    launch make(reduce_step step, const device_info& device) const {
        constexpr const char* entries[] = {"whole", "slice", "joined"};
        const int counters = step == reduce_step::slice && joins_at_once() ? most_counted : 1;
        launch l("reduce", entries[static_cast<int>(step)],
                 {emitted_name(p.prologue.body->view()), emitted_name(p.epilogue.body->view()),
                  index_type(wide), reduction_struct(p, wide), outer_rank, inner_rank, counters},
                 {&p.prologue, &p.epilogue});
        if (p.by) l.programs.push_back(joining(*p.by, p.prologue.type()));
        const bool join = step == reduce_step::joined;
        // Runs of columns are as long as a constant says that the shader computes (see there).
        if (join || !columns || runs.elements == 1) l.threads = reduce_group;
        if (join) l.specialise({joining_lanes()});
        else {
            const int subgroup = columns ? 1 : subgroup_for(lanes, device);
            l.specialise({lanes, columns ? 1 : 0, runs.elements, runs.masks[0], subgroup});
            if (step == reduce_step::slice) l.specialise({joins_at_once() ? joining_lanes() : 0});
            if (subgroup > 1) l.subgroup_size = subgroup;
        }
        const int each = reduce_group / joining_lanes();
        const std::uint32_t width =
            spread(l, join ? (outers + each - 1) / each : groups() * slices, device);
        shape kept = p.outer, steps = p.inner;
        if (!columns) steps[inner_rank - 1] /= runs.elements;
        else if (!join) kept[outer_rank - 1] /= runs.elements;
        write_block(l, wide, "ReduceParams",
                    {{"P.Args input", block::arguments{p.prologue, all, !join}},
                     {"E.Args output",
                      block::arguments{p.epilogue, p.outer,
                                       step != reduce_step::slice || joins_at_once()}},
                     {"A.State* parts", block::address{slices > 1 ? -2 : -1}},
                     {"Places<P, I, RO> reads", block::places{p.prologue, outer_rank}},
                     {"Steps<P, I, RI> steps", block::steps{p.prologue, outer_rank, inner_rank}},
                     {"Places<E, I, RO> writes", block::places{p.epilogue, outer_rank}},
                     {"Extents<I, RO> outer", block::extents{kept}},
                     {"Extents<I, RI> inner", block::extents{steps}},
                     {"I outers", join ? outers : slots()},
                     {"I length", length},
                     {"I part", part},
                     {"uint slices", slices},
                     {"uint width", width},
                     {"uint groups", step == reduce_step::slice ? groups() * slices : 0},
                     {"uint arrived[T]", block::axes{{}, counters}}});
        if (slices > 1) l.accesses.push_back({-2, 0, scratch(), step == reduce_step::slice});
        return l;
    }
};

inline support supports_reduction(const reduce_problem& p, bool columns, bool vectors,
                                  const device_info& device) {
    for (const fused* f : {&p.prologue, &p.epilogue})
        if (support s = supports_types(*f, device); !s.yes) return s;
    if (p.by ? !reduces(*p.by, p.prologue.type())
             : reduction_struct(p.what, reduced_type(p), false).empty())
        return support::no({p.by ? p.by->name : to_string(p.what), " does not take ",
                            to_string(p.prologue.type())});
    const reduce_plan plan(p, columns, vectors);
    if (!plan.fits) return support::no("more than 8 axes, none of which can be merged");
    if (support index = supports_index(plan.wide, device); !index.yes) return index;
    if (vectors && !plan.runs)
        return support::no({"an operand is neither contiguous, nor constant, along the innermost ",
                            columns ? "kept" : "reduced", " axis, or not aligned to 4 elements"});
    return support::in(plan.seconds(device));
}

/// What the kernels of one launch share.
template <bool Columns, bool Vectors>
struct reduce_whole {
    using problem_type = reduce_problem;

    static support supports(const reduce_problem& p, const device_info& device) {
        return supports_reduction(p, Columns, Vectors, device);
    }
    static launch make(const reduce_problem& p, const device_info& device) {
        return reduce_plan(p, Columns, Vectors).make(reduce_step::whole, device);
    }
};

}  // namespace detail

/// Neighbours along the reduced axes: rows.
struct reduce_rows : detail::reduce_whole<false, false> {
    static constexpr std::string_view name = "reduce/rows";
    static constexpr bool portable = true;
};

/// The same in fours, 16-byte accesses.
struct reduce_vector_rows : detail::reduce_whole<false, true> {
    static constexpr std::string_view name = "reduce/vector_rows";
    static constexpr bool portable = false;
};

/// Neighbours along the kept axes: columns.
struct reduce_columns : detail::reduce_whole<true, false> {
    static constexpr std::string_view name = "reduce/columns";
    static constexpr bool portable = true;
};

/// The same, each invocation several of them, 16-byte accesses.
struct reduce_vector_columns : detail::reduce_whole<true, true> {
    static constexpr std::string_view name = "reduce/vector_columns";
    static constexpr bool portable = false;
};

/// Few and long reductions, cut into slices; always the same cut, so the result is reproducible.
struct reduce_slices : detail::reduce_whole<false, false> {
    static constexpr std::string_view name = "reduce/slices";
    static constexpr bool portable = true;

    static support supports(const reduce_problem& p, const device_info& device) {
        support s = detail::reduce_whole<false, false>::supports(p, device);
        if (!s.yes) return s;
        const detail::reduce_plan plan = cut(p);
        if (plan.slices < 2)
            return support::no("the reductions are short, or many enough to fill the device");
        return support::in(plan.seconds(device));
    }
    static launch make(const reduce_problem& p, const device_info& device) {
        return cut(p).make(detail::reduce_step::slice, device);
    }
    static array_list<launch> make_all(const reduce_problem& p, const device_info& device) {
        const detail::reduce_plan plan = cut(p);
        array_list<launch> launches{plan.make(detail::reduce_step::slice, device)};
        if (!plan.joins_at_once())
            launches.push_back(plan.make(detail::reduce_step::joined, device));
        return launches;
    }
    static std::int64_t scratch(const reduce_problem& p, const device_info&) {
        return cut(p).scratch();
    }

private:
    static detail::reduce_plan cut(const reduce_problem& p) {
        detail::reduce_plan plan(p, detail::reduce_plan(p, false, false).prefers_columns(), true);
        plan.cut();
        return plan;
    }
};

static_assert(kernel_type<reduce_rows> && kernel_type<reduce_vector_rows> &&
              kernel_type<reduce_columns> && kernel_type<reduce_vector_columns> &&
              kernel_type<reduce_slices>);

}}  // namespace pumice::PUMICE_ABI
