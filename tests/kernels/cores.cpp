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
                  .starts_with("Matrices<Halves<Half>,"));
    }
    CHECK(why(product(dtype::f32, 64, 64, 64), d) ==
          "cooperative matrices multiply f16, bf16 or 8-bit integers, not f32");
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

TEST_CASE("cores: what may be less exact is a kernel of its own") {
    const device_info d = gpu();
    const auto type = []<class Kernel>(Kernel, const matmul_problem& p, const device_info& on) {
        const support s = Kernel::supports(p, on);
        return s.yes ? Kernel::make(p, on, s.best()).arguments.at(5) : s.reason;
    };
    const matmul_problem f32 = product(dtype::f32, 4096, 4096, 4096),
                         f16 = product(dtype::f16, 4096, 4096, 4096),
                         bf16 = product(dtype::bf16, 4096, 4096, 4096);
    CHECK(type(matmul_bf16_3x{}, f32, d) ==
          "Matrices<Split,128,128,32,64,64,16,16,16,32,1,true,false>");
    CHECK(type(matmul_bf16_3x{}, f16, d) == "cooperative matrices multiply f32 in parts, not f16");
    CHECK(type(matmul_f16_accumulation{}, f16, d) ==
          "Matrices<HalfSums,128,256,32,128,64,16,16,16,32,1,true,false>");
    CHECK(type(matmul_f16_accumulation{}, bf16, d) ==
          "cooperative matrices multiply f16 with sums in it, not bf16");
    device_info less = d;
    less.bfloat16 = false;
    CHECK(type(matmul_bf16_3x{}, f32, less) == "needs bf16 in shaders; the device lacks it");
    std::erase_if(less.matrix_shapes, [](const matrix_shape& s) { return s.c == dtype::f16; });
    CHECK(type(matmul_f16_accumulation{}, f16, less) ==
          "needs cooperative f16 matrices with sums in f16; the device lists none");
}

TEST_CASE("cores: integers of 8 bits, as they are and widened") {
    const device_info d = gpu();
    const auto of = [](dtype stored, dtype summed) {
        matmul_problem p = product(summed, 4096, 4096, 4096);
        if (stored != summed) {
            p.a = widens(stored, summed, {1, 4096, 4096}, 0);
            p.b = widens(stored, summed, {1, 4096, 4096}, 1);
        }
        return p;
    };
    const auto arguments = [&](const matmul_problem& p, const device_info& on) {
        const support s = matmul_cooperative::supports(p, on);
        return s.yes ? matmul_cooperative::make(p, on, s.best()).arguments
                     : std::vector<std::string>(8, s.reason);
    };
    const std::string tile = ",128,128,128,64,64,16,16,32,32,1,true,false>";
    CHECK(arguments(of(dtype::i8, dtype::i8), d)[5] == "Matrices<Bytes<int8_t,int,int>" + tile);
    CHECK(arguments(of(dtype::i8, dtype::i32), d)[5] == "Matrices<Bytes<int8_t,int,int>" + tile);
    CHECK(arguments(of(dtype::u8, dtype::u8), d)[5] == "Matrices<Bytes<uint8_t,uint,uint>" + tile);
    CHECK(arguments(of(dtype::u8, dtype::i32), d)[5] == "Matrices<Bytes<uint8_t,uint,int>" + tile);
    CHECK(arguments(of(dtype::u8, dtype::i32), d)[6] == "Bare<PackedBytes<int>,int,1,true,3>");
    // Sums of 64 bits, and of 16, are taken in theirs.
    CHECK(arguments(of(dtype::i8, dtype::i64), d)[5] ==
          "cooperative matrices sum 8-bit integers in 32 bits, not in 64");
    CHECK(arguments(of(dtype::i8, dtype::i16), d)[5].starts_with("cooperative matrices multiply "));
    // u8 as i8, computed on the way: (x - 128) is cast to i8, then widened.
    matmul_problem shifted = of(dtype::u8, dtype::i32);
    program with = *shifted.a.body;
    const auto moved = with.push({instruction::code::cast, dtype::i8, 0, {1}});
    with.outputs[0] = with.push({instruction::code::cast, dtype::i32, 0, {moved}});
    shifted.a.body = std::make_shared<program>(std::move(with));
    shifted.b = widens(dtype::i8, dtype::i32, {1, 4096, 4096}, 1);
    CHECK(arguments(shifted, d)[5] == "Matrices<Bytes<int8_t,int,int>" + tile);
    CHECK(arguments(shifted, d)[6].starts_with("Matrix<"));
    matmul_problem mixed = of(dtype::i8, dtype::i32);
    mixed.b = widens(dtype::u8, dtype::i32, {1, 4096, 4096}, 1);
    CHECK(arguments(mixed, d)[5] ==
          "cooperative matrices multiply f16, bf16 or 8-bit integers, not i8 with u8");
    device_info narrow = d;  // fragments that do not begin with 16 bytes of their own
    for (matrix_shape& s : narrow.matrix_shapes) s.m = s.n = s.k = 8;
    CHECK(arguments(of(dtype::i8, dtype::i32), narrow)[5] ==
          "needs cooperative i8 matrices with sums in i32, of sides that 16 divides; the device "
          "lists none");
}

TEST_CASE("cores: the widest tile is of sums in f16, whatever the subgroups") {
    device_info d = gpu();
    d.subgroup_size = 64;
    d.shared_memory = 64 << 10;
    for (const configuration& way :
         matmul_cooperative::supports(product(dtype::f16, 4096, 4096, 4096), d).ways)
        CHECK(way.sizes[1] <= 128);
    CHECK(matmul_f16_accumulation::supports(product(dtype::f16, 4096, 4096, 4096), d)
              .best()
              .sizes[1] == 256);
}
