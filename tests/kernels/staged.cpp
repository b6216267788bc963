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
