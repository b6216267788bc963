// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Which kernel and which tile a product gets, and what is expected of each.
#include <pumice/kernels/conv.hpp>
#include <tests/kernels/products.hpp>

#include <doctest/doctest.h>

using namespace pumice_test;

namespace {

/// Name of the fastest of the kernels that take the problem.
template <class... K, class P>
std::string chosen(const P& p, const device_info& d) {
    std::string best;
    double least = 0;
    const auto ask = [&]<class Kernel>() {
        const support s = Kernel::supports(p, d);
        if (s.yes && (best.empty() || s.best().seconds < least))
            best = Kernel::name, least = s.best().seconds;
    };
    (ask.template operator()<K>(), ...);
    return best;
}
std::string chosen(const matmul_problem& p, const device_info& d) {
    return chosen<matmul_cooperative, matmul_packed, matmul_split_k, matmul_tiled>(p, d);
}

}  // namespace

TEST_CASE("tiles: the kernel of a product") {
    const device_info d = gpu();
    device_info plain = d;
    plain.cooperative_matrix = false;
    plain.matrix_shapes.clear();
    for (const dtype t : {dtype::f16, dtype::bf16}) {
        CHECK(chosen(product(t, 4096, 4096, 4096), d) == "matmul/cooperative");
        CHECK(chosen(product(t, 32, 4096, 4096), d) == "matmul/cooperative");
        CHECK(chosen(product(t, 512, 512, 512), d) == "matmul/cooperative");
        CHECK(chosen(product(t, 4095, 4097, 4093), d) == "matmul/packed");
        CHECK(chosen(product(t, 1, 4096, 4096), d) == "matmul/split_k");
        CHECK(chosen(product(t, 8, 4096, 4096), d) == "matmul/cooperative");
        CHECK(chosen(product(t, 14336, 16, 4096), d) == "matmul/cooperative");
        // A factor that is decoded or computed is rounded as cooperative matrices have it.
        matmul_problem computed = product(t, 1, 4096, 4096);
        program with = *computed.b.body;
        with.outputs[0] = with.push({instruction::code::cast, t, 0, {0}});
        computed.b.body = std::make_shared<program>(std::move(with));
        CHECK(chosen(computed, d) == "matmul/split_k");
        const auto chunk = [&](const device_info& on) {
            return matmul_split_k::make(computed, on, matmul_split_k::supports(computed, on).best())
                .arguments.at(6);
        };
        CHECK(chunk(d) == (t == dtype::f16 ? "Rounded<Half>" : "Rounded<Bfloat>"));
        CHECK(chunk(plain) == "Plain<float>");
        CHECK(chosen(product(t, 1024, 1024, 64), plain) == "matmul/tiled");
        CHECK(chosen(product(t, 64, 64, 64), plain) == "matmul/split_k");
        CHECK(chosen(product(t, 1, 128, 784), plain) == "matmul/split_k");
    }
    CHECK(chosen(product(dtype::f32, 4096, 4096, 4096), d) == "matmul/tiled");
    CHECK(chosen(product(dtype::f32, 1, 128, 784), d) == "matmul/split_k");
    CHECK(chosen(product(dtype::f32, 128, 1, 784), d) == "matmul/split_k");
    CHECK(chosen(product(dtype::f64, 1000, 1000, 100), d) == "matmul/tiled");
    CHECK(chosen(product(dtype::i32, 1000, 1000, 100), d) == "matmul/tiled");
    CHECK(chosen(product(dtype::f64, 100, 100, 100), d) == "matmul/split_k");
    CHECK(chosen(product(dtype::i32, 100, 100, 100), d) == "matmul/split_k");
}

TEST_CASE("tiles: sizes follow the problem and stay within the device") {
    device_info d = gpu();
    const auto type = [&](const matmul_problem& p) {
        return matmul_cooperative::make(p, d, matmul_cooperative::supports(p, d).best())
            .arguments.at(5);
    };
    CHECK(type(product(dtype::f16, 4096, 4096, 4096)) ==
          "Matrices<Halves<Half>,128,128,64,64,64,16,16,16,32,1,true,false>");
    CHECK(type(product(dtype::bf16, 32, 4096, 4096)) ==
          "Matrices<Halves<Bfloat>,32,64,64,16,32,16,16,16,32,1,true,false>");
    d.shared_memory = 32 << 10;
    CHECK(type(product(dtype::f16, 4096, 4096, 4096)) ==
          "Matrices<Halves<Half>,128,128,32,64,64,16,16,16,32,1,true,false>");
    d = gpu();
    const auto plain = [&](const matmul_problem& p) {
        return matmul_tiled::make(p, d, matmul_tiled::supports(p, d).best()).arguments.at(5);
    };
    CHECK(plain(product(dtype::f32, 4096, 4096, 4096)) == "Registers<float,128,128,8,16,8,2,8>");
    d.max_workgroup_invocations = 64;
    CHECK(plain(product(dtype::f32, 4096, 4096, 4096)) == "Registers<float,32,32,16,4,4,1,1>");
    d.max_workgroup_invocations = 32;
    CHECK_FALSE(matmul_tiled::supports(product(dtype::f32, 64, 64, 64), d).yes);
}

TEST_CASE("tiles: few rows or columns are the right factor of tiles in slices of k") {
    const device_info d = gpu();
    const auto made = [](const matmul_problem& p, const device_info& on) {
        return matmul_cooperative::make(p, on, matmul_cooperative::supports(p, on).best());
    };
    const launch rows = made(product(dtype::f16, 8, 14336, 4096), d);
    CHECK(rows.arguments.at(5) == "Matrices<Halves<Half>,32,8,64,32,8,16,8,16,32,4,false,true>");
    matmul_problem turned = product(dtype::f16, 8, 14336, 4096);
    turned.b.leaves[0].steps = {0, 1, 4096};
    CHECK(made(turned, d).arguments.at(5) ==
          "Matrices<Halves<Half>,32,8,64,32,8,16,8,16,32,4,true,true>");
    const launch columns = made(product(dtype::f16, 14336, 3, 4096), d);
    CHECK(columns.arguments.at(5) == "Matrices<Halves<Half>,32,8,64,32,8,16,8,16,32,4,true,false>");
    // Where fragments have no 8 columns, 16 are computed. More rows than 16 get no slices.
    device_info wide = d;
    std::erase_if(wide.matrix_shapes, [](const matrix_shape& s) { return s.n == 8; });
    CHECK(made(turned, wide).arguments.at(5) ==
          "Matrices<Halves<Half>,16,16,64,16,16,16,16,16,32,4,true,true>");
    for (const configuration& way :
         matmul_cooperative::supports(product(dtype::f16, 17, 14336, 4096), d).ways)
        CHECK(detail::row_of(detail::matrix_tiles, way).slices == 1);
}

TEST_CASE("tiles: a device of other rates is given other kernels") {
    device_info d = gpu(), wide = d;
    wide.measured.bandwidth *= 2;
    for (const matmul_problem& p :
         {product(dtype::f16, 64, 65537, 256), product(dtype::f16, 64, 16385, 1023)}) {
        CHECK(chosen(p, d) == "matmul/cooperative");
        CHECK(chosen(p, wide) == "matmul/packed");
    }
}
