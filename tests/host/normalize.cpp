// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Softmax of rows against the same in double; tests/device compares any layout with the reference.
#include <pumice/host/normalize.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace host_test;

TEST_CASE("host normalize: half types are widened once and rounded once") {
    const pm::context home = host();
    std::vector<pm::f16> v(3 * 77);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = pm::f16(float(i % 13) / 4 - 1);
    const pm::matrix<pm::f16> x(pm::from_span<pm::f16>({3, 77}, v, home));
    const std::vector<pm::f16> soft = pm::matrix<pm::f16>(pm::softmax(x, pm::axis<1>)).to_vector();
    for (std::size_t row = 0; row < 3; ++row) {
        double total = 0;
        for (std::size_t i = 0; i < 77; ++i) total += std::exp(double(float(v[row * 77 + i])));
        for (std::size_t i = 0; i < 77; ++i) {
            const double right = std::exp(double(float(v[row * 77 + i]))) / total;
            CHECK(std::fabs(double(float(soft[row * 77 + i])) - right) <= 0x1.01p-11 * right);
        }
    }
}
