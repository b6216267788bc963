// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the device at hand does at the most, measured in the run that is judged by it: bytes of a
// copy, and multiplications and additions without memory, by lanes and by cooperative matrices.
#pragma once

#include <bench/support/measure.hpp>

#include <pumice/measure_rates.hpp>

#include <utility>

namespace bench {

struct ceilings {
    double copy = 0;                    // bytes a second, read and written
    double arithmetic = 0, matrix = 0;  // operations a second; 0 where there are none
};

/// Operations a second of a kernel whose `rounds` turns do `flop` of them in all.
inline double operations(const pm::context& home, const pm::kernel& k, const pm::any_tensor& x,
                         int rounds, double flop) {
    return flop / pm::kernel_seconds(home, [&] { return k(x, rounds); });
}

inline pm::kernel lanes_at_work(std::int64_t threads) {
    pm::kernel_options how;
    how.inputs = {{.type = pm::dtype::f32}};
    how.scalars = {pm::dtype::i32};
    how.outputs = {{.type = pm::dtype::f32, .shape = pm::shape{threads}}};
    how.group = {256};
    return pm::kernel("lanes_at_work", R"(
void lanes_at_work(uint3 thread, Input<F32> x, Output<F32> y, int rounds)
{
    float a = x[0], s[16];
    [ForceUnroll] for (int j = 0; j < 16; ++j) s[j] = a + float(j);
    for (int i = 0; i < rounds; ++i)
        [ForceUnroll] for (int j = 0; j < 16; ++j) s[j] = fma(s[j], a, a);
    float sum = 0;
    [ForceUnroll] for (int j = 0; j < 16; ++j) sum += s[j];
    y[thread.x] = sum;
})",
                      std::move(how));
}

/// Chains of products of a shape that the device lists, of `high` factors by `wide`, by each
/// subgroup.
inline pm::kernel matrices_at_work(std::int64_t threads, const pm::matrix_shape& s, int subgroup,
                                   int high, int wide) {
    pm::kernel_options how;
    how.inputs = {{.type = pm::dtype::f32}};
    how.outputs = {{.type = pm::dtype::f32, .shape = pm::shape{threads}}};
    how.scalars = {pm::dtype::i32};
    how.group = {256};
    const std::string sizes =
        pm::cat({"static const int M = ", s.m, ", N = ", s.n, ", K = ", s.k, ", Lanes = ", subgroup,
                 ", High = ", high, ", Wide = ", wide, ";"});
    return pm::kernel("matrices_at_work", sizes + R"(
typealias Use = linalg.CoopMatMatrixUse;
typealias Left = linalg.CoopMat<half, MemoryScope.Subgroup, M, K, Use.MatrixA>;
typealias Right = linalg.CoopMat<half, MemoryScope.Subgroup, K, N, Use.MatrixB>;
typealias Sums = linalg.CoopMat<float, MemoryScope.Subgroup, M, N, Use.MatrixAccumulator>;

void matrices_at_work(uint3 thread, Input<F32> x, Output<F32> y, int rounds)
{
    static groupshared float shared[256 / Lanes * M * N];
    Left a[High];
    Right b[Wide];
    // All differ, or one would do for several.
    [ForceUnroll] for (int j = 0; j < High; ++j) a[j] = Left(half(x[0] + float(j)));
    [ForceUnroll] for (int j = 0; j < Wide; ++j) b[j] = Right(half(x[0] - float(j)));
    Sums c[High * Wide];
    [ForceUnroll] for (int j = 0; j < High * Wide; ++j) c[j] = Sums(x[0] + float(j));
    for (int i = 0; i < rounds; ++i)
        [ForceUnroll] for (int j = 0; j < High * Wide; ++j)
            c[j] = linalg.coopMatMulAdd<float, false>(a[j / Wide], b[j % Wide], c[j]);
    float sum = 0;
    // Of all elements: what nobody asks for need not be computed. Through memory, so that the matrices stay in registers.
    uint base = WaveReadLaneFirst(thread.x) % 256u / uint(Lanes) * uint(M * N);
    [ForceUnroll] for (int j = 0; j < High * Wide; ++j)
    {
        GroupMemoryBarrierWithGroupSync();
        c[j].Store<linalg.CoopMatMatrixLayout.RowMajor>(shared, base, uint(N));
        GroupMemoryBarrierWithGroupSync();
        for (int e = 0; e < M * N; e += Lanes) sum += shared[base + uint(e) + WaveGetLaneIndex()];
    }
    y[thread.x] = sum;
})",
                      std::move(how));
}

/// Takes seconds, and 512 MiB of the device over the square of `shrink`.
inline ceilings measure_ceilings(const pm::context& home, std::int64_t shrink = 1) {
    ceilings c;
    if (home.device().timestamp_period == 0) return c;
    const auto ones = [&](std::int64_t count) {
        const pm::any_tensor t = pm::full(pm::dtype::f32, {count}, 0.5, home);
        pm::eval(std::span(&t, 1));
        return t;
    };
    const std::int64_t count = std::max<std::int64_t>((1 << 26) / (shrink * shrink), 1024),
                       threads = std::max<std::int64_t>((1 << 19) / shrink, 1024);
    const int rounds = static_cast<int>(std::max<std::int64_t>(2048 / shrink, 8));
    const pm::any_tensor x = ones(count), one = ones(1);
    c.copy = 8.0 * double(count) / pm::kernel_seconds(home, [&] { return pm::copy(x * 2.0); });
    const double turns = double(rounds) * double(threads);
    c.arithmetic = operations(home, lanes_at_work(threads), one, rounds, turns * 32);
    for (const pm::matrix_shape& s : home.device().matrix_shapes) {
        if (s.a != pm::dtype::f16 || s.result != pm::dtype::f32) continue;
        const double flop = turns / home.device().subgroup_size * 2 * s.m * s.n * s.k;
        for (const auto& [high, wide] : {std::pair{1, 8}, {2, 4}, {4, 4}})
            c.matrix = std::max(c.matrix,
                                operations(home,
                                           matrices_at_work(threads, s, home.device().subgroup_size,
                                                            high, wide),
                                           one, rounds, flop * high * wide));
    }
    return c;
}

inline void add_ceilings(json_line& l, const ceilings& c) {
    if (c.copy > 0) l.add("copy_gbps", c.copy * 1e-9);
    if (c.arithmetic > 0) l.add("arithmetic_tflops", c.arithmetic * 1e-12);
    if (c.matrix > 0) l.add("matrix_tflops", c.matrix * 1e-12);
}

}  // namespace bench
