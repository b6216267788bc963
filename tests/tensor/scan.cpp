// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Running sums and products: the extents and elements that the type promises, NumPy's values,
// faults named.
#include "counting.hpp"

#include <pumice/tensor/scan.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;
using pumice_test::code_of;
using pumice_test::counting, pumice_test::reals, pumice_test::values;
using pumice_test::text_of_error;

TEST_CASE("scan: running sums and products along each axis, what is done to them fused") {
    const auto x = counting<2, 3>();
    CHECK(values(pm::cumulative_sum(x, pm::axis<1>)) == reals{0, 1, 3, 3, 7, 12});
    CHECK(values(pm::cumulative_sum(x, pm::axis<0>)) == reals{0, 1, 2, 3, 5, 7});
    CHECK(values(pm::cumulative_prod(x + 1.0f, pm::axis<-1>)) == reals{1, 2, 6, 4, 20, 120});
    CHECK(values(pm::cumulative_sum(pm::transpose(x), pm::axis<0>)) == reals{0, 3, 1, 7, 3, 12});
    CHECK(values(pm::cumulative_sum(counting<4>())) == reals{0, 1, 3, 6});
    CHECK(values(pm::cumulative_prod(counting<3>() + 2.0f)) == reals{2, 6, 24});
    const pm::matrix<float> y = pm::cumulative_sum(x * 2.0f, pm::axis<1>) - x;
    CHECK(values(y) == reals{0, 1, 4, 3, 10, 19});
    const auto long_way = values(pm::cumulative_sum(counting<1000>()));
    CHECK(long_way[999] == 499500);
}

TEST_CASE("scan: with the initial value there is one result more") {
    const auto x = counting<2, 3>();
    const auto y = pm::cumulative_sum(x, pm::axis<1>, pm::include_initial);
    static_assert(std::same_as<decltype(y)::extents_type, pm::extents<2, 4>>);
    CHECK(values(y) == reals{0, 0, 1, 3, 0, 3, 7, 12});
    CHECK(values(pm::cumulative_prod(x, pm::axis<0>, pm::include_initial)) ==
          reals{1, 1, 1, 0, 1, 2, 0, 4, 10});
    const auto none = pm::cumulative_prod(counting<2, 0>(), pm::axis<1>, pm::include_initial);
    CHECK(values(none) == reals{1, 1});
    CHECK(values(pm::cumulative_sum(counting<2, 0>(), pm::axis<1>)).empty());
}

TEST_CASE("scan: exclusive and from the end, of run-time type") {
    const pm::any_tensor x(counting<4>());
    const auto sums = [&](pm::cumulative_options o) {
        return pumice_test::values(pm::cumulative_sum(x, -1, o));
    };
    CHECK(sums({}) == reals{0, 1, 3, 6});
    CHECK(sums({.exclusive = true}) == reals{0, 0, 1, 3});
    CHECK(sums({.reverse = true}) == reals{6, 6, 5, 3});
    CHECK(sums({.exclusive = true, .reverse = true}) == reals{6, 5, 3, 0});
    CHECK(sums({.include_initial = true, .reverse = true}) == reals{6, 6, 5, 3, 0});
    CHECK(pumice_test::values(pm::apply<pm::op::negative>(pm::cumulative_prod(x, 0,
                                                                              {.reverse =
                                                                                   true}))) ==
          reals{-0.0f, -6, -6, -3});
}

TEST_CASE("scan: integers widen to 64 bits, or wrap in the type named") {
    const auto x = pm::astype<std::int8_t>(counting<5>() + 50.0f);
    const auto wraps = pm::cumulative_sum<std::int8_t>(x);
    static_assert(std::same_as<decltype(wraps)::element_type, std::int8_t>);
    CHECK(values(wraps) == reals{50, 101, -103, -50, 4});
    const auto wide = pm::cumulative_sum(x);
    static_assert(std::same_as<decltype(wide)::element_type, std::int64_t>);
    CHECK(values(wide) == reals{50, 101, 153, 206, 260});
}

TEST_CASE("scan: faults are named") {
    const pm::any_tensor x(counting<2, 3>());
    CHECK(code_of([&] { pm::cumulative_sum(x, 2); }) == pm::errc::axis_out_of_range);
    CHECK(text_of_error([&] {
              pm::cumulative_prod(pm::astype(x, pm::dtype::boolean), 0);
          }).find("cumulative_prod") != std::string::npos);
    CHECK(code_of([&] {
              pm::cumulative_sum(x, 0, {.include_initial = true, .exclusive = true});
          }) == pm::errc::invalid_argument);
    CHECK(text_of_error([&] { pm::cumulative(pm::reduction::max, x, 0); }).find("running max") !=
          std::string::npos);
}
