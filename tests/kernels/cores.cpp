// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Why a product is not computed by cooperative matrices.
#include <tests/kernels/products.hpp>

#include <doctest/doctest.h>

using namespace pumice_test;

TEST_CASE("cores: reasons against cooperative matrices") {
    const matmul_problem p = product(dtype::f16, 64, 64, 64), b = product(dtype::bf16, 64, 64, 64);
    const auto why = [](const matmul_problem& q, const device_info& d) {
        return matmul_cooperative::supports(q, d).reason;
    };
    device_info d = gpu();
    CHECK(why(p, d).empty());
    CHECK(why(b, d).empty());
    for (const dtype t : {dtype::f8_e4m3, dtype::f8_e5m2}) {  // as f16, which holds them
        const matmul_problem q = product(t, 64, 64, 64);
        CHECK(why(q, d).empty());
        CHECK(matmul_cooperative::make(q, d, matmul_cooperative::supports(q, d).best())
                  .arguments.at(5)
                  .starts_with("Matrices<Half,"));
    }
    CHECK(why(product(dtype::f32, 64, 64, 64), d) ==
          "cooperative matrices multiply f16 or bf16, not f32");
    d.bfloat16 = false;
    CHECK(why(b, d) == "needs bf16 in shaders; the device lacks it");
    d.matrix_shapes.clear();
    CHECK(why(p, d) == "needs cooperative f16 matrices with sums in f32; the device lists none");
    d = gpu();
    d.shared_memory = 1024;
    CHECK(why(p, d) ==
          "no tile of 16x16x16 fragments fits in 1024 bytes of shared memory and 1024 invocations");
    d = gpu();
    d.memory_model = false;
    CHECK(why(p, d) == "needs the Vulkan memory model; the device lacks it");
    d.subgroup_size_control = false;
    d.memory_model = true;
    CHECK(why(p, d) == "needs subgroups of a fixed size; the device cannot promise it");
    d.storage16 = false;
    CHECK(why(p, d) == "the device has no f16");
}
