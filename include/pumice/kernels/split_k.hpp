// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Products of few sums (shaders/split_k.slang): too few tiles to fill a device, so each sum is cut
// along k.
#pragma once

#include <pumice/kernels/staged.hpp>

#include <algorithm>
#include <cmath>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// The rows that an invocation has at most: with them it reads the right factor once.
inline constexpr std::int64_t few_rows = 8;

/// How a product of few sums is cut into workgroups.
struct split_k_shape {
    reading left, right;
    int lanes = 4;               // values in a chunk of a factor
    std::string_view held = {};  // Half or Bfloat, where chunks are eight of them as they lie
    int rows = 1, together = 1, lines = 8, slices = 16, ahead = 1, wide = 1;  // as in the shader
    std::int64_t down = 0, across = 0, blocks = 0;  // of sums: along m, along n, of all batches
    int parts = 1;                                  // of k, a workgroup each for every block
    std::int64_t length = 0;                        // of a part

    int columns() const noexcept { return lines * wide; }
    std::int64_t groups() const noexcept { return blocks * parts; }
    /// Bytes of what the parts leave for each other.
    std::int64_t scratch(arithmetic sum) const {
        return parts > 1 ? groups() * rows * columns() * size_of(sum) : 0;
    }
};

/// How the factors are read, whatever the cut: by 16 bytes, where their memory needs no program.
inline split_k_shape split_k_readings(const product& p) {
    split_k_shape f;
    const dtype type = p.left.type();
    if (!p.gathers() && type == p.right.type() && (type == dtype::f16 || type == dtype::bf16)) {
        f.left = packed_reading(p.left, p.batch, p.m, p.depth, type);
        f.right = packed_reading(p.right, p.batch, p.n, p.depth, type);
        if (f.left.bare == reading::aligned && f.left.chunk_along_k() &&
            f.right.bare == reading::aligned) {
            f.lanes = 8;
            f.held = half_name(type);
            return f;
        }
    }
    f.left = reading_of(p.left, p.batch, p.m, p.depth, 4);
    if (!f.left.chunk_along_k()) f.left = {reading::elements_along_rows};
    if (p.gathers()) f.right = {reading::vectors_along_k};
    else f.right = reading_of(p.right, p.batch, p.n, p.depth, 4);
    // Neighbouring invocations go the way that a chunk goes, so the elements that lie nearer are
    // its own; in tiles they are those of neighbours.
    if (f.right.way == reading::elements_along_k) f.right = {reading::elements_along_rows};
    else if (f.right.way == reading::elements_along_rows) f.right = {reading::elements_along_k};
    return f;
}

/// Those of a chunk where the right factor lies along its rows. Where it lies along k, one, or four
/// if there are rows enough that what is read of the left factor should serve several columns.
inline int columns_of_invocation(const product& p, const split_k_shape& readings, int rows) {
    if (!readings.right.chunk_along_k()) return readings.lanes;
    return rows >= 4 && !p.gathers() ? 4 : 1;
}

/// Factors that are read so, with so many rows and lines.
inline split_k_shape split_k_shape_of(const product& p, split_k_shape f, int rows, int lines,
                                      int invocations, int parts) {
    constexpr std::int64_t shared = 16 << 10;
    f.rows = f.together = rows;
    f.lines = lines;
    f.slices = invocations / lines;
    f.wide = columns_of_invocation(p, f, rows);
    // Memory answers late. Where chunks run along rows an invocation asks for as many as they have
    // values anyway.
    const bool narrow = f.lanes * info(p.right.type()).bits < 128;
    if (p.gathers()) f.ahead = 1;
    else if (!f.right.chunk_along_k()) f.ahead = narrow || f.lanes == 8 ? 1 : 2;
    else if (f.wide == 1) f.ahead = narrow ? 8 : 4;
    else f.ahead = 2;  // more want more registers than there are
    while (f.ahead > 1 && p.k < std::int64_t{2} * f.lanes * f.slices * f.ahead * parts)
        f.ahead /= 2;
    const std::int64_t step = std::int64_t{f.lanes} * f.slices * f.ahead;
    f.length = (p.k + parts * step - 1) / (parts * step) * step;
    f.parts = static_cast<int>(p.k == 0 ? 1 : (p.k + f.length - 1) / f.length);
    f.across = (p.n + f.columns() - 1) / f.columns();
    f.down = (p.m + rows - 1) / rows;
    f.blocks = f.down * f.across * element_count(p.batch);
    while (f.together > 1 && f.together * f.slices * f.columns() * size_of(p.sum) > shared)
        f.together /= 2;
    return f;
}

