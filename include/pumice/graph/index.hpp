// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// NumPy's basic indexing: numbers, slices, new axes and an ellipsis, read as a view or written.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/graph/assign.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// A new axis of length 1 in an index: `x(pm::newaxis, 0)`.
struct newaxis_t {};
inline constexpr newaxis_t newaxis{};
/// As many whole axes as the other places of an index leave: `x(pm::ellipsis, 0)`.
struct ellipsis_t {};
inline constexpr ellipsis_t ellipsis{};

/// One place of an index. A number takes its axis away; negative ones count from the end.
struct index_place {
    enum class kind : std::uint8_t { part, number, made, rest };

    index_place() = default;  // the whole axis
    index_place(const slice& s) : part(s) {}
    index_place(std::int64_t i) : part{i, {}, 1}, what(kind::number) {}
    index_place(newaxis_t) : what(kind::made) {}
    index_place(ellipsis_t) : what(kind::rest) {}

    slice part;
    kind what = kind::part;
};

/// The places of an index, in order: begin and end suffice, and cost the compiler nothing.
struct index_places {
    const index_place* first;
    std::size_t count;
    const index_place* begin() const noexcept { return first; }
    const index_place* end() const noexcept { return first + count; }
};

/// x[places...]: a view. Throws errc::rank_mismatch, errc::index_out_of_range and what a slice
/// does.
PUMICE_FUNCTION any_tensor index_view(const any_tensor& x, const index_places& places);

/// The slice at one index along `axis`, which it lacks: a view. Throws errc::index_out_of_range.
PUMICE_FUNCTION any_tensor take(const any_tensor& x, std::int64_t index, std::int64_t axis = 0);

/// x with `values`, broadcast to the shape of x[places...], in its place. A number takes x's type.
PUMICE_FUNCTION any_tensor index_update(const any_tensor& x, const any_operand& values,
                                        const index_places& places);

#ifndef PUMICE_COMPILED

namespace detail {

/// An index as a slice for each axis that it names, and its places with the ellipsis written out.
struct index_plan {
    array_list<slice> slices;  // one for each axis
    index_place::kind places[2 * max_rank] = {};
    int axes = 0, count = 0;

    void add(index_place::kind what) {
        if (count == 2 * max_rank)
            fail(errc::rank_mismatch, "index", {"more than ", count, " indices"});
        places[count++] = what;
        axes += what != index_place::kind::made;
    }
};

PUMICE_FUNCTION index_plan plan_index(const shape& extent, const index_places& places) {
    using kind = index_place::kind;
    int named = 0, ellipses = 0;
    for (const index_place& p : places) {
        named += p.what == kind::part || p.what == kind::number;
        ellipses += p.what == kind::rest;
    }
    if (named > extent.rank())
        fail(errc::rank_mismatch, "index",
             {named, " indices for the ", extent.rank(), " axes of ", to_string(extent)});
    if (ellipses > 1) fail(errc::invalid_argument, "index", {"more than one ellipsis"});
    index_plan plan;
    plan.slices.resize(extent.size());
    const auto whole = [&](int count) {
        for (; count > 0; --count) plan.add(kind::part);
    };
    for (const index_place& p : places) {
        if (p.what == kind::rest) {
            whole(extent.rank() - named);
            continue;
        }
        if (p.what != kind::number) {
            if (p.what == kind::part) plan.slices[static_cast<std::size_t>(plan.axes)] = p.part;
            plan.add(p.what);
            continue;
        }
        const std::int64_t n = extent[plan.axes], asked = *p.part.start,
                           i = asked < 0 ? asked + n : asked;
        if (i < 0 || i >= n)
            fail(errc::index_out_of_range, "index",
                 {"index ", asked, " of axis ", plan.axes, " of ", to_string(extent)});
        plan.slices[static_cast<std::size_t>(plan.axes)] = {i, i + 1, 1};
        plan.add(p.what);
    }
    if (ellipses == 0) whole(extent.rank() - named);
    return plan;
}

}  // namespace detail

PUMICE_BODY any_tensor index_view(const any_tensor& x, const index_places& places) {
    detail::index_plan plan = detail::plan_index(x.shape(), places);
    shape part = x.shape(), extent;
    const view_op sliced = detail::view_of(part, plan.slices);
    view_op v{sliced.start, {}, {}};
    int axis = 0;
    for (int k = 0; k < plan.count; ++k) {
        const index_place::kind what = plan.places[k];
        const bool made = what == index_place::kind::made;
        if (what != index_place::kind::number) {
            v.source.push_back(made ? -1 : sliced.source[axis]);
            v.step.push_back(made ? 1 : sliced.step[axis]);
            extent.push_back(made ? 1 : part[axis]);
        }
        axis += !made;
    }
    return detail::make_view(x, extent, std::move(v));
}

PUMICE_BODY any_tensor take(const any_tensor& x, std::int64_t index, std::int64_t axis) {
    index_place places[max_rank];
    const int at = normalize_axis(axis, x.rank(), "take");
    places[at] = index;
    return index_view(x, {places, static_cast<std::size_t>(at) + 1});
}

PUMICE_BODY any_tensor index_update(const any_tensor& x, const any_operand& values,
                                    const index_places& places) {
    detail::index_plan plan = detail::plan_index(x.shape(), places);
    bool plain = true;
    for (int k = 0; k < plan.count; ++k) plain &= plan.places[k] == index_place::kind::part;
    if (plain || values.is_number) return slice_update(x, values, plan.slices);
    // The values with the shape of the slices: an axis for each number, none for a new axis.
    const any_tensor from = broadcast_to(values.array, index_view(x, places).shape());
    view_op v{index_list::filled(from.rank(), 0), {}, {}};
    shape extent;
    int axis = 0;
    for (int k = 0; k < plan.count; ++k) {
        const index_place::kind what = plan.places[k];
        const bool shown = what == index_place::kind::part;
        if (what != index_place::kind::made) {
            v.source.push_back(shown ? axis : -1);
            v.step.push_back(1);
            extent.push_back(shown ? from.shape()[axis] : 1);
        }
        axis += what != index_place::kind::number;
    }
    return slice_update(x, detail::make_view(from, extent, std::move(v)), plan.slices);
}

#endif

}}  // namespace pumice::PUMICE_ABI
