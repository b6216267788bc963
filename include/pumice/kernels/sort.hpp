// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The sorting kernel: rows that fit in shared memory by one launch, longer ones in blocks of 1024
// that are then merged in pairs (shaders/sort.slang).
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/kernels/detail/rows.hpp>
#include <pumice/kernels/seconds.hpp>

#include <algorithm>
#include <numeric>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

struct sort_plan {
    static constexpr std::int64_t held = 1024;  // elements of a workgroup; as in the shader

    sort_problem p;
    shape all, written;  // outer ++ {length}, outer ++ {first}
    int outer_rank = 0;
    bool wide = false;
    std::int64_t rows = 0, blocks = 0;

    explicit sort_plan(const sort_problem& asked) : p(asked), all(asked.outer) {
        all.push_back(p.length);
        wide = needs_wide_index({p.values, p.output}, all);
        outer_rank = collapse(all, {&p.values, &p.output}, 0, p.outer.rank());
        p.outer = part_of(all, 0, outer_rank);
        written = p.outer;
        written.push_back(p.first);
        rows = element_count(p.outer);
        blocks = std::max<std::int64_t>(1, (p.length + held - 1) / held);
    }
    int key_bytes() const { return info(p.values.type).bits == 64 ? 8 : 4; }
    const char* key_type() const { return key_bytes() == 8 ? "uint64_t" : "uint"; }
    std::int64_t count() const { return rows * p.length; }

    // Keys and places twice: each merge reads one and writes the other.
    std::int64_t scratch() const { return blocks > 1 ? 2 * count() * (key_bytes() + 4) : 0; }
    block::address keys(int half) const {
        return blocks == 1 ? block::address{-1} : block::address{-2, half * count() * key_bytes()};
    }
    block::address places(int half) const {
        return blocks == 1 ? block::address{-1}
                           : block::address{-2, 2 * count() * key_bytes() + half * count() * 4};
    }
    void accesses(launch& l, int half, bool write) const {
        const std::int64_t keys = count() * key_bytes(), places = count() * 4;
        l.accesses.push_back({-2, half * keys, (half + 1) * keys, write});
        l.accesses.push_back({-2, 2 * keys + half * places, 2 * keys + (half + 1) * places, write});
    }
    three_parameters line(const operand& o) const {
        return {{{"I step[R]", block::axes{o.steps, outer_rank}},
                 {"I at", o.offset},
                 {"I along", o.steps[outer_rank]}}};
    }

    launch sort_blocks(const device_info& device) const {
        std::int64_t block = 1;
        while (block < std::min(p.length, held)) block *= 2;
        launch l("sort", "blocks",
                 {info(p.values.type).slang, key_type(), index_type(wide), outer_rank, block,
                  p.descending ? 1 : 0, blocks == 1 ? 1 : 0},
                 {});
        const std::int64_t segments = held / block;
        const std::uint32_t width = spread(l, (rows * blocks + segments - 1) / segments, device);
        l.accesses = {range_of(p.values, all, false)};
        if (blocks == 1) l.accesses.push_back(range_of(p.output, written, true));
        else accesses(l, 0, true);
        write_block(l, wide, "BlocksParams",
                    {{"T.Storage* values", block::address{p.values.buffer}},
                     {"int64_t* output", block::address{p.output.buffer}},
                     {"K* keys", keys(0)},
                     {"uint* places", places(0)},
                     {"Extents<I, R> outer", block::extents{p.outer}},
                     {"Lines<I, R> read", "Lines", line(p.values).row},
                     {"Lines<I, R> write", "Lines", line(p.output).row},
                     {"I rows", rows},
                     {"uint length", p.length},
                     {"uint first", p.first},
                     {"uint blocks", blocks},
                     {"uint width", width}});
        return l;
    }

