// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The two ways to compute a tile (shaders/tile_math.slang): by plain arithmetic in registers, and
// by cooperative matrices.
#pragma once

#include <pumice/kernels/fragments.hpp>
#include <pumice/kernels/loaders.hpp>
#include <pumice/kernels/tiles.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// A tile as the launch needs it.
struct core_choice {
    std::string chunk;  // its Slang type
    int m = 0, n = 0, k = 0, subgroup_size = 0;
    dtype held = dtype::f32;  // of fragments that copied memory goes into
    bool matrices = false;    // whether its type ends with how the factors lie in shared memory
    std::string type;         // of the core, without the end
};

// Plain arithmetic --------------------------------------------------------------------------------

inline core_choice register_core(const product& p, const configuration& way,
                                 const device_info& device) {
    const register_tile& t = row_of(register_tiles, way);
    const std::string sum(slang_name(p.sum));
    core_choice c;
    c.chunk = cat({"Plain<", sum, ">"});
    c.m = t.m;
    c.n = t.n;
    c.k = t.k;
    // A driver on the CPU gains nothing from written out steps and takes long to compile them.
    const int steps = device.type == device_type::cpu ? 1 : t.steps;
    c.type = cat({"Registers<", sum});
    for (int v : {t.m, t.n, t.k, t.tm, t.tn, t.buffers, steps}) append_text(c.type, {",", v});
    return c;
}

/// In tiles by plain arithmetic.
inline support supports_registers(const product& p, const device_info& device) {
    const device_rates rates = device.rates();
    const int size = size_of(p.sum);
    support s = tile_ways(register_tiles, p, rates.arithmetic * 4 / size, 4, rates,
                          [&](const register_tile& t) {
                              return t.shared(size) <= device.shared_memory &&
                                     t.threads() <= device.max_workgroup_invocations &&
                                     t.tm * t.tn * size <= 512;
                          });
    if (!s.yes)
        return support::no({"no tile fits in ", device.shared_memory,
                            " bytes of shared memory and ", device.max_workgroup_invocations,
                            " invocations"});
    return s;
}

// Cooperative matrices ----------------------------------------------------------------------------

/// The device's largest fragments that multiply what `kind` holds, and of which a tile consists;
/// null when it has none.
inline const matrix_shape* shape_for(const fragments& kind, const device_info& device,
                                     const matrix_tile* tile = nullptr) {
    const int side = kind.lanes();  // a fragment begins with 16 bytes of its own
    const matrix_shape* best = nullptr;
    for (const matrix_shape& s : device.matrix_shapes)
        if (s.a == kind.held && s.b == kind.held && s.c == kind.sum && s.result == kind.sum &&
            s.m % side == 0 && s.n % side == 0 && s.k % side == 0 &&
            (!tile ||
             (tile->wm % s.m == 0 && tile->wn % s.n == 0 && tile->k * kind.deeper() % s.k == 0)) &&
            (!best || s.m * s.n * s.k > best->m * best->n * best->k))
            best = &s;
    return best;
}

/// Whether the device multiplies values of a type in fragments that are summed in f32.
inline bool has_fragments(dtype type, const device_info& device) {
    const fragments* kind = fragments_of(type, type, reduced_precision::none);
    return kind && kind->sum == dtype::f32 && shape_for(*kind, device);
}

inline core_choice matrix_core(const product& p, const fragments& kind, const configuration& way,
                               const device_info& device) {
    const matrix_tile& t = row_of(matrix_tiles, way, kind.deeper());
    const matrix_shape& f = *shape_for(kind, device, &t);
    core_choice c;
    c.held = kind.parts == 1 ? kind.held : dtype::f32;
    c.chunk = chunk_name(kind, p.sum);
    c.m = t.m;
    c.n = t.n;
    c.k = t.k * kind.deeper();
    c.subgroup_size = device.subgroup_size;
    c.type = cat({"Matrices<", slang_name(kind, p.sum)});
    for (int v : {t.m, t.n, c.k, t.wm, t.wn, f.m, f.n, f.k, device.subgroup_size, t.slices})
        append_text(c.type, {",", v});
    c.matrices = true;
    return c;
}

