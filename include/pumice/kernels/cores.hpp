// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The two ways to compute a tile (shaders/tile_math.slang): by plain arithmetic in registers, and
// by cooperative matrices.
#pragma once

#include <pumice/kernels/loaders.hpp>
#include <pumice/kernels/tiles.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// A tile as the launch needs it.
struct core_choice {
    std::string chunk, half;  // Slang types; half is empty for plain arithmetic
    int m = 0, n = 0, k = 0, lanes = 4, subgroup_size = 0;
    std::string type;          // of the core, without the end
    bool asks_layout = false;  // whether it ends with how the factors lie in shared memory
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

/// The device's largest fragments that multiply what holds `type` and sum in f32; null when it has
/// none.
inline const matrix_shape* fragment_for(dtype type, const device_info& device) {
    const matrix_shape* best = nullptr;
    const dtype held = fragment_type(type);
    for (const matrix_shape& s : device.matrix_shapes)
        if (s.a == held && s.b == held && s.c == dtype::f32 && s.result == dtype::f32 &&
            s.m % 8 == 0 && s.n % 8 == 0 && s.k % 8 == 0 &&
            (!best || s.m * s.n * s.k > best->m * best->n * best->k))
            best = &s;
    return best;
}

inline core_choice matrix_core(const matrix_tile& t, const matrix_shape& f,
                               const device_info& device) {
    core_choice c;
    c.half = f.a == dtype::f16 ? "Half" : "Bfloat";
    c.chunk = cat({"Packed<", c.half, ">"});
    c.m = t.m;
    c.n = t.n;
    c.k = t.k;
    c.lanes = 8;
    c.subgroup_size = device.subgroup_size;
    c.type = cat({"Matrices<", c.half});
    for (int v : {t.m, t.n, t.k, t.wm, t.wn, f.m, f.n, f.k, device.subgroup_size})
        append_text(c.type, {",", v});
    c.asks_layout = true;
    return c;
}

/// Whether a factor's chunks are shifted together from two, in each tile anew.
inline bool is_ragged(const product& p, const fused& f, std::int64_t rows) {
    return packed_reading(f, p.batch, p.readable(rows), p.depth, fragment_type(f.type())).bare ==
           reading::ragged;
}

/// In tiles by cooperative matrices, over values of types a and b.
inline support supports_matrices(const product& p, dtype a, dtype b, const device_info& device) {
    const dtype held = fragment_type(a);
    if (held != fragment_type(b) || (held != dtype::f16 && held != dtype::bf16))
        return support::no({"cooperative matrices multiply f16 or bf16, not ", to_string(a),
                            (a == b ? "" : " with " + std::string(to_string(b)))});
    const std::string type(to_string(held));
    if (!device.cooperative_matrix)
        return support::no("needs cooperative matrices; the device has none");
    if (!device.memory_model)
        return support::no("needs the Vulkan memory model; the device lacks it");
    if (!device.subgroup_size_control)
        return support::no("needs subgroups of a fixed size; the device cannot promise it");
    if (held == dtype::f16 ? !device.float16_arithmetic : !device.bfloat16)
        return support::no({"needs ", type, " in shaders; the device lacks it"});
    const matrix_shape* f = fragment_for(a, device);
    if (!f)
        return support::no({"needs cooperative ", type,
                            " matrices with sums in f32; the device lists none"});
    // A driver on the CPU gains nothing from many fragments and takes a minute to compile them.
    const bool few = device.type == device_type::cpu;
    const int sums = few ? 4 * f->m * f->n : 128 * device.subgroup_size, depth = few ? f->k : 64;
    const device_rates rates = device.rates();
    const bool shifts = is_ragged(p, p.left, p.m) || (!p.gathers() && is_ragged(p, p.right, p.n));
    const double rate = rates.matrix * (shifts ? 0.4 : 1);
    support s = tile_ways(matrix_tiles, p, rate, 10, rates, [&](const matrix_tile& t) {
        return t.wm % f->m == 0 && t.wn % f->n == 0 && t.k % f->k == 0 && t.wm * t.wn <= sums &&
               t.k <= depth && t.shared(f->m) <= device.shared_memory &&
               t.subgroups() * device.subgroup_size <= device.max_workgroup_invocations;
    });
    if (!s.yes)
        return support::no({"no tile of ", f->m, "x", f->n, "x", f->k, " fragments fits in ",
                            device.shared_memory, " bytes of shared memory and ",
                            device.max_workgroup_invocations, " invocations"});
    return s;
}

inline core_choice matrix_core_for(const configuration& way, dtype type,
                                   const device_info& device) {
    return matrix_core(row_of(matrix_tiles, way), *fragment_for(type, device), device);
}

}}}  // namespace pumice::PUMICE_ABI::detail
