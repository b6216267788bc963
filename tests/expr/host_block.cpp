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

TEST_CASE("bools are chosen by, joined and converted, in blocks and their rest") {
    std::uint8_t chosen[70], other[70], both[70];
    float x[70], y[70], r[70];
    for (std::size_t i = 0; i < 70; ++i) {
        chosen[i] = i * 7 % 3 == 0, other[i] = i % 2;
        x[i] = static_cast<float>(i), y[i] = -x[i];
    }
    const void* choice[] = {chosen, x, y};
    detail::host_block<op::where>(arithmetic::f32, choice, r, 70);
    const void* pair[] = {chosen, other, nullptr};
    detail::host_block<op::logical_and>(arithmetic::boolean, pair, both, 70);
    float real[70];
    detail::convert_each<std::uint8_t, float>(chosen, 1, real, 1, 70);
    std::int64_t counts[70];
    detail::run_wide(detail::count_up{}, counts + 0, std::int64_t{-4}, std::int64_t{3},
                     std::int64_t{69});
    int wrong = 0;
    for (std::size_t i = 0; i < 69; ++i) {
        wrong += r[i] != (chosen[i] ? x[i] : y[i]) || both[i] != (chosen[i] & other[i]);
        wrong += real[i] != static_cast<float>(chosen[i]) ||
                 counts[i] != static_cast<std::int64_t>(3 * i) - 4;
    }
    CHECK(wrong == 0);
}
