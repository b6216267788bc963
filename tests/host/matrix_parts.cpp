// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Parts of matrices are read and written in place, or by lines along either axis.
#include <pumice/host/matrix_parts.hpp>

#include "programs.hpp"

#include <doctest/doctest.h>

#include <numeric>

using namespace host_test;

TEST_CASE("host matrix parts: in place and by lines they hold the same numbers") {
    const pm::shape extent{2, 5, 7};
    std::vector<float> in(70), out(70);
    std::iota(in.begin(), in.end(), 0.0f);
    pm::host_buffers buffers;
    buffers.memory = {reinterpret_cast<std::byte*>(in.data()),
                      reinterpret_cast<std::byte*>(out.data())};
    const pm::fused plain = reading(0, pm::dtype::f32, extent, false),
                    twice = reading(0, pm::dtype::f32, extent, true),
                    stored = storing(1, pm::dtype::f32, extent);
    const pm::index_list batch = pm::detail::index_of(1, {2});
    const std::int64_t from[] = {2, 3}, n[] = {3, 4};
    for (const int along : {0, 1})
        for (const bool doubled : {false, true}) {
            const pm::fused& f = doubled ? twice : plain;
            pm::detail::matrix_parts<float> values(pm::leaf_alone<float>(f), f, buffers, 1, along);
            CHECK(values.in_place() == !doubled);
            const auto v = values.read(batch, from, n);
            // Without the operand that stands alone, results go by way of lines too.
            pm::detail::matrix_parts<float> results(doubled ? nullptr
                                                            : pm::result_alone<float>(stored),
                                                    stored, buffers, 1, along);
            out.assign(70, -1.0f);
            const auto to = results.place(batch, from, n);
            pm::detail::copy_numbers<float>(v, to, n[0], n[1]);
            results.write(batch, from, n);
            for (int i = 0; i < 70; ++i) {
                const int row = i / 7 % 5, column = i % 7;
                const bool inside = i >= 35 && row >= 2 && row < 5 && column >= 3;
                CHECK(out[std::size_t(i)] == (inside ? float((doubled ? 2 : 1) * i) : -1.0f));
            }
        }
}
