// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Small reductions, softmax and elementwise nodes without a plan.
#include <pumice/exec/host_alone.hpp>

#include "host_support.hpp"

#include <tests/support/sanitizer.hpp>

#include <doctest/doctest.h>

using namespace host_test;

TEST_CASE(
    "host alone: a reduction or softmax of a realised tensor takes no plan, and says what it was") {
    const pm::context home = host();
    const pm::matrix<float> x = ramp(4, 50, home);
    const pm::vector<float> s = pm::sum(x, pm::axis<1>);
    const pm::matrix<float> soft = pm::softmax(x, pm::axis<1>), y = x * 2.0f + x;
    pm::eval(s);
    pm::eval(soft);
    pm::eval(y);
    CHECK(home.stats().dispatches == 3);
    CHECK(home.stats().evals == 3);
    CHECK(pm::explain(s) == "host/reduce (4,)\n");
    CHECK(pm::explain(soft) == "host/normalize (4, 50)\n");
    CHECK(pm::explain(y) == "host/elementwise (4, 50): multiply, add\n");
    CHECK(pm::explain(x) == "data from the host\n");
    CHECK(near(pm::vector<float>(pm::sum(soft, pm::axis<1>)).to_vector(),
               std::vector<double>(4, 1.0), 1e-6));
    // Reduced in the middle, of no elements, of a strided view: not alone, but right.
    const pm::tensor<float, pm::dims<3>> cube =
        pm::reshape(x, pm::shape{2, 20, 5}).as<pm::tensor<float, pm::dims<3>>>();
    CHECK(pm::sum(cube, pm::axis<1>).shape() == pm::shape{2, 5});
    const pm::matrix<float> none = ramp(0, 5, home);
    CHECK(pm::vector<float>(pm::sum(none, pm::axis<0>)).to_vector() == std::vector<float>(5, 0.0f));
    CHECK(pm::vector<float>(pm::sum(none, pm::axis<1>)).to_vector().empty());
    CHECK(near(pm::vector<float>(pm::sum(pm::transpose(x), pm::axis<0>)).to_vector(),
               by_rows(x, total_of), 1e-4));
}

TEST_CASE("host alone: memory that is not there leaves a node lazy, and it can be tried again") {
    const pm::context home = host();
    const pm::matrix<float> one =
        pm::matrix<float>(pm::from_span<float>({1, 1}, std::vector<float>{2}, home));
    CHECK(pm::matrix<float>(one + one).item() == 4.0f);
    if (test::address_sanitizer) return;  // it ends a program that asks for so much
    const pm::any_tensor huge(pm::broadcast_to(one, pm::shape{std::int64_t(1) << 30, std::int64_t(1)
                                                                                         << 25}));
    const pm::any_tensor twice = huge + huge;
    for (int i = 0; i < 2; ++i) {
        try {
            pm::eval(twice);
            FAIL("there is no such memory");
        } catch (const pm::error& e) {
            CHECK(e.code() == pm::errc::out_of_memory);
        }
        CHECK(!twice.get()->realised());
    }
    CHECK(pm::matrix<float>(one * one).item() == 4.0f);
}