/// The same, of a configuration: rows x lines x slices, and in how many parts of k.
inline split_k_shape split_k_shape_of(const product& p, const split_k_shape& readings,
                                      const configuration& way) {
    const auto [rows, lines, slices, parts] = way.sizes;
    return split_k_shape_of(p, readings, rows, lines, lines * slices, std::max(parts, 1));
}

/// Blocks of sums that may be cut along k, each of which counts its parts.
inline constexpr int most_blocks_in_parts = 64;

inline std::int64_t split_k_scratch(const product& p, const configuration& way) {
    return split_k_shape_of(p, split_k_readings(p), way).scratch(p.sum);
}

/// The 16 bits that a fused factor is rounded to, as for cooperative matrices, since a product has
/// one precision at any size; empty where there is none, or it is not rounded.
inline std::string_view rounded_factor(const product& p, const device_info& device) {
    for (const fused* f : {&p.left, &p.right})
        if (f->body->code.size() > 1 && has_fragments(f->type(), device))
            return half_name(fragment_type(f->type()));
    return {};
}

inline launch split_k_launch(const product& p, const device_info& device, bool wide,
                             const configuration& way, const special_loader* right = nullptr) {
    const split_k_shape f = split_k_shape_of(p, split_k_readings(p), way);
    const int batch = p.batch.rank(), columns = p.columns.rank(), depth = p.depth.rank();
    const shape result = p.batch + p.m + p.columns;
    const std::string sum(slang_name(p.sum));
    const std::string_view half = rounded_factor(p, device);
    const std::string chunk = !f.held.empty() ? cat({"Packed<", f.held, ">"})
                              : half.empty()  ? cat({"Plain<", sum, ">"})
                                              : cat({"Rounded<", half, ">"});
    const int counters = f.parts > 1 ? most_blocks_in_parts : 1;
    // A model has convolutions of many shapes: one kernel serves every number of slices.
    const bool any_slices = p.gathers();
    launch l("split_k", "split_k",
             {index_type(wide), batch, columns, flat_store(p.epilogue, result),
              emitted_name(p.epilogue.body->view()), sum, chunk,
              loader_type(p.left, f.left, chunk, p.left.type(), wide, batch, depth),
              right ? right->type
                    : loader_type(p.right, f.right, chunk, p.right.type(), wide, batch, depth),
              f.rows, f.together, f.lines * f.slices, any_slices ? 0 : f.slices, f.ahead, f.wide,
              counters},
             {&p.epilogue, &p.left, &p.right});
    l.threads = static_cast<int>(f.lines * f.slices);
    const std::uint32_t width = spread(l, f.groups(), device);
    parameter_block block(l, wide, "SplitKParams");
    add_loader(block, "A.Params left", l, p.left, f.left, p.batch + p.m + p.depth, depth);
    if (right) right->add(block, "B.Params right", p, right->of);
    else add_loader(block, "B.Params right", l, p.right, f.right, p.batch + p.n + p.depth, depth);
    add_program(block, "E writer", "WriterParams", p.epilogue, result, columns);
    block.add({{"Extents<I, R> batch", block::extents{p.batch}},
               {"I m", p.m},
               {"I n", p.n},
               {"I k", p.k},
               {"uint down", f.down},
               {"uint across", f.across},
               {"uint groups", f.groups()},
               {"uint width", width},
               {"uint parts", f.parts},
               {"I length", f.parts > 1 ? f.length : 0},
               {"uint slices", f.slices},
               {"S* sums", block::address{f.parts > 1 ? -2 : -1}},
               {"uint arrived[T]", block::axes{{}, counters}}});
    if (f.parts > 1) l.accesses.push_back({-2, 0, f.scratch(p.sum), true});
    return l;
}

