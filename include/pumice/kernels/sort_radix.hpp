// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The sorting kernels that go by the bits of keys: of rows that a workgroup holds, and of any
// length, in passes of eight bits (shaders/sort_radix.slang).
#pragma once

#include <pumice/kernels/sort.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// Invocations of a workgroup and elements of each.
struct radix_tile {
    int threads, values;
    std::int64_t held() const { return std::int64_t{threads} * values; }
    /// Bytes of shared memory, as in the shader.
    std::int64_t shared() const {
        return 4 * std::max(held() + std::max<std::int64_t>(held() / 32, 256),
                            std::int64_t{threads} * 41 / 4);
    }
};
inline constexpr radix_tile radix_tiles[] = {{128, 4}, {256, 4}, {256, 8}, {256, 16}, {512, 16}};

/// Those tiles that hold `least` elements at the fewest and the device has room for, each with what
/// `seconds` expects of it; no where there is none, and why.
template <class Seconds>
support radix_ways(std::int64_t least, const device_info& device, Seconds&& seconds) {
    support s;
    support no = support::no({"no workgroup holds a row of ", least, ", the most is ",
                              std::end(radix_tiles)[-1].held()});
    for (const radix_tile& t : radix_tiles) {
        if (t.held() < least) continue;
        if (t.threads > device.max_workgroup_invocations ||
            t.threads > device.max_workgroup_size[0])
            no = support::no({"a workgroup has no ", t.threads, " invocations on the device"});
        else if (t.shared() > device.shared_memory)
            no = support::no({"the device has less shared memory than ", t.shared(), " bytes"});
        else s.ways.push_back({{t.threads, t.values}, seconds(t)});
    }
    return s.ways.empty() ? no : s;
}

struct radix_plan : sort_plan {
    radix_tile tile;
    std::int64_t tiles = 0;              // of a row
    int first = 0, bits = 32, bias = 0;  // of a key: what orders values of the type
    std::int64_t passes = 0;             // over a row of several tiles

    radix_plan(const sort_problem& asked, const radix_tile& t) : sort_plan(asked), tile(t) {
        tiles = std::max<std::int64_t>(1, (p.length + t.held() - 1) / t.held());
        const dtype type = p.values.type;
        bits = info(type).bits;
        // As floats, halves and smaller ones have no lower bits; small integers stand in 32 bits.
        if (type == dtype::boolean) {
            bits = 1;
        } else if (is_floating(type) && bits < 32) {
            first = type == dtype::f16       ? 13
                    : type == dtype::bf16    ? 16
                    : type == dtype::f8_e4m3 ? 20
                    : type == dtype::f8_e5m2 ? 21
                                             : 0;
            bits = 32 - first;
        } else if (info(type).kind == kind::signed_integer && bits < 32) {
            bias = 1 << (bits - 1);
        }
        passes = (bits + 7) / 8;
    }
    four_parameters digits() const {
        return {{{"uint bias", bias},
                 {"uint first", first},
                 {"uint bits", bits},
                 {"uint turned", p.descending ? -1 : 0}}};
    }

    // Scratch: keys twice, places twice, counts of each tile, their sums.
    block::address keys(int half) const { return {-2, half * count() * key_bytes()}; }
    block::address places(int half) const {
        return {-2, 2 * count() * key_bytes() + half * count() * 4};
    }
    block::address counts() const { return {-2, places(2).byte_offset}; }
    block::address totals() const { return {-2, counts().byte_offset + rows * tiles * 1024}; }
    std::int64_t scratch() const { return totals().byte_offset + rows * 1024; }
    void touches(launch& l, std::int64_t begin, std::int64_t end, bool write) const {
        l.accesses.push_back({-2, begin, end, write});
    }
    void touches_half(launch& l, int half, bool write) const {
        touches(l, keys(half).byte_offset, keys(half + 1).byte_offset, write);
        touches(l, places(half).byte_offset, places(half + 1).byte_offset, write);
    }

