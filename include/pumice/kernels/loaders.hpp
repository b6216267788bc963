// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How kernels of products read their factors (Matrix, Bare and Ragged of shaders/tile_load.slang).
#pragma once

#include <pumice/base/callback.hpp>
#include <pumice/kernels/product.hpp>

#include <bit>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// How a factor is read: see Matrix in shaders/tile_load.slang.
struct reading {
    enum : int {
        vectors_along_k,
        vectors_along_rows,
        elements_along_k,
        elements_along_rows
    } way = elements_along_k;
    std::uint32_t flat = 0;                        // leaves that are contiguous in the vector
    enum : int { no, aligned, ragged } bare = no;  // 16-bit elements that need no program
    constexpr bool chunk_along_k() const noexcept {
        return way == vectors_along_k || way == elements_along_rows;
    }
};

/// The best way to read a factor of `rows` rows in chunks of `lanes` values.
inline reading reading_of(const fused& f, const shape& batch, std::int64_t rows, const shape& depth,
                          int lanes) {
    const int row = batch.rank(), inner = row + depth.rank();
    shape along_k = batch, along_rows = batch;
    along_k.push_back(rows);
    for (std::int64_t d : depth) along_k.push_back(d), along_rows.push_back(d);
    along_rows.push_back(rows);
    fused turned = f;
    for (operand* o : operands_of(turned)) {
        const std::int64_t step = o->steps[row];
        o->steps.erase(row);
        o->steps.push_back(step);
    }
    const auto mask_of = [&](const fused& g, const shape& domain) {
        return domain.back() % lanes == 0 ? vector_mask(g, domain) : std::optional<std::uint32_t>();
    };
    const std::optional<std::uint32_t> k = mask_of(f, along_k), r = mask_of(turned, along_rows);
    if (k && (!r || std::popcount(*k) >= std::popcount(*r))) return {reading::vectors_along_k, *k};
    if (r) return {reading::vectors_along_rows, *r};
    int nearer = 0;  // leaves whose neighbours in k are nearer than those in rows
    for (const operand& o : f.leaves)
        nearer += std::abs(o.steps[inner]) <= std::abs(o.steps[row]) ? 1 : -1;
    return {nearer >= 0 ? reading::elements_along_k : reading::elements_along_rows};
}

/// The same for chunks of eight 16-bit elements, which a mere copy of memory can skip the program
/// for.
inline reading packed_reading(const fused& f, const shape& batch, std::int64_t rows,
                              const shape& depth, dtype type) {
    reading way = reading_of(f, batch, rows, depth, 8);
    const operand* o = f.body->code.size() == 1 && f.leaves.size() == 1 ? &f.leaves[0] : nullptr;
    if (!o || o->buffer < 0 || o->type != type || depth.rank() != 1) return way;
    const int row = batch.rank();
    if (way.flat != 1 || way.way > reading::vectors_along_rows) {
        if (o->steps[row + 1] == 1) return {reading::vectors_along_k, 0, reading::ragged};
        if (o->steps[row] == 1) return {reading::vectors_along_rows, 0, reading::ragged};
        return way;
    }
    bool aligned = o->offset % 8 == 0;
    for (int i = 0; i < row; ++i) aligned = aligned && (batch[i] == 1 || o->steps[i] % 8 == 0);
    if (way.way == reading::vectors_along_k)
        aligned = aligned && (rows == 1 || o->steps[row] % 8 == 0);
    else aligned = aligned && (depth[0] == 1 || o->steps[row + 1] % 8 == 0);
    way.bare = aligned ? reading::aligned : reading::ragged;
    return way;
}

inline std::string_view bool_text(bool v) { return v ? "true" : "false"; }

/// The Slang type of a loader for `f`, and its parameters.
inline std::string loader_type(const fused& f, const reading& way, const std::string& chunk,
                               const std::string& half, bool wide, int batch, int depth) {
    const std::string index = index_type(wide);
    if (way.bare)
        return cat({way.bare == reading::ragged ? "Ragged<" : "Bare<", half, ",", index, ",", batch,
                    ",", bool_text(way.chunk_along_k()), ">"});
    return cat({"Matrix<", emitted_name(f.body->view()), ",", index, ",", chunk, ",", batch, ",",
                depth, ",", static_cast<int>(way.way), ",", way.flat, ">"});
}

/// Args, Places over `domain`, extents of the last `last` axes.
inline void write_program(block_writer& w, const fused& f, const shape& domain, int last) {
    w.args(f, domain);
    w.offsets(f);
    w.strides_of(f, domain.rank());
    for (int i = domain.rank() - last; i < domain.rank(); ++i) w.index(domain[i]);
    w.align(8);
}

inline void write_loader(block_writer& w, launch& l, const fused& f, const reading& way,
                         const shape& domain, int depth) {
    if (!way.bare) return write_program(w, f, domain, depth);
    const operand& o = f.leaves[0];
    l.accesses.push_back(range_of(o, domain, false));
    if (way.bare == reading::ragged) w.index((l.accesses.back().end - 1) / 16);
    w.address(o.buffer, 0);
    w.index(o.offset);
    w.row(o.steps, domain.rank());
    w.align(8);
}

/// A right factor that is not a plain matrix, whose chunks lie along k: its Slang type and its
/// parameters.
struct special_loader {
    std::string type;
    callback<void(block_writer&)> write;
};

}}}  // namespace pumice::PUMICE_ABI::detail
