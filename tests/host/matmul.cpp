// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Products against sums in double; tests/device compares any layout with the reference.
#include <pumice/host/matmul.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace host_test;

TEST_CASE("host matmul: ragged sizes and batches, with a prologue and an epilogue" *
          doctest::test_suite("host alone")) {
    const pm::context home = host();
    for (const auto& [m, k, n] : {std::array{1, 1, 1},
                                  {3, 5, 7},
                                  {4, 256, 16},
                                  {65, 300, 33},
                                  {130, 257, 50},
                                  // columns in several blocks: by rows, and each block by a thread
                                  {70, 20'000, 100},
                                  {2, 70'000, 37}}) {
        const pm::matrix<float> a = ramp(m, k, home), b = ramp(k, n, home);
        const std::vector<float> x = a.to_vector(), y = b.to_vector();
        std::vector<double> want(std::size_t(m * n), 1.0);
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j)
                for (int l = 0; l < k; ++l)
                    want[std::size_t(i * n + j)] +=
                        2 * double(x[std::size_t(i * k + l)]) * double(y[std::size_t(l * n + j)]);
        const pm::matrix<float> c = pm::matmul(a * 2.0f, b) + 1.0f;
        CHECK(near(c.to_vector(), want, 8 * 0x1p-23 * k));
        const pm::matrix<float> turned =
            pm::matmul(pm::transpose(pm::transpose(a) * 2.0f), b) + 1.0f;
        CHECK(near(turned.to_vector(), want, 8 * 0x1p-23 * k));
    }
}
