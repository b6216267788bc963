// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The launch of a product in tiles (shaders/matmul.slang).
#pragma once

#include <pumice/kernels/cores.hpp>
#include <pumice/kernels/loaders.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// How an epilogue may store four elements at once, as the kernels' argument; -1: it may not.
inline int flat_store(const fused& epilogue, const shape& result) {
    const std::optional<std::uint32_t> flat =
        result.back() % 4 == 0 ? vector_mask(epilogue, result) : std::nullopt;
    return flat ? static_cast<int>(*flat) : -1;
}

/// Tile rows that are walked together, so that neighbouring workgroups share both factors' memory.
inline constexpr std::uint32_t band = 8;

/// `windows`: the loader of the factor whose rows are windows; null where neither has them.
inline launch staged_launch(const product& p, const core_choice& core, const device_info& device,
                            bool wide, const special_loader* windows = nullptr) {
    const int batch = p.batch.rank(), columns = p.columns.rank(), depth = p.depth.rank();
    struct factor {
        const fused& f;
        std::int64_t rows;
        const special_loader* special;
        reading way;
    } a{p.left, p.m, p.windows_left ? windows : nullptr, {}},
        b{p.right, p.n, p.windows_left ? nullptr : windows, {}};
    const auto way_of = [&](const factor& of, int tile) {
        if (of.special) return reading{reading::vectors_along_k};
        const std::int64_t rows = p.readable(of.rows);
        reading way = info(core.held).bits == 32
                          ? plain_reading(of.f, p.batch, rows, p.depth)
                          : packed_reading(of.f, p.batch, rows, p.depth, core.held);
        const int whole = (rows % tile == 0 ? 1 : 0) | (p.k % core.k == 0 ? 2 : 0);
        // A program in f32 gains nothing by it, a copy only where every chunk is there.
        if (core.matrices || (way.bare && whole == 3)) way.whole = whole;
        return way;
    };
    a.way = way_of(a, core.m);
    b.way = way_of(b, core.n);
    const auto loader = [&](const factor& of) {
        return of.special ? of.special->type
                          : loader_type(of.f, of.way, core.chunk, core.held, wide, batch, depth);
    };
    const shape result = p.batch + p.m + p.columns;
    std::string type = core.type;
    if (core.matrices)
        append_text(type,
                    {",", bool_text(a.way.chunk_along_k()), ",", bool_text(b.way.chunk_along_k())});
    launch l("matmul", "staged",
             {index_type(wide), batch, columns, flat_store(p.epilogue, result),
              emitted_name(p.epilogue.body->view()), cat({type, ">"}), loader(a), loader(b)},
             {&p.epilogue});
    for (const factor* of : {&a, &b})
        if (of->special ? of->special->computes : !of->way.bare) l.programs.push_back(of->f.body);
    l.subgroup_size = core.subgroup_size;

    const std::int64_t down = (p.m + core.m - 1) / core.m, across = (p.n + core.n - 1) / core.n;
    const std::int64_t tiles = down * across * element_count(p.batch);
    if (tiles > 0xffffffffLL)
        fail(errc::size_overflow, "kernels", {"the product has ", tiles, " tiles"});
    const std::uint32_t width = spread(l, tiles, device);
    parameter_block block(l, wide, "MatmulParams");
    const auto add = [&](const char* slang, const factor& of) {
        if (of.special) return of.special->add(block, slang, p, of.special->of);
        add_loader(block, slang, l, of.f, of.way, p.batch + of.rows + p.depth, depth);
    };
    add("A.Params left", a);
    add("B.Params right", b);
    add_program(block, "E writer", "WriterParams", p.epilogue, result, columns);
    block.add({{"Extents<I, R> batch", block::extents{p.batch}},
               {"I m", p.m},
               {"I n", p.n},
               {"I k", p.k},
               {"uint down", down},
               {"uint across", across},
               {"uint band", band},
               {"uint tiles", tiles},
               {"uint width", width}});
    return l;
}

}}}  // namespace pumice::PUMICE_ABI::detail