    /// The pass that makes runs of twice `run` elements, from one half of the scratch into the
    /// other.
    launch merge(std::int64_t run, int half, const device_info& device) const {
        const bool last = 2 * run >= p.length;
        launch l("sort", "merge", {key_type(), index_type(wide), outer_rank, last ? 1 : 0}, {});
        const std::uint32_t width = spread(l, (count() + 255) / 256, device);
        accesses(l, half, false);
        if (last) l.accesses.push_back(range_of(p.output, written, true));
        else accesses(l, 1 - half, true);
        write_block(l, wide, "MergeParams",
                    {{"K* keys", keys(half)},
                     {"uint* places", places(half)},
                     {"K* keysTo", keys(1 - half)},
                     {"uint* placesTo", places(1 - half)},
                     {"int64_t* output", block::address{p.output.buffer}},
                     {"Extents<I, R> outer", block::extents{p.outer}},
                     {"Lines<I, R> write", "Lines", line(p.output).row},
                     {"I count", count()},
                     {"uint length", p.length},
                     {"uint first", p.first},
                     {"uint run", run},
                     {"uint width", width}});
        return l;
    }
};

/// A row's places in order, by values of the widest type of their kind.
template <class T>
void order_places(span<const T> values, bool descending, array_list<std::int64_t>& places) {
    std::iota(places.begin(), places.end(), std::int64_t{0});
    const auto less = [](T a, T b) { return a < b || (a == a && b != b); };
    std::sort(places.begin(), places.end(), [&](std::int64_t i, std::int64_t j) {
        const T a = values[static_cast<std::size_t>(descending ? j : i)],
                b = values[static_cast<std::size_t>(descending ? i : j)];
        return less(a, b) || (!less(b, a) && i < j);  // equal values stay in their order
    });
}

}  // namespace detail

/// What the sorting kernel computes.
template <std::same_as<sort_problem> P>
void reference(const P& p, const host_buffers& buffers) {
    const host_array values = buffers.array(p.values), output = buffers.array(p.output);
    const std::int64_t read = values.steps.back(), write = output.steps.back();
    detail::wide_values row(p.length);
    array_list<std::int64_t> places(static_cast<std::size_t>(p.length));
    shape rows = p.outer;
    rows.push_back(std::min<std::int64_t>(p.length, 1));
    for_each_row(rows, [&](const index_list& at) {
        const std::int64_t from = offset_of(values, at);
        std::byte* to = output.data + offset_of(output, at) * 8;
        visit(p.values.type, [&]<class T>(T) {
            using W = detail::widest_of<T>;
            const span<W> wide = row.as<W>();
            for (std::int64_t i = 0; i < p.length; ++i)
                wide[static_cast<std::size_t>(i)] =
                    convert<W>(detail::load_element<T>(values.data, from + i * read));
            detail::order_places<W>(wide, p.descending, places);
        });
        for (std::int64_t i = 0; i < p.first; ++i)
            std::memcpy(to + i * write * 8, &places[static_cast<std::size_t>(i)], 8);
    });
}

namespace detail {
/// No where the values, or places in 64 bits, are nothing for the device.
inline support supports_sorting(const sort_problem& p, const device_info& device) {
    for (const dtype t : {p.values.type, dtype::i64})
        if (!device.supports(t)) return support::no({"the device has no ", to_string(t)});
    if (p.length > 0x7fffffff) return support::no("a row has 2^31 elements or more");
    return supports_index(sort_plan(p).wide, device);
}
}  // namespace detail

struct sort_rows {
    using problem_type = sort_problem;
    static constexpr std::string_view name = "sort/rows";
    static constexpr bool portable = true;

    static support supports(const sort_problem& p, const device_info& device) {
        if (support s = detail::supports_sorting(p, device); !s.yes) return s;
        const detail::sort_plan plan(p);
        double passes = 1;
        for (std::int64_t run = plan.held; run < p.length; run *= 2) ++passes;
        const double count = static_cast<double>(element_count(p.outer) * p.length);
        return support::in(passes * seconds_to_move(device, 32 * count, 0.3, count, 16));
    }
    static launch make(const sort_problem& p, const device_info& device) {
        return detail::sort_plan(p).sort_blocks(device);
    }
    static array_list<launch> make_all(const sort_problem& p, const device_info& device) {
        const detail::sort_plan plan(p);
        array_list<launch> list{plan.sort_blocks(device)};
        int half = 0;
        for (std::int64_t run = plan.held; run < p.length; run *= 2, half = 1 - half)
            list.push_back(plan.merge(run, half, device));
        return list;
    }
    static std::int64_t scratch(const sort_problem& p, const device_info&) {
        return detail::sort_plan(p).scratch();
    }
};

static_assert(kernel_type<sort_rows>);

}}  // namespace pumice::PUMICE_ABI
