// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The chain of ops whose cost tests count, and its operands.
#pragma once

#include <pumice/front.hpp>

#include <cstdint>
#include <vector>

namespace test {

inline pumice::matrix<float> filled(const pumice::context& home, std::int64_t rows,
                                    std::int64_t columns, float start) {
    std::vector<float> v(static_cast<std::size_t>(rows * columns));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = start + float(i % 13) * 0.25f;
    return pumice::from_span<float>({rows, columns}, v, home);
}

/// Twenty elementwise ops over four operands.
inline auto twenty(const pumice::matrix<float>& a, const pumice::matrix<float>& b,
                   const pumice::matrix<float>& c, const pumice::matrix<float>& d) {
    namespace pm = pumice;
    return pm::relu(pm::tanh(pm::abs(a * b + c) * d - a) + pm::exp(-pm::abs(b)) * c +
                    pm::square(d) - pm::sqrt(pm::abs(a)) + pm::sigmoid(c) * b);
}

}  // namespace test