/// Whether a factor's chunks are shifted together from two, in each tile anew.
inline bool is_ragged(const product& p, const fused& f, std::int64_t rows) {
    return packed_reading(f, p.batch, p.readable(rows), p.depth, fragment_type(f.type())).bare ==
           reading::ragged;
}

/// No, naming what the device lacks for fragments of a kind.
inline support supports_fragments(const fragments& kind, const device_info& device) {
    if (!device.cooperative_matrix)
        return support::no("needs cooperative matrices; the device has none");
    if (!device.memory_model)
        return support::no("needs the Vulkan memory model; the device lacks it");
    if (!device.subgroup_size_control)
        return support::no("needs subgroups of a fixed size; the device cannot promise it");
    for (const dtype t : {kind.held, kind.sum})
        if ((t == dtype::f16 && !device.float16_arithmetic) ||
            (t == dtype::bf16 && !device.bfloat16) ||
            (info(t).bits == 8 && !device.int8_arithmetic))
            return support::no({"needs ", to_string(t), " in shaders; the device lacks it"});
    if (!shape_for(kind, device))
        return support::no({"needs cooperative ", to_string(kind.held), " matrices with sums in ",
                            to_string(kind.sum),
                            kind.lanes() > 8 ? ", of sides that 16 divides" : "",
                            "; the device lists none"});
    return {};
}

/// In tiles by cooperative matrices of a kind: whose steps along k all subgroups take together or,
/// `apart`, each some of them.
inline support supports_matrices(const product& p, const fragments& kind, const device_info& device,
                                 bool apart = false) {
    if (support s = supports_fragments(kind, device); !s.yes) return s;
    const matrix_shape* largest = shape_for(kind, device);
    // A driver on the CPU gains nothing from many fragments and takes a minute to compile them.
    const bool few = device.type == device_type::cpu;
    const int sums = few ? 4 * largest->m * largest->n : 32 * kind.sums() * device.subgroup_size,
              depth = few ? largest->k : 64 * kind.deeper();
    const device_rates rates = device.rates();
    const bool shifts = (!p.windows_left && is_ragged(p, p.left, p.m)) ||
                        ((!p.gathers() || p.windows_left) && is_ragged(p, p.right, p.n));
    const double rate = rates.matrix * kind.speed * (shifts ? 0.4 : 1);
    const bool along_k =
        apart && packed_reading(p.left, p.batch, p.m, p.depth, kind.held).chunk_along_k();
    support s = tile_ways(
        matrix_tiles, p, rate, 10, rates,
        [&](const matrix_tile& t) {
            const matrix_shape* f = shape_for(kind, device, &t);
            return f && (t.n <= product::side || kind.sums() == 8) && (t.slices > 1) == apart &&
                   (!apart || p.n <= t.n) &&
                   // Each piece is read in lines of 64 bytes at least.
                   (!apart || few || (along_k ? t.k : t.m) >= 32) && t.wm * t.wn <= sums &&
                   t.k * kind.deeper() <= depth && t.shared(kind, f->m) <= device.shared_memory &&
                   t.subgroups() * device.subgroup_size <= device.max_workgroup_invocations;
        },
        kind.deeper());
    if (!s.yes)
        return support::no({"no tile of ", largest->m, "x", largest->n, "x", largest->k,
                            " fragments fits in ", device.shared_memory,
                            " bytes of shared memory and ", device.max_workgroup_invocations,
                            " invocations"});
    return s;
}

/// The fragments of a product of values of types a and b, or why there are none.
struct fragments_or_reason {
    const fragments* kind;
    support none;

    fragments_or_reason(const product& p, dtype a, dtype b, reduced_precision needs)
        : kind(fragments_of(a, b, needs)) {
        if (kind && info(kind->held).bits == 8 && size_of(p.sum) != 4) {
            kind = nullptr;
            none = support::no("cooperative matrices sum 8-bit integers in 32 bits, not in 64");
        } else if (!kind)
            none =
                support::no({"cooperative matrices multiply ", multiplied_text(needs), ", not ",
                             to_string(a), (a == b ? "" : " with " + std::string(to_string(b)))});
    }
};

}}}  // namespace pumice::PUMICE_ABI::detail
