// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

TEST_CASE("replay: each run of a compiled function on the host is given its own inputs") {
    const pm::context home{pm::host_only{}};
    const auto f = pm::compile([](const pm::vector<float>& x, const pm::vector<float>& y) {
        return pm::vector<float>(pm::sum(x * y, pm::axis<0>) + x);
    });
    for (const std::int64_t n : {0, 1, 7, 300}) {
        const pm::vector<float> x = pm::full<float>({n}, 2, home);
        for (int run = 0; run < 3; ++run) {
            const pm::vector<float> y = pm::full<float>({n}, static_cast<float>(run), home);
            for (const float v : f(x, y).to_vector())
                CHECK(v == 2 + 2 * static_cast<float>(run * n));
        }
    }
}
