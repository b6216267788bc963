// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Factors of a product that are copied first, into lines of aligned chunks and up to whole tiles
// (shaders/pack.slang): where rows begin anywhere, tiles would shift them together again and again.
#pragma once

#include <pumice/kernels/staged.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Invocations that copy (batches, lines, chunks); across: in blocks of 32 lines of 8 chunks.
constexpr std::int64_t copying(std::int64_t batches, std::int64_t lines, std::int64_t chunks,
                               bool across) noexcept {
    return batches * (across ? (lines + 31) / 32 * ((chunks + 7) / 8) * 256 : lines * chunks);
}

/// A factor as it is copied, in elements of fragments: (batch, line, chunk) in the launches'
/// scratch.
struct packed_factor {
    const fused* from;
    dtype held;
    reading way;
    shape batch;
    std::int64_t rows, depth, lines, length;  // lines of so many elements, with their padding
    std::int64_t offset;                      // elements before it

    packed_factor(const product& p, const fused& f, std::int64_t rows_of, std::int64_t behind)
        : from(&f), held(fragment_type(f.type())),
          way(packed_reading(f, p.batch, rows_of, p.depth, held)), batch(p.batch), rows(rows_of),
          depth(p.k), lines(product::up(way.chunk_along_k() ? rows : depth)),
          length(product::up(way.chunk_along_k() ? depth : rows)), offset(behind) {}

    /// Elements up to its end.
    std::int64_t end() const { return offset + element_count(batch) * lines * length; }
    /// What reads the copy, over batch ++ {row, k}.
    fused copy() const {
        auto read = std::make_shared<program>();
        read->outputs.push_back(read->push({instruction::code::leaf, held}));
        fused f;
        f.body = std::move(read);
        operand o{-2, held, offset, row_major_strides(batch + lines + length)};
        if (!way.chunk_along_k()) std::swap(o.steps[batch.rank()], o.steps[batch.rank() + 1]);
        f.leaves.push_back(o);
        return f;
    }
    double seconds(const device_info& device) const {
        const double bytes = bytes_of(*from, batch + rows + depth),
                     stored = 2.0 * static_cast<double>(end() - offset);
        return seconds_to_move(device, bytes + stored, 0.8, static_cast<double>(end() - offset) / 8,
                               32);
    }
    launch make(const device_info& device, bool wide) const {
        const std::string chunk = cat({"Packed<", half_name(held), ">"});
        launch l("pack", "pack",
                 {index_type(wide), chunk, batch.rank(),
                  loader_type(*from, way, chunk, held, wide, batch.rank(), 1)},
                 {});
        if (!way.bare) l.programs.push_back(from->body);
        const bool across = !way.bare && way.way >= reading::elements_along_k;
        const std::int64_t count = copying(element_count(batch), lines, length / 8, across);
        const std::uint32_t width = spread(l, (count + 255) / 256, device);
        parameter_block block(l, wide, "PackParams");
        add_loader(block, "A.Params factor", l, *from, way, batch + rows + depth, 1);
        block.add({{"vector<W.Word, 4>* to", block::address{-2, offset * 2}},
                   {"Extents<I, R> batch", block::extents{batch}},
                   {"I rows", rows},
                   {"I depth", depth},
                   {"I lines", lines},
                   {"I chunks", length / 8},
                   {"I count", count},
                   {"uint width", width}});
        l.accesses.push_back({-2, offset * 2, end() * 2, true});
        return l;
    }
};

/// A product of factors that are copied first. Pre: its depth is one axis, its factors are of one
/// type of fragments.
struct packed_product {
    packed_factor left, right;
    product of;  // the copies

    explicit packed_product(const product& p)
        : left(p, p.left, p.m, 0), right(p, p.right, p.n, left.end()), of(p) {
        of.left = left.copy();
        of.right = right.copy();
        of.k = product::up(p.k);
        of.depth = {of.k};
        of.padded = true;
    }
    std::int64_t bytes() const { return right.end() * 2; }
};

}}}  // namespace pumice::PUMICE_ABI::detail
