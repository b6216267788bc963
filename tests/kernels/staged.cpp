// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The launch of a product in tiles.
#include <tests/kernels/products.hpp>

#include <doctest/doctest.h>

using namespace pumice_test;

TEST_CASE("staged: each tile that fits is a configuration, and is launched as such") {
    const device_info d = gpu();
    const matmul_problem p = product(dtype::f32, 300, 200, 100);
    const support s = matmul_tiled::supports(p, d);
    CHECK(s.ways.size() == detail::register_tiles.size());
    for (const configuration& way : s.ways) {
        const launch l = matmul_tiled::make(p, d, way);
        const auto [m, n, k, none] = way.sizes;
        CHECK(l.arguments.at(5).starts_with(cat({"Registers<float,", m, ",", n, ",", k, ","})));
        CHECK(l.grid[0] == static_cast<std::uint32_t>((300 + m - 1) / m * ((200 + n - 1) / n)));
        CHECK(way.seconds > d.measured.launch);
    }
    CHECK(to_string(s.ways[0]) == "128x128x8");
}

TEST_CASE("staged: aligned values of the sums' type are copied without a program") {
    const device_info d = gpu();
    const auto loaders = [&](dtype t, std::int64_t k) {
        const matmul_problem p = product(t, 256, 128, k);
        const launch l = matmul_tiled::make(p, d, matmul_tiled::supports(p, d).ways[0]);
        return std::array{l.arguments.at(6), l.arguments.at(7)};
    };
    CHECK(loaders(dtype::f32, 64)[0] == "Bare<Plain<float>,int,1,true,3>");
    CHECK(loaders(dtype::f32, 64)[1] == "Bare<Plain<float>,int,1,false,3>");
    CHECK(loaders(dtype::f32, 60)[0] == "Bare<Plain<float>,int,1,true,0>");
    CHECK(loaders(dtype::f32, 61)[0].starts_with("Matrix<"));
    CHECK(loaders(dtype::f16, 64)[0].starts_with("Matrix<"));
}

TEST_CASE("staged: a driver on the CPU is spared steps that are written out") {
    device_info d = gpu();
    const matmul_problem p = product(dtype::f32, 256, 128, 64);
    const configuration way = matmul_tiled::supports(p, d).ways[0];
    CHECK(matmul_tiled::make(p, d, way).arguments.at(5).ends_with(",2,8>"));
    d.type = device_type::cpu;
    CHECK(matmul_tiled::make(p, d, way).arguments.at(5).ends_with(",2,1>"));
}
