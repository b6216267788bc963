// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How to add a reduction: an op of two values, which is associative and commutative, has one.
#include <pumice/front.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace pm = pumice;

namespace mine {
/// How probable it is that one at least of two independent events happens.
PUMICE_OP(either, 2, pumice::rules::floating, "", x + y - x * y);
}  // namespace mine

TEST_CASE("extend: a reduction of one's own fuses with what is around it, on a device and host") {
    for (const pm::context& home : {pm::context(), pm::context(pm::host_only{})}) {
        const pm::matrix<float> risks = pm::full<float>({5, 70}, 0.02f, home);
        const std::uint64_t before = home.stats().dispatches;
        const pm::vector<float> safe = 1 - mine::either.reduce(risks * 0.5f, pm::axis<1>);
        for (const float p : safe.to_vector()) CHECK(p == doctest::Approx(std::pow(0.99, 70)));
        CHECK(home.stats().dispatches <= before + 1);
    }
}
