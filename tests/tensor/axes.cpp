// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Ops over axes that are in the type: the extents that the type promises are those that come, and
// the values are NumPy's.
#include "counting.hpp"

#include <pumice/tensor/index.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace pm = pumice;
using pumice_test::counting, pumice_test::home, pumice_test::reals, pumice_test::values;

TEST_CASE("axes: reductions over one axis, several, all, and with the axes kept") {
    const auto x = counting<2, 3>();
    CHECK(values(pm::sum(x)) == reals{15});
    CHECK(values(pm::sum(x, pm::axis<0>)) == reals{3, 5, 7});
    CHECK(values(pm::sum(x, pm::axis<-1>)) == reals{3, 12});
    CHECK(values(pm::sum(x, pm::axes<0, 1>)) == reals{15});
    CHECK(values(pm::prod(x, pm::axis<1>)) == reals{0, 60});
    CHECK(values(pm::mean(x, pm::axis<0>)) == reals{1.5f, 2.5f, 3.5f});
    CHECK(values(pm::max(x, pm::axis<1>)) == reals{2, 5});
    CHECK(values(pm::min(x, pm::axis<0>)) == reals{0, 1, 2});
    CHECK(values(pm::argmax(x, pm::axis<1>)) == reals{2, 2});
    CHECK(values(pm::argmin(x)) == reals{0});
    const auto kept = pm::sum(x, pm::axis<1>, pm::keepdims);
    static_assert(std::same_as<decltype(kept)::extents_type, pm::extents<2, 1>>);
    CHECK(values(kept) == reals{3, 12});
    CHECK(values(pm::sum(x, pm::keepdims)) == reals{15});
    CHECK(values(pm::logsumexp(x, pm::axis<1>))[0] ==
          doctest::Approx(std::log(1 + std::exp(1.0) + std::exp(2.0))));
    const auto above = x > 2.0f;
    CHECK(values(pm::any(above, pm::axis<1>)) == reals{0, 1});
    CHECK(values(pm::all(above, pm::axis<1>)) == reals{0, 1});
    const auto deep = counting<2, 3, 4>();
    CHECK(values(pm::sum(deep, pm::axes<0, 2>)) == reals{60, 92, 124});
    CHECK(values(pm::sum(deep * 2.0f, pm::axes<-1, -3>)) == reals{120, 184, 248});
}

TEST_CASE("axes: in the type, of a tensor of run-time type") {
    const pm::any_tensor x = pm::from_span<float>({2, 3}, reals{1, 2, 3, 4, 5, 6}, home);
    CHECK(pm::to_vector<float>(pm::sum(x, pm::axis<1>)) == reals{6, 15});
    CHECK(pm::to_vector<float>(pm::max(x, pm::axes<0, -1>)) == reals{6});
    CHECK(pm::sum(x, pm::axis<-2>, pm::keepdims).shape() == pm::shape{1, 3});
    CHECK(test::thrown_by([&] { pm::sum(x, pm::axis<2>); }).code() == pm::errc::axis_out_of_range);
}

TEST_CASE("axes: a reduction by an op") {
    const auto x = counting<2, 3>();
    CHECK(values(pm::maximum.reduce(x, pm::axis<1>)) == reals{2, 5});
    CHECK(values(pm::add.reduce(x * 2.0f, pm::axis<0>, pm::keepdims)) == reals{6, 10, 14});
    CHECK(values(pm::logical_xor.reduce(x > 1.0f)) == reals{0});
    const std::int64_t first[] = {0};
    CHECK(pm::minimum.reduce(pm::any_tensor(x.get()), first).shape() == pm::shape{3});
}

TEST_CASE(
    "axes: of a tensor of run-time type they stand in the call, alone, in braces or in a list") {
    const pm::any_tensor x(counting<2, 3, 4>().get());
    CHECK(pm::to_vector<float>(pm::sum(x, {0, 2})) == reals{60, 92, 124});
    CHECK(pm::sum(x, {-1}, true).shape() == pm::shape{2, 3, 1});
    CHECK(pm::sum(x, -1, true).shape() == pm::shape{2, 3, 1});
    CHECK(pm::to_vector<float>(pm::max(x, {0, 1, 2})) == reals{23});
    CHECK_THROWS_AS(pm::mean(x, {0, 3}), pm::error);
    CHECK_THROWS_AS(pm::mean(x, {1, -2}), pm::error);
}

TEST_CASE("axes: softmax sums to one, and its logarithm does not overflow") {
    const auto x = counting<2, 3>() * 100.0f;
    for (const float s : values(pm::sum(pm::softmax(x), pm::axis<1>)))
        CHECK(s == doctest::Approx(1));
    for (const float s : values(pm::sum(pm::softmax(x, pm::axis<0>), pm::axis<0>)))
        CHECK(s == doctest::Approx(1));
    const reals logs = values(pm::log_softmax(x));
    CHECK(logs[0] == doctest::Approx(-200));
    CHECK(logs[2] == doctest::Approx(0));
}

TEST_CASE("axes: products of every pair of ranks") {
    const auto m = counting<2, 3>();
    const auto v = counting<3>();
    const auto w = counting<2>();
    CHECK(values(pm::matmul(m, v)) == reals{5, 14});
    CHECK(values(pm::matmul(w, m)) == reals{3, 4, 5});
    CHECK(values(pm::matmul(v, v)) == reals{5});
    CHECK(values(pm::matmul(m, pm::transpose(m))) == reals{5, 14, 14, 50});
    const auto batch = pm::matmul(counting<2, 2, 3>(), counting<3, 2>());
    static_assert(std::same_as<decltype(batch)::extents_type, pm::extents<2, 2, 2>>);
    CHECK(values(batch) == reals{10, 13, 28, 40, 46, 67, 64, 94});
    // A vector is a matrix that is seen without one of its axes: nothing is copied for it.
    const pm::vector<float> seen = pm::matmul(m, v + 0.0f);
    const std::uint64_t before = home.stats().dispatches;
    pm::eval(seen);
    CHECK(home.stats().dispatches - before == 1);
    CHECK(values(seen) == reals{5, 14});
}

TEST_CASE("axes: joins and gathers") {
    const auto a = counting<2, 2>();
    CHECK(values(pm::concat(pm::axis<0>, a, a)) == reals{0, 1, 2, 3, 0, 1, 2, 3});
    CHECK(values(pm::concat(pm::axis<-1>, a, a + 4.0f)) == reals{0, 1, 4, 5, 2, 3, 6, 7});
    const pm::vector<std::int64_t> at = pm::adapt(std::vector<std::int64_t>{1, 0, -1}, home);
    CHECK(values(pm::take(a, at)) == reals{2, 3, 0, 1, 2, 3});
    CHECK(values(pm::take(a, at, pm::axis<1>)) == reals{1, 0, 1, 3, 2, 3});
    // A number takes its axis away, and gives a view.
    CHECK(values(pm::take(a, -1)) == reals{2, 3});
    CHECK(values(pm::take(a, 1u, pm::axis<1>)) == reals{1, 3});
    CHECK(values(pm::take(pm::any_tensor(a), 0, -1)) == reals{0, 2});
    CHECK_THROWS_AS(pm::take(a, 2), pm::error);
    CHECK_THROWS_AS(pm::take(pm::any_tensor(a), 0, 2), pm::error);
}
