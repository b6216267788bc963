// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/wide.hpp>

#include <doctest/doctest.h>

namespace {

/// A product and a sum that differ from a fused multiply-add.
struct multiply_and_add {
    [[gnu::always_inline]] float operator()(const float* x, int n, float* out) const {
        for (int i = 0; i < n; ++i) out[i] = x[i] * x[i] + x[0];
        return out[n - 1];
    }
};

}  // namespace

TEST_CASE("wide vectors give the results of narrow ones, and what the loop returns") {
    float x[37], wide[37], narrow[37];
    for (int i = 0; i < 37; ++i) x[i] = 1.0f + float(i) * 0x1.000002p-12f;
    const float last = pumice::detail::run_wide(multiply_and_add{}, x, 37, wide);
    multiply_and_add{}(x, 37, narrow);
    CHECK(last == wide[36]);
    for (int i = 0; i < 37; ++i) CHECK(wide[i] == narrow[i]);
}
