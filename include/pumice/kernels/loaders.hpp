// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How kernels of products read their factors (Matrix, Bare and Ragged of shaders/tile_load.slang).
#pragma once

#include <pumice/kernels/parameter_block.hpp>
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
    enum : int { no, aligned, ragged } bare = no;  // elements that need no program
    int whole = 0;  // 1: all rows of every tile are there, and 2: its whole depth is
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

/// What fragments hold of values of a type: f16 holds every float of 8 bits.
constexpr dtype fragment_type(dtype type) noexcept {
    return type == dtype::f8_e4m3 || type == dtype::f8_e5m2 ? dtype::f16 : type;
}

/// What Slang calls a 16-bit element of fragments (IHalf of shaders/tile.slang).
constexpr std::string_view half_name(dtype type) noexcept {
    return type == dtype::f16 ? "Half" : "Bfloat";
}

/// What Slang calls 16 bytes of f32, or of a 16-bit element of fragments.
inline std::string chunk_name(dtype held) {
    return info(held).bits == 16 ? cat({"Packed<", half_name(held), ">"}) : "Plain<float>";
}

/// The memory that a factor's program hands on: as it lies, or integers of 8 bits that are only
/// widened. Null for any other program.
inline const operand* copied_leaf(const fused& f) {
    const auto& code = f.body->code;
    const operand* o =
        !code.empty() && code.size() <= 2 && f.leaves.size() == 1 ? &f.leaves[0] : nullptr;
    if (!o || !o->in_memory() || o->format || !o->map.empty()) return nullptr;
    const bool widens = code.size() == 2 && code[1].what == instruction::code::cast &&
                        (o->type == dtype::i8 || o->type == dtype::u8) &&
                        info(code[1].type).bits >= 32 && !is_floating(code[1].type);
    return code.size() == 1 || widens ? o : nullptr;
}

/// What is multiplied: a factor's type, or that of the integers of 8 bits that it widens last.
inline dtype multiplied_type(const fused& f) {
    const auto& code = f.body->code;
    const instruction& last = code[f.body->outputs[0]];
    if (last.what != instruction::code::cast || is_floating(last.type) || info(last.type).bits < 32)
        return f.type();
    const dtype from = code[last.args[0]].type;
    return from == dtype::i8 || from == dtype::u8 ? from : f.type();
}

/// The best way to read a factor in chunks of 16 bytes of fragments' elements, which a mere copy of
/// memory can skip the program for.
inline reading packed_reading(const fused& f, const shape& batch, std::int64_t rows,
                              const shape& depth, dtype type) {
    const int lanes = 128 / info(type).bits;
    reading way = reading_of(f, batch, rows, depth, lanes);
    const operand* o = copied_leaf(f);
    if (!o || o->type != type || depth.rank() != 1) return way;
    const int row = batch.rank();
    const bool halves = info(type).bits == 16;  // others are not shifted together
    if (way.flat != 1 || way.way > reading::vectors_along_rows) {
        if (halves && o->steps[row + 1] == 1) return {reading::vectors_along_k, 0, reading::ragged};
        if (halves && o->steps[row] == 1) return {reading::vectors_along_rows, 0, reading::ragged};
        return way;
    }
    bool aligned = o->offset % lanes == 0;
    for (int i = 0; i < row; ++i) aligned = aligned && (batch[i] == 1 || o->steps[i] % lanes == 0);
    if (way.way == reading::vectors_along_k)
        aligned = aligned && (rows == 1 || o->steps[row] % lanes == 0);
    else aligned = aligned && (depth[0] == 1 || o->steps[row + 1] % lanes == 0);
    way.bare = aligned ? reading::aligned : halves ? reading::ragged : reading::no;
    return way;
}

/// The same for chunks of four values as sums have them, which a mere copy of memory can skip the
/// program for.
inline reading plain_reading(const fused& f, const shape& batch, std::int64_t rows,
                             const shape& depth) {
    reading way = reading_of(f, batch, rows, depth, 4);
    const operand* o = copied_leaf(f);
    if (way.flat != 1 || way.way > reading::vectors_along_rows || !o || info(o->type).bits < 32 ||
        depth.rank() != 1)
        return way;
    way.bare = reading::aligned;
    return way;
}

inline std::string_view bool_text(bool v) { return v ? "true" : "false"; }

/// The Slang type of a loader for `f` into fragments of what is held.
inline std::string loader_type(const fused& f, const reading& way, const std::string& chunk,
                               dtype held, bool wide, int batch, int depth) {
    const std::string index = index_type(wide);
    std::string type =
        way.bare ? cat({way.bare == reading::ragged ? "Ragged<" : "Bare<",
                        way.bare == reading::ragged ? half_name(held) : std::string_view(chunk),
                        ",", index, ",", batch, ",", bool_text(way.chunk_along_k())})
                 : cat({"Matrix<", emitted_name(f.body->view()), ",", index, ",", chunk, ",", batch,
                        ",", depth, ",", static_cast<int>(way.way), ",", way.flat});
    if (way.bare != reading::ragged) append_text(type, {",", way.whole});
    return type + ">";
}

/// The member `slang`, a MatrixParams or WriterParams: a program over `domain`, whose last `split`
/// axes are one of the product's.
inline void add_program(parameter_block& to, const char* slang, const char* structure,
                        const fused& f, const shape& domain, int split) {
    shape extent;
    for (int i = domain.rank() - split; i < domain.rank(); ++i) extent.push_back(domain[i]);
    to.add({{slang,
             structure,
             {{"P.Args args", block::arguments{f, domain}},
              {"Places<P, I, R + 1 + C> places", block::places{f, domain.rank()}},
              {"Extents<I, C> extent", block::extents{extent}}}}});
}

/// The parameters of the loader that `loader_type` names.
inline void add_loader(parameter_block& to, const char* slang, launch& l, const fused& f,
                       const reading& way, const shape& domain, int depth) {
    if (!way.bare) return add_program(to, slang, "MatrixParams", f, domain, depth);
    const operand& o = f.leaves[0];
    const access touched = range_of(o, domain, false);
    l.accesses.push_back(touched);
    const parameter bare[3] = {{"uint* data", block::address{o.buffer}},
                               {"I base", o.offset},
                               {"I step[R + 2]", block::axes{o.steps, domain.rank()}}};
    if (way.bare == reading::aligned) return to.add({{slang, "BareParams", bare}});
    to.add({{slang,
             "RaggedParams",
             {{"I last", (touched.end - 1) / 16}, {"BareParams<I, R> bare", "BareParams", bare}}}});
}

/// A factor whose rows are windows, and whose chunks lie along k: its Slang type, and the
/// parameters of it.
struct special_loader {
    std::string type;
    const void* of;
    void (*add)(parameter_block& to, const char* slang, const product& p, const void* of);
    bool computes = true;  // the factor's program
};

}}}  // namespace pumice::PUMICE_ABI::detail
