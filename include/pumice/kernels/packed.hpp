// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Factors of a product that are copied first, into lines of aligned chunks and up to whole tiles
// (shaders/pack.slang): where rows begin anywhere, tiles would shift them together again and again.
#pragma once

#include <pumice/kernels/staged.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Lines of chunks in the launches' scratch, as shaders/pack.slang writes them: (batch, line,
/// chunk).
struct packed_lines {
    dtype held;  // elements of chunks
    shape batch;
    std::int64_t rows, depth;    // of the factor
    std::int64_t lines, length;  // lines of so many elements, with their padding
    std::int64_t offset;         // elements before them

    int lanes() const noexcept { return 128 / info(held).bits; }
    /// Elements up to their end.
    std::int64_t end() const { return offset + element_count(batch) * lines * length; }
    /// Of a copy of so many bytes. Across: what lies together in memory is in different chunks.
    double seconds(const device_info& device, double bytes, bool across) const {
        const auto copied = static_cast<double>(end() - offset);
        bytes += static_cast<double>(byte_count(held, end() - offset));
        return std::hypot(seconds_to_move(device, bytes, 0.8, copied / lanes(), 32),
                          copied * (across ? 20 : 0) / device.rates().arithmetic);
    }
    /// By the loader of that type; `add` writes its parameters.
    template <class Add>
    launch make(const device_info& device, bool wide, const std::string& chunk,
                const std::string& loader, bool across, Add&& add) const {
        launch l("pack", "pack", {index_type(wide), chunk, batch.rank(), loader}, {});
        constexpr std::int64_t group = 256;
        const std::int64_t chunks = length / lanes(),
                           beside = static_cast<std::int64_t>(std::bit_ceil(
                               static_cast<std::uint64_t>(std::clamp<std::int64_t>(chunks, 1, 8)))),
                           high = group / beside,
                           blocks = (lines + high - 1) / high * ((chunks + beside - 1) / beside),
                           count =
                               element_count(batch) * (across ? blocks * group : lines * chunks);
        const std::uint32_t width = spread(l, (count + group - 1) / group, device);
        parameter_block block(l, wide, "PackParams");
        add(block, l);
        block.add({{"vector<W.Word, 4>* to", block::address{-2, byte_count(held, offset)}},
                   {"Extents<I, R> batch", block::extents{batch}},
                   {"I rows", rows},
                   {"I depth", depth},
                   {"I lines", lines},
                   {"I chunks", chunks},
                   {"I count", across ? 0 : count},
                   {"uint beside", beside},
                   {"uint width", width}});
        l.accesses.push_back({-2, byte_count(held, offset), byte_count(held, end()), true});
        return l;
    }
};

/// A factor as it is copied.
struct packed_factor : packed_lines {
    fused from;
    reading way;

    /// In lines along k or along its rows, as it lies, up to whole tiles.
    packed_factor(const product& p, const fused& f, std::int64_t rows_of, std::int64_t behind)
        : packed_lines{fragment_type(f.type()), p.batch, rows_of, p.k, 0, 0, behind}, from(f),
          way(packed_reading(f, p.batch, rows_of, p.depth, held)) {
        lines = product::up(way.chunk_along_k() ? rows : depth);
        length = product::up(way.chunk_along_k() ? depth : rows);
    }
    /// In lines of `length` along k, over any batch ++ {row, k}.
    packed_factor(const fused& f, dtype type, const shape& domain, std::int64_t long_as)
        : packed_lines{type,
                       shape(span(domain).first(domain.size() - 2)),
                       domain[domain.rank() - 2],
                       domain.back(),
                       domain[domain.rank() - 2],
                       long_as,
                       0},
          from(f), way(packed_reading(f, batch, rows, {depth}, held)) {
        if (!way.chunk_along_k()) way = {reading::elements_along_rows};
    }

    /// What reads the copy, over batch ++ {row, k}.
    fused copy() const {
        operand o{-2, held, offset, row_major_strides(batch + lines + length)};
        if (!way.chunk_along_k()) std::swap(o.steps[batch.rank()], o.steps[batch.rank() + 1]);
        return leaf_program(o);
    }
    double seconds(const device_info& device) const {
        return packed_lines::seconds(device, bytes_of(from, batch + rows + depth), across());
    }
    launch make(const device_info& device, bool wide) const {
        const std::string chunk = chunk_name(held);
        return packed_lines::make(device, wide, chunk,
                                  loader_type(from, way, chunk, held, wide, batch.rank(), 1),
                                  across(), [&](parameter_block& block, launch& l) {
                                      if (!way.bare) l.programs.push_back(from.body);
                                      add_loader(block, "A.Params factor", l, from, way,
                                                 batch + rows + depth, 1);
                                  });
    }

private:
    bool across() const noexcept { return !way.bare && way.way >= reading::elements_along_k; }
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
    std::int64_t bytes() const { return byte_count(right.held, right.end()); }
};

}}}  // namespace pumice::PUMICE_ABI::detail
