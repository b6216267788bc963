// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Products of matrices as problems, and a device to ask.
#pragma once

#include <pumice/kernels/matmul.hpp>

namespace pumice_test {

using namespace pumice;

/// A GPU with cooperative matrices that is as fast as an NVIDIA H200.
inline device_info gpu() {
    device_info d;
    d.type = device_type::discrete_gpu;
    d.subgroup_size = d.min_subgroup_size = d.max_subgroup_size = 32;
    d.subgroup_size_control = d.memory_model = d.cooperative_matrix = d.bfloat16 = true;
    d.float16_arithmetic = d.float64_arithmetic = d.int64_arithmetic = d.int8_arithmetic = true;
    d.storage8 = d.storage16 = true;
    d.max_workgroup_invocations = 1024;
    d.max_workgroup_count = {0x7fffffff, 65535, 65535};
    d.shared_memory = 48 << 10;
    for (const dtype t : {dtype::f16, dtype::bf16})
        for (const int n : {16, 8})
            d.matrix_shapes.push_back({t, t, dtype::f32, dtype::f32, 16, n, 16});
    for (const int n : {16, 8}) {
        d.matrix_shapes.push_back({dtype::f16, dtype::f16, dtype::f16, dtype::f16, 16, n, 16});
        d.matrix_shapes.push_back({dtype::i8, dtype::i8, dtype::i32, dtype::i32, 16, n, 32});
        d.matrix_shapes.push_back({dtype::u8, dtype::u8, dtype::u32, dtype::u32, 16, n, 32});
    }
    d.measured = {4.2e12, 39.7e12, 286e12, 3.3e-6, 0.6e-6, 256, 32e6};
    return d;
}

/// A program that reads buffer `number`, row-major over `domain`.
inline fused reads(dtype t, const shape& domain, int number) {
    fused f;
    program p;
    p.outputs.push_back(p.push({instruction::code::leaf, t, 0}));
    f.body = std::make_shared<program>(std::move(p));
    f.leaves.push_back({number, t, 0, row_major_strides(domain)});
    return f;
}
inline fused stores(dtype t, const shape& domain, int number) {
    fused f;
    program p;
    p.outputs.push_back(p.push({instruction::code::given, t, 0}));
    f.body = std::make_shared<program>(std::move(p));
    f.outputs.push_back({number, t, 0, row_major_strides(domain)});
    return f;
}

/// The same, widened to another type.
inline fused widens(dtype t, dtype to, const shape& domain, int number) {
    fused f = reads(t, domain, number);
    program p = *f.body;
    p.outputs[0] = p.push({instruction::code::cast, to, 0, {0}});
    f.body = std::make_shared<program>(std::move(p));
    return f;
}

inline matmul_problem product(dtype t, std::int64_t m, std::int64_t n, std::int64_t k,
                              std::int64_t batch = 1) {
    matmul_problem p;
    p.batch = {batch};
    p.m = m, p.n = n, p.k = k;
    p.a = reads(t, {batch, m, k}, 0);
    p.b = reads(t, {batch, k, n}, 1);
    if (batch > 1) p.b.leaves[0].steps[0] = 0;
    p.epilogue = stores(t, {batch, m, n}, 2);
    p.accumulator = t == dtype::f64 ? t : dtype::f32;
    return p;
}

}  // namespace pumice_test
