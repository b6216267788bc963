// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How to add an elementwise op: the one line PUMICE_OP, in a file of your own.
#include <pumice/front.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace pm = pumice;

namespace mine {
PUMICE_OP(soft_clip, 1, pumice::rules::floating, "", x / (1 + pm_abs(x)));
}  // namespace mine

TEST_CASE("extend: an op of one's own fuses, and runs on a device and on the host") {
    for (const pm::context& home : {pm::context(), pm::context(pm::host_only{})}) {
        const std::vector<float> values{-3, -0.5f, 0, 0.25f, 7};
        const pm::vector<float> x = pm::from_span<float>({5}, values, home);
        auto y = mine::soft_clip(x * 2.0f) + 1.0f;
        static_assert(pm::fuses<decltype(y)>);
        const std::vector<float> got = pm::vector<float>(y).to_vector();
        for (std::size_t i = 0; i < values.size(); ++i) {
            const float v = values[i] * 2;
            CHECK(got[i] == doctest::Approx(v / (1 + std::fabs(v)) + 1));
        }
    }
}
