// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Products of few sums (shaders/split_k.slang): too few tiles to fill a device, so each sum is cut
// along k.
#pragma once

#include <pumice/kernels/tile.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// The rows that an invocation has at most: with them it reads the right factor once.
inline constexpr std::int64_t few_rows = 8;

/// How a product of few sums is cut into workgroups.
struct split_k_shape {
    reading left, right;
    int rows = 1, together = 1, lines = 8, slices = 16;  // as in the shader
    std::int64_t down = 0, across = 0, groups = 0;  // workgroups: along m, along n, of all batches
};

/// `along_k` is what a right factor that is no plain matrix says of its chunks.
inline split_k_shape split_k_shape_of(const product& p, const device_info& device,
                                      std::optional<bool> along_k = {}) {
    constexpr std::int64_t shared = 16 << 10;
    split_k_shape f;
    f.left = reading_of(p.left, p.batch, p.m, p.depth, 4);
    if (!f.left.chunk_along_k()) f.left = {reading::elements_along_rows};
    if (!along_k) f.right = reading_of(p.right, p.batch, p.n, p.depth, 4);
    const bool narrow = along_k.value_or(f.right.chunk_along_k());
    const int invocations =
        static_cast<int>(std::min<std::int64_t>(256, device.max_workgroup_invocations)) / 128 * 128;
    f.rows = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::min(p.m, few_rows))));
    // Lines of 128 bytes along rows, of 512 along k, unless that leaves too few workgroups; and no
    // invocation without a part of k.
    f.lines = !narrow && p.n * element_count(p.batch) >= 128 * busy_groups ? 32 : 8;
    while (f.lines < 64 && std::int64_t{invocations} / f.lines * 4 >= 2 * p.k) f.lines *= 2;
    f.slices = invocations / f.lines;
    const int columns = f.lines * (narrow ? 1 : 4);
    const std::int64_t batches = element_count(p.batch);
    f.across = (p.n + columns - 1) / columns;
    const auto down = [&] { return (p.m + f.rows - 1) / f.rows; };
    // A right factor that caches hold may be read again, where that makes work for an idle device.
    const std::int64_t cached =
        (1 << 18) / std::max<std::int64_t>(batches, 1) / std::max<std::int64_t>(p.k, 1);
    const bool idle = device.type != device_type::cpu && p.n <= cached;
    while (idle && f.rows > 1 && 2 * down() * f.across * batches <= busy_groups) f.rows /= 2;
    f.down = down();
    f.groups = f.down * f.across * batches;
    f.together = f.rows;
    while (f.together > 1 && f.together * f.slices * columns * size_of(p.sum) > shared)
        f.together /= 2;
    return f;
}

inline launch split_k_launch(const product& p, const device_info& device, bool wide,
                             const special_loader* right = nullptr) {
    const split_k_shape f =
        split_k_shape_of(p, device, right ? std::optional(right->along_k) : std::nullopt);
    const int batch = p.batch.rank(), columns = p.columns.rank(), depth = p.depth.rank();
    const shape result = p.batch + p.m + p.columns;
    const std::string sum(slang_name(p.sum)), chunk = cat({"Plain<", sum, ">"});
    launch l("split_k", "split_k",
             {index_type(wide), batch, columns, flat_store(p.epilogue, result),
              emitted_name(p.epilogue.body->view()), sum,
              loader_type(p.left, f.left, chunk, {}, wide, batch, depth),
              right ? right->type : loader_type(p.right, f.right, chunk, {}, wide, batch, depth),
              f.rows, f.together, f.lines, f.slices},
             {&p.epilogue, &p.left, &p.right});
    if (f.groups > 0xffffffffLL)
        fail(errc::size_overflow, "kernels", {"the product has ", f.groups, " workgroups"});
    const std::uint32_t width = spread(l, f.groups, device);
    block_writer w(l, wide);
    write_program(w, p.left, p.batch + p.m + p.depth, depth);
    if (right) right->write(w);
    else write_program(w, p.right, p.batch + p.n + p.depth, depth);
    write_program(w, p.epilogue, result, columns);
    w.row(p.batch, batch);
    for (const std::int64_t v : {p.m, p.n, p.k}) w.index(v);
    for (const std::int64_t v : {f.down, f.across, f.groups, std::int64_t{width}})
        w.integer(static_cast<std::int32_t>(v));
    w.align(8);
    return l;
}

/// The answer of a kernel of few sums, given those of its rivals: half the cost of tiles. Half
/// types stay with cooperative matrices, so that a product has one precision at any size.
inline support supports_split_k(const product& p, std::optional<bool> along_k, const support& tiled,
                                const support& matrices, const device_info& device) {
    if (!tiled.yes) return tiled;
    if (device.max_workgroup_invocations < 128)
        return support::no("needs workgroups of 128 invocations");
    support s;
    s.cost = tiled.cost / 2;
    if (along_k || p.m > few_rows) {
        // A tile takes k / 16 turns, a workgroup here k / 128; more of these wait for each other
        // (on an H200).
        const std::int64_t groups = split_k_shape_of(p, device, along_k).groups,
                           k = std::min<std::int64_t>(p.k, 1 << 30),
                           most = busy_groups * (48 + k) / (48 + k / 7);
        if (groups > most)
            return support::no({groups, " workgroups; past ", most, " of them tiles do less"});
        if (device.type == device_type::cpu) s.cost = 2 * tiled.cost;  // none of it would be idle
    }
    if (matrices.yes) s.cost = std::max(s.cost, 1.5 * matrices.cost);
    return s;
}

}}}  // namespace pumice::PUMICE_ABI::detail
