// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/tensor/creation.hpp>
#include <pumice/tensor/gather.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;
using reals = std::vector<float>;
using places = std::vector<std::int64_t>;

TEST_CASE("gather: typed tensors are sorted, picked from and scattered to") {
    const pm::context home(pumice_test::host());
    const auto x = pm::adapt(reals{3, 1, 2}, home);
    const auto values = [](const pm::any_tensor& t) { return pm::to_vector<float>(t); };
    const auto whole = [](const pm::any_tensor& t) { return pm::to_vector<std::int64_t>(t); };
    const auto order = pm::argsort(x);
    static_assert(std::same_as<decltype(order)::element_type, std::int64_t>);
    CHECK(whole(order) == places{1, 2, 0});
    CHECK(values(pm::take_along_axis(x, order)) == reals{1, 2, 3});
    CHECK(values(pm::sort(x * 2.0f)) == reals{2, 4, 6});
    CHECK(values(pm::sort(x, pm::axis<0>, true)) == reals{3, 2, 1});
    // A truth value is no axis.
    const pm::matrix<float> m = pm::reshape(x, {3, 1}) * (4.0f - pm::reshape(x, {1, 3}));
    CHECK(pm::sort(m, true).to_vector() == reals{9, 6, 3, 3, 2, 1, 6, 4, 2});
    CHECK(pm::argsort(m, true).to_vector()[0] == 1);
    CHECK(pm::to_vector<float>(pm::sort(pm::any_tensor(m), true))[0] == 9);
    CHECK(pm::to_vector<std::int64_t>(pm::argsort(pm::any_tensor(x), true))[0] == 0);
    const auto top = pm::top_k(x, 2);
    CHECK(values(top.values) == reals{3, 2});
    CHECK(whole(top.indices) == places{0, 2});
    CHECK(pm::top_k(m, 1, false).values.to_vector() == reals{3, 1, 2});
    CHECK(pm::to_vector<float>(pm::top_k(pm::any_tensor(m), 1, false).values) == reals{3, 1, 2});
    const auto put = pm::scatter_elements(x, order, x, pm::axis<0>, pm::scattering::sum);
    static_assert(std::same_as<decltype(put)::element_type, float>);
    CHECK(values(put) == reals{5, 4, 3});
    const auto rows = pm::reshape<1, 1>(pm::adapt(places{-1}, home));
    CHECK(values(pm::scatter_nd(x, rows, pm::adapt(reals{9}, home))) == reals{3, 1, 9});
    // A number is every update.
    CHECK(values(pm::scatter_nd(x, rows, 9)) == reals{3, 1, 9});
    const pm::vector<std::int64_t> twice = pm::adapt(places{0, 0, 1}, home);
    CHECK(values(pm::scatter_elements(x, twice, 1, pm::axis<0>, pm::scattering::sum)) ==
          reals{5, 2, 2});
    CHECK(values(pm::scatter_elements(x, twice, 0.5f)) == reals{0.5f, 0.5f, 2});
    CHECK(values(pm::scatter_elements(x, twice, 1, pm::scattering::sum)) == reals{5, 2, 2});
    CHECK(values(pm::scatter_elements(x, order, x, pm::scattering::sum)) == reals{5, 4, 3});
    const pm::any_tensor data = x;
    CHECK(values(pm::scatter_elements(data, twice, 1, 0, pm::scattering::sum)) == reals{5, 2, 2});
    const pm::any_tensor whole_numbers = pm::astype(data, pm::dtype::i32);
    CHECK_THROWS_AS(pm::scatter_elements(whole_numbers, twice, 0.5), pm::error);
}
