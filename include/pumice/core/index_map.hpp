// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Index maps that are not affine: what is rolled, repeated or padded is read where it lies. Each
// axis has a rule for indices beyond it; kernels apply it as they load (shaders/index_map.slang).
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/config.hpp>
#include <pumice/base/span.hpp>

#include <cstdint>
#include <string_view>

namespace pumice { inline namespace PUMICE_ABI {

/// What becomes of an index beyond an axis.
enum class fold : std::uint8_t {
    none,    // there is none beyond
    around,  // it goes on at the other end
    edge,    // the nearest that there is
    mirror,  // mirrored at the first element and the last
    inside   // there is no element: what stands for it is not read here
};

constexpr std::string_view to_string(fold f) noexcept {
    constexpr std::string_view names[] = {"none", "around", "edge", "mirror", "inside"};
    return names[static_cast<int>(f)];
}

/// An axis of an index map: index i of [0, extent) means element i + add of `length`.
struct mapped_axis {
    fold how = fold::none;
    std::int64_t extent = 1, add = 0, length = 1;
    std::int64_t step = 0;  // from one element to the next in memory; only of a kernel's operand
    friend constexpr bool operator==(const mapped_axis&, const mapped_axis&) = default;
};

/// Puts an axis behind those of a kernel's map: what goes around, or has no element, by whole rows
/// that follow each other does so by elements, of one axis fewer.
inline void add_axis(array_list<mapped_axis>& map, const mapped_axis& inner) {
    const auto joins = [&](const mapped_axis& outer) {
        return inner.how == fold::none && outer.step == inner.step * inner.extent &&
               (outer.how == fold::none || outer.how == fold::around || outer.how == fold::inside);
    };
    if (map.empty() || !joins(map.back())) return map.push_back(inner);
    mapped_axis& a = map.back();
    a.extent *= inner.extent;
    a.add *= inner.extent;
    a.length *= inner.extent;
    a.step = inner.step;
}

/// What the text of a kernel knows of a map: a digit for each axis, the last axis lowest.
constexpr std::uint32_t form_of(span<const mapped_axis> map) noexcept {
    std::uint32_t form = 0;
    for (const mapped_axis& a : map) form = form << 4 | (static_cast<std::uint32_t>(a.how) + 1);
    return form;
}

/// A run of indices that a map takes to evenly spaced elements.
struct map_stretch {
    std::int64_t begin, step, count;  // the first, from one to the next (1, 0, -1), how many
    bool within = true;               // false: there are none, those at hand stand for them
};

namespace detail {
/// i in [0, n), by whole turns.
constexpr std::int64_t turned(std::int64_t i, std::int64_t n) noexcept {
    const std::int64_t rest = i % n;
    return rest < 0 ? rest + n : rest;
}
}  // namespace detail

/// The run that begins at index i, up to the axis's end.
constexpr map_stretch stretch_at(const mapped_axis& a, std::int64_t i) noexcept {
    const std::int64_t at = i + a.add, n = a.length, left = a.extent - i;
    map_stretch s{at, 1, left};
    if (a.how == fold::around) {
        s.begin = detail::turned(at, n);
        s.count = n - s.begin;
    } else if (a.how == fold::mirror && n > 1) {
        const std::int64_t period = 2 * (n - 1), k = detail::turned(at, period);
        if (k < n - 1) s = {k, 1, n - 1 - k};
        else s = {period - k, -1, period - k};
    } else if (a.how != fold::none && at < 0) {
        s = {0, 0, -at, a.how != fold::inside};
    } else if (a.how != fold::none && at < n) {
        s.count = n - at;
    } else if (a.how != fold::none) {
        s = {n - 1, 0, left, a.how != fold::inside};
    }
    if (s.count > left) s.count = left;
    return s;
}

/// A map as whoever reads elements one by one has it: elements are counted in row-major order over
/// its axes' extents, and lie from `offset` on.
struct index_map {
    span<const mapped_axis> axes;
    std::int64_t offset = 0;

    /// Of `count` elements from `at` on, each `step` from the one before: the first that lie
    /// evenly, as offsets in memory.
    map_stretch stretch(std::int64_t at, std::int64_t step, std::int64_t count) const noexcept {
        map_stretch r{offset, 0, step == 0 ? count : 1};
        for (std::size_t k = axes.size(); k-- > 0;) {
            const mapped_axis& a = axes[k];
            const std::int64_t rest = k == 0 ? 0 : at / a.extent;
            const map_stretch s = stretch_at(a, at - rest * a.extent);
            r.begin += s.begin * a.step;
            r.within = r.within && s.within;
            if (k + 1 == axes.size() && step == 1) {
                r.step = s.step * a.step;
                r.count = s.count < count ? s.count : count;
            }
            at = rest;
        }
        return r;
    }
};

/// The first and the last element in memory that the map takes any index to.
struct map_range {
    std::int64_t low, high;
};
constexpr map_range range_of(span<const mapped_axis> map, std::int64_t offset) noexcept {
    map_range r{offset, offset};
    for (const mapped_axis& a : map) {
        const std::int64_t reach = a.step * (a.length - 1);
        (reach < 0 ? r.low : r.high) += reach;
    }
    return r;
}

}}  // namespace pumice::PUMICE_ABI