    launch whole(const device_info& device) const {
        launch l("sort_radix", "whole",
                 {info(p.values.type).slang, key_type(), index_type(wide), outer_rank, tile.threads,
                  tile.values},
                 {});
        const std::uint32_t width = spread(l, rows, device);
        l.accesses = {range_of(p.values, all, false), range_of(p.output, written, true)};
        write_block(l, wide, "WholeParams",
                    {{"T.Storage* values", block::address{p.values.buffer}},
                     {"int64_t* output", block::address{p.output.buffer}},
                     {"Extents<I, R> outer", block::extents{p.outer}},
                     {"Lines<I, R> read", "Lines", line(p.values).row},
                     {"Lines<I, R> write", "Lines", line(p.output).row},
                     {"I rows", rows},
                     {"uint length", p.length},
                     {"uint first", p.first},
                     {"Digits digits", "Digits", digits().row},
                     {"uint width", width}});
        return l;
    }

    /// Passes behind the first are the same for all types whose keys are.
    std::string_view read_type(std::int64_t pass) const {
        return info(pass == 0 ? p.values.type : key_bytes() == 8 ? dtype::u64 : dtype::u32).slang;
    }
    /// The first pass reads the values, the others keys and places of one half of the scratch.
    void reads(launch& l, std::int64_t pass, bool with_places) const {
        const int half = static_cast<int>((pass + 1) % 2);
        if (pass == 0) l.accesses.push_back(range_of(p.values, all, false));
        else if (with_places) touches_half(l, half, false);
        else touches(l, keys(half).byte_offset, keys(half + 1).byte_offset, false);
    }
    launch count_tiles(std::int64_t pass, const device_info& device) const {
        launch l("sort_radix", "count",
                 {read_type(pass), key_type(), index_type(wide), outer_rank, tile.threads,
                  tile.values, pass == 0 ? 1 : 0},
                 {});
        const std::uint32_t width = spread(l, rows * tiles, device);
        reads(l, pass, false);
        touches(l, counts().byte_offset, totals().byte_offset, true);
        write_block(l, wide, "CountParams",
                    {{"T.Storage* values", block::address{p.values.buffer}},
                     {"K* keys", keys(static_cast<int>((pass + 1) % 2))},
                     {"uint* counts", counts()},
                     {"Extents<I, R> outer", block::extents{p.outer}},
                     {"Lines<I, R> read", "Lines", line(p.values).row},
                     {"I groups", rows * tiles},
                     {"uint tiles", tiles},
                     {"uint length", p.length},
                     {"Digits digits", "Digits", digits().row},
                     {"uint shift", 8 * pass},
                     {"uint width", width}});
        return l;
    }
    launch sum_counts(const device_info& device) const {
        const int lanes = tiles > 32 ? 32 : 1;
        launch l("sort_radix", "sums", {index_type(wide), lanes}, {});
        const std::uint32_t width = spread(l, rows * lanes, device);
        touches(l, counts().byte_offset, scratch(), true);
        write_block(l, wide, "SumsParams",
                    {{"uint* counts", counts()},
                     {"uint* totals", totals()},
                     {"I groups", rows * lanes},
                     {"uint tiles", tiles},
                     {"uint width", width}});
        return l;
    }
    launch move(std::int64_t pass, const device_info& device) const {
        const bool last = pass == passes - 1;
        const int from = static_cast<int>((pass + 1) % 2), to = 1 - from;
        launch l("sort_radix", "moved",
                 {read_type(pass), key_type(), index_type(wide), outer_rank, tile.threads,
                  tile.values, pass == 0 ? 1 : 0, last ? 1 : 0},
                 {});
        const std::uint32_t width = spread(l, rows * tiles, device);
        reads(l, pass, true);
        touches(l, counts().byte_offset, scratch(), false);
        if (last) l.accesses.push_back(range_of(p.output, written, true));
        else touches_half(l, to, true);
        write_block(l, wide, "MoveParams",
                    {{"T.Storage* values", block::address{p.values.buffer}},
                     {"int64_t* output", block::address{p.output.buffer}},
                     {"K* keys", keys(from)},
                     {"uint* places", places(from)},
                     {"K* keysTo", keys(to)},
                     {"uint* placesTo", places(to)},
                     {"uint* counts", counts()},
                     {"uint* totals", totals()},
                     {"Extents<I, R> outer", block::extents{p.outer}},
                     {"Lines<I, R> read", "Lines", line(p.values).row},
                     {"Lines<I, R> write", "Lines", line(p.output).row},
                     {"I groups", rows * tiles},
                     {"uint tiles", tiles},
                     {"uint length", p.length},
                     {"uint first", p.first},
                     {"Digits digits", "Digits", digits().row},
                     {"uint shift", 8 * pass},
                     {"uint width", width}});
        return l;
    }
};

}  // namespace detail

