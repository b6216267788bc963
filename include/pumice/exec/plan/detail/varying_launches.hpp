// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// One launch for all extents of a range: of launches for some of them, alike but for numbers.
#pragma once

#include <pumice/base/span.hpp>
#include <pumice/kernels/launch.hpp>

#include <algorithm>
#include <cstring>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Numbers of a block that say how a grid is cut: those of the largest extent serve all. A slice of
/// a reduction that begins behind the end is one of nothing.
inline bool cuts_grid(std::string_view row) {
    for (const std::string_view name : {"uint width", "uint down", "uint across", "uint band",
                                        "uint tiles", "uint groups", "I part", "I slices"})
        if (row == name) return true;
    return false;
}

/// Extents that a step's kernel is chosen for: an arithmetic progression, the last no smaller than
/// any that a run brings, so that its grid serves all, and some more.
struct chosen_extents {
    std::int64_t first = 0, step = 1;
    array_list<std::int64_t> more = {};

    std::int64_t at(int k) const noexcept { return first + k * step; }
};

/// Whether two launches are one but for numbers in their blocks.
inline bool is_alike(const launch& a, const launch& b) {
    bool alike =
        a.module == b.module && a.entry == b.entry && a.arguments == b.arguments &&
        a.wide == b.wide && a.subgroup_size == b.subgroup_size &&
        (a.text ? *a.text : "") == (b.text ? *b.text : "") &&
        a.parameters.size() == b.parameters.size() && a.members.size() == b.members.size() &&
        a.relocations.size() == b.relocations.size() && a.numbers.size() == b.numbers.size();
    for (std::size_t i = 0; alike && i < a.relocations.size(); ++i)
        alike = a.relocations[i].at == b.relocations[i].at &&
                a.relocations[i].buffer == b.relocations[i].buffer &&
                a.relocations[i].byte_offset == b.relocations[i].byte_offset;
    return alike;
}

/// Whether row m has the factors or the shifts of an `Extents` (shaders/element.slang), whose
/// lengths are one row before the former and two before the latter.
inline varying_number::kind kind_of_row(const launch& l, std::size_t m) {
    const auto begins = [&](std::size_t back) {
        if (m < back) return false;
        const char* of = l.members[m - back].structure;
        return of && std::string_view(of) == "Extents";
    };
    using kind = varying_number::kind;
    return begins(2) ? kind::factor : begins(3) ? kind::shift : kind::itself;
}

/// Finds the numbers in which a kernel's launches for those extents differ. Gives why one cannot
/// serve all; else it is empty, and `last`, which is that for the last extent, can.
inline std::string find_varying(launch& last, span<const launch* const> launches,
                                const chosen_extents& extents) {
    for (std::size_t m = 0; m < last.members.size(); ++m) {
        const block_member& row = last.members[m];
        if (const auto kind = kind_of_row(last, m); kind != varying_number::kind::itself) {
            // Of neighbouring lengths they may be equal.
            const std::size_t lengths = m - (kind == varying_number::kind::factor ? 1 : 2);
            const std::size_t from = last.members[lengths].at, to = last.members[lengths + 1].at;
            for (std::size_t k = 0, known = last.varying.size(); k < known; ++k) {
                const varying_number v = last.varying[k];
                if (v.at >= from && v.at < to)
                    last.varying.push_back({row.at + (v.at - from) / v.bytes * 4, 4, v.number,
                                            kind});
            }
            continue;
        }
        const std::size_t end =
            m + 1 < last.members.size() ? last.members[m + 1].at : last.parameters.size();
        bool differs = false;
        for (const launch* l : launches)
            differs =
                differs || !std::equal(l->parameters.begin() + row.at,
                                       l->parameters.begin() + static_cast<std::ptrdiff_t>(end),
                                       last.parameters.begin() + row.at);
        const std::string_view name = row.slang;
        if (!differs || cuts_grid(name)) continue;
        const bool index = name.starts_with("I "), arguments = name.starts_with("P.Args ");
        if (!index && !arguments && !name.starts_with("int "))
            return cat({"its parameter `", name, "` depends on the extent"});
        const std::size_t bytes = arguments || (index && last.wide) ? 8 : 4;
        for (std::size_t at = row.at; at + bytes <= end; at += bytes) {
            const auto& maps = last.map_numbers;
            if (arguments && std::find(maps.begin(), maps.end(), at) == maps.end()) {
                for (const launch* l : launches)
                    if (std::memcmp(&l->parameters[at], &last.parameters[at], bytes) != 0)
                        return cat({"its parameter `", name, "` depends on the extent"});
                continue;
            }
            std::int64_t values[extent_formula::samples] = {};
            for (std::size_t k = 0; k < launches.size(); ++k) {
                std::int32_t narrow = 0;
                std::memcpy(&narrow, launches[k]->parameters.data() + at, 4);
                values[k] = narrow;
                if (bytes == 8) std::memcpy(&values[k], launches[k]->parameters.data() + at, 8);
            }
            extent_formula f;
            if (!f.find(extents.first, values, extents.step))
                return cat({"its parameter `", name, "` is no polynomial of the extent"});
            if (!f.is_constant()) last.varying.push_back({at, bytes, f});
        }
    }
    return "";
}

/// Whether `l`, made as `last` was for that extent, has the numbers that `last` would be given.
inline bool follows(const launch& l, const launch& last, std::int64_t extent) {
    array_list<std::byte> block = last.parameters;
    write_varying(last, extent, block.data());
    for (std::size_t m = 0; m < last.members.size(); ++m) {
        const std::size_t end = m + 1 < last.members.size() ? last.members[m + 1].at : block.size();
        if (!cuts_grid(last.members[m].slang) &&
            !std::equal(block.begin() + last.members[m].at,
                        block.begin() + static_cast<std::ptrdiff_t>(end),
                        l.parameters.begin() + last.members[m].at))
            return false;
    }
    return true;
}

}}}  // namespace pumice::PUMICE_ABI::detail
