// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a range asks of inputs: one extent along its axes, not above the bound, nothing else.
#include <pumice/exec/varying.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;
using any = pm::any_tensor;
using pumice_test::code_of;

TEST_CASE("plan range: which shapes it takes, and the extent that they bring") {
    const pm::context home{pm::host_only{}};
    const pm::executable::value in[] = {
        {pm::dtype::f32, {30, 6}}, {pm::dtype::f32, {4, 30, 30}}, {pm::dtype::f32, {6}}};
    const pm::executable e = pm::trace(home, in, {{0}, {1, 2}, {}}, 30, [](std::span<const any> x) {
        std::vector<any> r;
        r.push_back(pm::matmul(x[1], x[0] + x[2]));
        return r;
    });
    const pm::plan_range& r = *e.planned().range;
    CHECK(r.takes(0, {0, 6}));
    CHECK(r.takes(1, {4, 7, 7}));
    CHECK(r.takes(2, {6}));
    CHECK_FALSE(r.takes(0, {7, 5}));
    CHECK_FALSE(r.takes(0, {7, 6, 1}));
    CHECK_FALSE(r.takes(1, {5, 7, 7}));
    CHECK_FALSE(r.takes(2, {5}));
    CHECK(code_of([&] { r.takes(0, {31, 6}); }) == pm::errc::shape_mismatch);

    const auto of = [&](const pm::shape& s) { return pm::full(pm::dtype::f32, s, 1, home); };
    const any good[] = {of({7, 6}), of({4, 7, 7}), of({6})},
              bad[] = {of({7, 6}), of({4, 7, 8}), of({6})};
    CHECK(r.extent_of(good) == 7);
    CHECK(code_of([&] { r.extent_of(bad); }) == pm::errc::shape_mismatch);
    CHECK(r.at(7, false).at(e.planned().outputs[0]).extent == pm::shape{4, 7, 6});
    CHECK(code_of([&] { r.at(31, false); }) == pm::errc::unsupported);  // its memory is the bound's
}