/// Rows that a workgroup holds at once.
struct sort_radix_rows {
    using problem_type = sort_problem;
    static constexpr std::string_view name = "sort/radix_rows";
    static constexpr bool portable = false;

    static support supports(const sort_problem& p, const device_info& device) {
        if (support s = detail::supports_sorting(p, device); !s.yes) return s;
        return detail::radix_ways(p.length, device, [&](const detail::radix_tile& t) {
            const detail::radix_plan plan(p, t);
            const double elements = static_cast<double>(plan.rows * t.held()),
                         digits = (plan.bits + 3) / 4;
            // A step over four bits takes as long as memory takes for so many bytes of an element.
            return seconds_to_move(device, elements * (12 + 10 * digits), 0.8,
                                   static_cast<double>(plan.rows * t.threads));
        });
    }
    static launch make(const sort_problem& p, const device_info& device, const configuration& way) {
        return detail::radix_plan(p, {way.sizes[0], way.sizes[1]}).whole(device);
    }
};

/// Rows of any length, in passes of three launches each.
struct sort_radix {
    using problem_type = sort_problem;
    static constexpr std::string_view name = "sort/radix";
    static constexpr bool portable = false;

    static support supports(const sort_problem& p, const device_info& device) {
        if (support s = detail::supports_sorting(p, device); !s.yes) return s;
        return detail::radix_ways(4096, device, [&](const detail::radix_tile& t) {
            const detail::radix_plan plan(p, t);
            const double elements = static_cast<double>(plan.rows * plan.tiles * t.held()),
                         passes = static_cast<double>(plan.passes), key = plan.key_bytes();
            const double bytes = elements * passes * (3 * key + 8 + 24) +
                                 passes * static_cast<double>(plan.rows * plan.tiles) * 4096;
            return seconds_to_move(device, bytes, t.held() < 8192 ? 0.5 : 0.6,
                                   elements / t.values) +
                   (3 * passes - 1) * (device.rates().launch + 2 * device.rates().latency);
        });
    }
    static launch make(const sort_problem& p, const device_info& device, const configuration& way) {
        return make_all(p, device, way)[0];
    }
    static array_list<launch> make_all(const sort_problem& p, const device_info& device,
                                       const configuration& way) {
        const detail::radix_plan plan(p, {way.sizes[0], way.sizes[1]});
        array_list<launch> list;
        for (std::int64_t pass = 0; pass < plan.passes; ++pass) {
            list.push_back(plan.count_tiles(pass, device));
            list.push_back(plan.sum_counts(device));
            list.push_back(plan.move(pass, device));
        }
        return list;
    }
    static std::int64_t scratch(const sort_problem& p, const device_info&,
                                const configuration& way) {
        return detail::radix_plan(p, {way.sizes[0], way.sizes[1]}).scratch();
    }
};

static_assert(kernel_type<sort_radix_rows> && kernel_type<sort_radix>);

}}  // namespace pumice::PUMICE_ABI
