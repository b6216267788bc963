// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Many elements and many rows picked, by threads; tests/device compares any type and layout with
// the reference.
#include <pumice/host/take.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace host_test;

TEST_CASE("host take: elements and rows, from either end") {
    const pm::context home = host();
    const pm::matrix<float> x = ramp(301, 217, home);
    const std::vector<float> v = x.to_vector();
    std::vector<std::int64_t> places(2000);
    for (std::size_t i = 0; i < places.size(); ++i)
        places[i] = static_cast<std::int64_t>(i * 7919 % 400) - 200;
    const pm::vector<std::int64_t> indices = pm::from_span<std::int64_t>({2000}, places, home);
    const pm::matrix<float> rows(pm::take(x, indices, pm::axis<0>)),
        columns(pm::take(x, indices, pm::axis<1>));
    const std::vector<float> by_rows = rows.to_vector(), by_columns = columns.to_vector();
    const auto within = [](std::int64_t i, std::int64_t n) {
        return std::clamp<std::int64_t>(i < 0 ? i + n : i, 0, n - 1);
    };
    bool right = true;
    for (std::int64_t i = 0; i < 2000; ++i) {
        const std::int64_t place = places[static_cast<std::size_t>(i)];
        for (std::int64_t c = 0; c < 217; ++c)
            right = right && by_rows[static_cast<std::size_t>(i * 217 + c)] ==
                                 v[static_cast<std::size_t>(within(place, 301) * 217 + c)];
        for (std::int64_t r = 0; r < 301; ++r)
            right = right && by_columns[static_cast<std::size_t>(r * 2000 + i)] ==
                                 v[static_cast<std::size_t>(r * 217 + within(place, 217))];
    }
    CHECK(right);
}
