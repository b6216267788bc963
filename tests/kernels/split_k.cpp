// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How products of few sums are cut into workgroups, and when they are left to tiles.
#include <pumice/kernels/conv.hpp>
#include <pumice/kernels/matmul.hpp>
#include <pumice/kernels/split_k.hpp>

#include <doctest/doctest.h>

using namespace pumice;

namespace {

device_info machine(device_type type) {
    device_info d;
    d.type = type;
    d.subgroup_size = d.min_subgroup_size = d.max_subgroup_size = 32;
    d.float16_arithmetic = d.float64_arithmetic = d.int64_arithmetic = d.storage8 = d.storage16 =
        true;
    d.max_workgroup_invocations = 1024;
    d.max_workgroup_count = {0x7fffffff, 65535, 65535};
    d.shared_memory = 48 << 10;
    return d;
}

fused over(const shape& domain, instruction::code what, int number) {
    fused f;
    program p;
    p.outputs.push_back(p.push({what, dtype::f32, 0}));
    f.body = std::make_shared<program>(std::move(p));
    (what == instruction::code::leaf ? f.leaves : f.outputs)
        .push_back({number, dtype::f32, 0, row_major_strides(domain)});
    return f;
}

matmul_problem product(std::int64_t m, std::int64_t n, std::int64_t k) {
    matmul_problem p;
    p.batch = {1};
    p.m = m, p.n = n, p.k = k;
    p.a = over({1, m, k}, instruction::code::leaf, 0);
    p.b = over({1, k, n}, instruction::code::leaf, 1);
    p.epilogue = over({1, m, n}, instruction::code::given, 2);
    return p;
}

conv_problem convolution(std::int64_t in, std::int64_t out, std::int64_t size,
                         std::int64_t window) {
    conv_problem p;
    p.batch = 1, p.in_channels = in, p.out_channels = out;
    for (int i = 0; i < 2; ++i) {
        p.in_size[i] = p.out_size[i] = size;
        p.window[i] = window;
        p.shape_of.pad_begin[i] = p.shape_of.pad_end[i] = static_cast<int>(window / 2);
    }
    p.input = over({1, in, size, size}, instruction::code::leaf, 0);
    p.weight = over({out, in, window, window}, instruction::code::leaf, 1);
    p.epilogue = over({1, out, size, size}, instruction::code::given, 2);
    return p;
}

detail::split_k_shape shape_of(const matmul_problem& p, const device_info& d) {
    return detail::split_k_shape_of(detail::split_k_product_of(p), d);
}

}  // namespace

TEST_CASE("split_k: every workgroup has all its invocations and fits in shared memory") {
    const device_info d = machine(device_type::discrete_gpu);
    for (const std::int64_t m : {1, 3, 8, 20, 300})
        for (const std::int64_t n : {1, 7, 32, 1000, 100000})
            for (const std::int64_t k : {0, 1, 5, 25, 200, 5000}) {
                const detail::product p = detail::split_k_product_of(product(m, n, k));
                const detail::split_k_shape f = detail::split_k_shape_of(p, d);
                const int columns = f.lines * (f.right.chunk_along_k() ? 1 : 4);
                CHECK(f.lines * f.slices == 256);
                CHECK(f.rows % f.together == 0);
                CHECK(f.together * columns * f.slices * 4 <= 16 << 10);
                CHECK(f.down * f.rows >= p.m);
                CHECK(f.across * columns >= p.n);
                CHECK(f.groups == f.down * f.across);
            }
}

TEST_CASE("split_k: a large factor is read once, a small one as often as fills the device") {
    const device_info d = machine(device_type::discrete_gpu);
    CHECK(shape_of(product(8, 4096, 4096), d).down == 1);
    CHECK(shape_of(product(8, 16, 25), d).down == 8);
    CHECK(shape_of(product(8, 16, 25), machine(device_type::cpu)).down == 1);
}

TEST_CASE("split_k: a sum of few terms is not cut finer than they are") {
    const device_info d = machine(device_type::discrete_gpu);
    CHECK(shape_of(product(1, 64, 5000), d).slices == 32);
    CHECK(shape_of(product(1, 64, 25), d).slices == 8);
    CHECK(shape_of(product(1, 64, 1), d).slices == 4);
}

TEST_CASE("split_k: work for a whole device is left to tiles") {
    const device_info d = machine(device_type::discrete_gpu), host = machine(device_type::cpu);
    CHECK(matmul_split_k::supports(product(8, 100000, 64), d).yes);
    CHECK(matmul_split_k::supports(product(100, 100, 100), d).yes);
    CHECK(matmul_split_k::supports(product(2000, 2000, 100), d).reason ==
          "15750 workgroups; past 611 of them tiles do less");
    matmul_problem endless = product(9, 9, 1);
    endless.k = std::int64_t{1} << 57;
    CHECK(matmul_split_k::supports(endless, d).yes);
    const auto wins = [](const conv_problem& p, const device_info& on) {
        const support s = conv_split_k::supports(p, on);
        return s.yes && s.cost < conv_tiled::supports(p, on).cost;
    };
    CHECK(wins(convolution(1, 8, 28, 5), d));
    CHECK(wins(convolution(512, 512, 7, 3), d));
    CHECK_FALSE(wins(convolution(16, 16, 56, 3), d));
    CHECK_FALSE(wins(convolution(1, 8, 28, 5), host));
    device_info little = d;
    little.max_workgroup_invocations = 64;
    CHECK(matmul_split_k::supports(product(1, 10, 256), little).reason ==
          "needs workgroups of 128 invocations");
}
