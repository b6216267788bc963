// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How products of few sums are cut into workgroups, and when they are left to tiles.
#include "support.hpp"

#include <pumice/kernels/conv.hpp>
#include <pumice/kernels/matmul.hpp>
#include <pumice/kernels/split_k.hpp>

#include <doctest/doctest.h>

using namespace pumice;
using pumice_test::over;

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
    d.measured = {4.2e12, 39.7e12, 0, 3.3e-6, 0.6e-6, 256, 32e6};  // of an NVIDIA H200
    return d;
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

detail::split_k_shape shape_of(const matmul_problem& p, const configuration& way) {
    const detail::product q = detail::split_k_product_of(p);
    return detail::split_k_shape_of(q, detail::split_k_readings(q), way);
}
detail::split_k_shape shape_of(const matmul_problem& p, const device_info& d) {
    return shape_of(p, matmul_split_k::supports(p, d).best());
}

}  // namespace

TEST_CASE("split_k: of several rows a workgroup has at least four columns") {
    const auto check = [](const detail::product& q, const support& offered) {
        CHECK(!offered.ways.empty());
        for (const configuration& way : offered.ways) {
            const detail::split_k_shape f =
                detail::split_k_shape_of(q, detail::split_k_readings(q), way);
            CHECK((f.rows == 1 || f.columns() >= 4));
        }
    };
    for (const device_type type : {device_type::discrete_gpu, device_type::cpu})
        for (const std::int64_t m : {1, 2, 3, 8, 64})
            for (const std::int64_t n : {1, 2, 3, 4, 9})
                for (const std::int64_t k : {8, 5000, 400000}) {
                    matmul_problem turned = product(m, n, k);
                    turned.b.leaves[0].steps = {n * k, 1, k};
                    for (const matmul_problem& p : {product(m, n, k), turned})
                        check(detail::split_k_product_of(p),
                              matmul_split_k::supports(p, machine(type)));
                }
    for (const std::int64_t size : {1, 2}) {
        const conv_problem p = convolution(64, 8, size, 3);
        check(detail::product_of(p), conv_split_k::supports(p, machine(device_type::cpu)));
    }
}

TEST_CASE("split_k: every workgroup has all its invocations and fits in shared memory") {
    const device_info d = machine(device_type::discrete_gpu);
    for (const std::int64_t m : {1, 3, 8, 20, 300})
        for (const std::int64_t n : {1, 7, 32, 1000, 100000})
            for (const std::int64_t k : {0, 1, 5, 25, 200, 5000}) {
                const detail::product p = detail::split_k_product_of(product(m, n, k));
                for (const configuration& way :
                     matmul_split_k::supports(product(m, n, k), d).ways) {
                    const detail::split_k_shape f = shape_of(product(m, n, k), way);
                    const int invocations = f.lines * f.slices;
                    CHECK((invocations == 256 ||
                           (f.rows == 1 && (invocations == 512 || invocations == 1024)) ||
                           (f.rows == 4 && f.wide == 4 && invocations == 512)));
                    CHECK(f.rows % f.together == 0);
                    CHECK(f.together * f.columns() * f.slices * 4 <= 16 << 10);
                    CHECK(f.down * f.rows >= p.m);
                    CHECK(f.across * f.columns() >= p.n);
                    CHECK(f.blocks == f.down * f.across);
                    CHECK(f.groups() == f.blocks * f.parts);
                }
            }
}

TEST_CASE(
    "split_k: parts of k are whole, all there, counted, and no more than keep a device busy") {
    const device_info d = machine(device_type::discrete_gpu);
    int cut = 0;
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 10, 338352},
                                  {1, 4096, 4096},
                                  {8, 33, 70001},
                                  {100, 10, 10000},
                                  {2, 64, 513}})
        for (const configuration& way : matmul_split_k::supports(product(m, n, k), d).ways) {
            const detail::split_k_shape f = shape_of(product(m, n, k), way);
            if (f.parts == 1) {
                CHECK(matmul_split_k::scratch(product(m, n, k), d, way) == 0);
                continue;
            }
            ++cut;
            CAPTURE(to_string(way));
            CHECK(f.length % (f.lanes * f.slices * f.ahead) == 0);
            CHECK((f.parts - 1) * f.length < k);
            CHECK(f.parts * f.length >= k);
            CHECK(f.blocks <= detail::most_blocks_in_parts);
            CHECK(f.groups() <= 2 * d.measured.groups);
            CHECK(matmul_split_k::scratch(product(m, n, k), d, way) ==
                  f.groups() * f.rows * f.columns() * 4);
        }
    CHECK(cut > 20);
    // What does not lie in runs is read the way in which its elements lie nearer.
    CHECK_FALSE(shape_of(product(1, 10, 338352), d).right.chunk_along_k());
    CHECK(shape_of(product(1, 10, 338352), d).parts > 8);
}

TEST_CASE("split_k: a large factor is not read often, a small one as often as fills the device") {
    const device_info d = machine(device_type::discrete_gpu);
    CHECK(shape_of(product(8, 65536, 4096), d).down <= 2);
    CHECK(shape_of(product(8, 16, 25), d).down > 2);
}

TEST_CASE("split_k: a sum of few terms is not cut finer than they are") {
    const device_info d = machine(device_type::discrete_gpu);
    const detail::split_k_shape deep = shape_of(product(1, 64, 5000), d);
    CHECK(deep.slices * deep.parts >= 128);
    CHECK(shape_of(product(1, 64, 25), d).slices == 8);
    CHECK(shape_of(product(1, 64, 1), d).slices <= 8);
}

TEST_CASE("split_k: work for a whole device is left to tiles") {
    const device_info d = machine(device_type::discrete_gpu);
    const auto wins = [&](const matmul_problem& p) {
        return matmul_split_k::supports(p, d).best().seconds <
               matmul_tiled::supports(p, d).best().seconds;
    };
    CHECK(wins(product(8, 4096, 4096)));
    CHECK(wins(product(100, 100, 100)));
    CHECK_FALSE(wins(product(2000, 2000, 100)));
    matmul_problem endless = product(9, 9, 1);
    endless.k = std::int64_t{1} << 57;
    CHECK(wins(endless));
    const auto wins_conv = [&](const conv_problem& p) {
        return conv_split_k::supports(p, d).best().seconds <
               conv_tiled::supports(p, d).best().seconds;
    };
    CHECK(wins_conv(convolution(1, 8, 28, 5)));
    CHECK(wins_conv(convolution(512, 512, 7, 3)));
    CHECK_FALSE(wins_conv(convolution(64, 64, 56, 3)));
    device_info little = d;
    little.max_workgroup_invocations = 64;
    CHECK(matmul_split_k::supports(product(1, 10, 256), little).reason ==
          "needs workgroups of 128 invocations");
}
