// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/expr/host_block.hpp>
#include <pumice/expr/ops.hpp>

#include <doctest/doctest.h>

using namespace pumice;

TEST_CASE("every arithmetic type has a host type of its size") {
    const int sizes[] = {4, 8, 4, 8, 4, 8, 1};
    for (int i = 0; i < 7; ++i)
        detail::with_host_arithmetic(static_cast<arithmetic>(i), [&]<class T>(T) {
            CHECK(static_cast<int>(sizeof(T)) == sizes[i]);
        });
    static_assert(detail::kind_of_host<host_arithmetic<arithmetic::i32>> == kind::signed_integer);
    static_assert(detail::kind_of_host<host_arithmetic<arithmetic::u64>> == kind::unsigned_integer);
    static_assert(detail::kind_of_host<bool> == kind::boolean &&
                  detail::kind_of_host<double> == kind::floating);
}

TEST_CASE("a block of operands, and none") {
    const double x[] = {1, 4, 9}, y[] = {1, 1, 2};
    const void* in[] = {x, y, nullptr};
    double r[] = {0, 0, 0};
    detail::host_block<op::subtract>(arithmetic::f64, in, r, 3);
    CHECK(r[2] == 7);
    detail::host_block<op::sqrt>(arithmetic::f64, in, r, 2);
    CHECK(r[1] == 2);
    CHECK(r[2] == 7);
    detail::host_block<op::sqrt>(arithmetic::f64, in, r, 0);
    CHECK(r[0] == 1);
}