/// Expected of a product cut so, which moves `bytes`, and whose factors have so many. An
/// invocation waits for a chunk of k at a time, of all of its rows, for less where it is narrow;
/// its sums are as those of a tile that reaches half of the device's rate; then slices are joined,
/// eight at a time and row by row. What is read again comes from caches, three times as
/// fast. Beginning and joining are paid by each round of workgroups that the device takes at a
/// time, fewer where an invocation has many sums in registers.
inline double split_k_seconds(const product& p, double bytes, double left, double right,
                              const split_k_shape& f, const device_rates& rates) {
    const double groups = static_cast<double>(f.groups()), length = static_cast<double>(f.length),
                 own_sums = f.rows * f.wide, together = std::min(1024.0, 12288 / own_sums),
                 rounds = std::max(1.0, groups * f.lines * f.slices / (together * rates.groups)),
                 terms = static_cast<double>(std::min(f.length, p.k)),
                 steps = length / (f.lanes * f.slices * f.ahead) * rounds,
                 sums = (2.0 * f.rows * f.columns() + f.rows * prologue_work(p.left, 4) +
                         f.columns() * prologue_work(p.right, 4)) *
                        terms * std::max(groups, rates.groups) *
                        (p.gathers() ? 4 + 26.0 / f.rows : 1),
                 rate = 0.5 * rates.arithmetic * 4 / size_of(p.sum),
                 again = static_cast<double>(f.down - 1) * right +
                         static_cast<double>(f.across - 1) * left;
    // Neighbouring invocations read so many bytes that lie together; memory takes four more.
    const double chunk = f.lanes * info(p.right.type()).bits / 8.0,
                 run = (f.right.chunk_along_k() ? f.slices : f.lines) * chunk,
                 moved = std::hypot(bytes, again / 3) * (p.gathers() ? 1 : 1 + 4 / run);
    // Parts wait for what they leave, are counted, and the last of them asks for what was left,
    // four sums an invocation at a time.
    const double joining =
        f.parts > 1 ? 2.5 + 0.0625 * f.parts * f.rows * f.columns() / (f.lines * f.slices) : 0;
    return rates.launch +
           rounds * (1.5 + joining + std::ceil(std::log2(f.slices) / 3) * (8 + f.rows) / 12) *
               rates.latency +
           std::hypot(sums / rate, 0.85 * steps * rates.latency * chunk / 16,
                      moved / rates.bandwidth);
}

/// In cuts by plain arithmetic. A cut is rows x lines x slices x parts: an invocation has so many
/// rows, and a workgroup so many lines of columns, each in so many slices of its part of k.
/// Pre: supports_sum.
inline support supports_split_k(const product& p, const device_info& device) {
    if (p.gathers() && !rounded_factor(p, device).empty())
        return support::no("cooperative matrices round a fused factor, which this would not");
    const std::int64_t most = device.max_workgroup_invocations;
    if (most < 128) return support::no("needs workgroups of 128 invocations");
    const device_rates rates = device.rates();
    const split_k_shape readings = split_k_readings(p);
    const double bytes = bytes_of(p), left_bytes = bytes_of(p.left, p.batch + p.m + p.depth),
                 right_bytes = bytes_of(p.right, right_domain(p));
    support s;
    const auto least = static_cast<int>(
        std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(p.m, 1, few_rows))));
    const auto add = [&](int rows, int lines, int invocations) {
        if (readings.right.chunk_along_k()) lines /= columns_of_invocation(p, readings, rows);
        if (lines == 0) return;
        for (int parts = 1, before = 0; parts <= 128; parts *= 2) {
            const split_k_shape f = split_k_shape_of(p, readings, rows, lines, invocations, parts);
            if (f.parts == before || f.groups() > 0x7fffffffLL) return;
            if (rows > 1 && f.columns() < 4) return;  // sums are written by four of a row
            if (parts > 1 && (f.blocks > most_blocks_in_parts ||
                              static_cast<double>(f.groups()) > 2 * rates.groups))
                return;
            s.ways.push_back({{rows, lines, f.slices, parts == 1 ? 0 : parts},
                              split_k_seconds(p, bytes, left_bytes, right_bytes, f, rates)});
            before = f.parts;
        }
    };
    for (int rows = 1; rows <= least; rows *= 2)
        for (const int lines : {2, 4, 8, 16, 32, 64}) {
            // Eight rows of four columns each, of f32 along k, want more registers than there are.
            if (rows == 8 && readings.right.chunk_along_k() && readings.lanes == 4 && !p.gathers())
                continue;
            const bool along_k = readings.right.chunk_along_k(), wide = most >= 512,
                       gpu = device.type != device_type::cpu;
            // One row keeps a device busy so without parts that are joined.
            if (rows == 1 && lines == (along_k ? 8 : 4) && wide && gpu) add(rows, lines, 512);
            // Fewer than eight only where there are no more columns.
            if (lines < 8 && p.n > lines * (along_k ? 1 : readings.lanes)) continue;
            add(rows, lines, most < 256 ? 128 : 256);
            if (!gpu) continue;
            if (rows == 1 && lines == 8 && readings.right.way != reading::vectors_along_k &&
                most >= 1024)
                add(rows, lines, 1024);
            // Some rows of many columns, which share what is read of the left factor.
            if (rows == 4 && lines == 64 && along_k && wide) add(rows, lines, 512);
        }
    if (s.ways.empty()) return support::no("the product has more than 2^31 workgroups");
    return s;
}

}}}  // namespace pumice::PUMICE_ABI::detail
