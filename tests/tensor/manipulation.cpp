// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The typed forms: the type says element and rank, the values are those of the run-time forms.
#include <pumice/tensor/creation.hpp>
#include <pumice/tensor/manipulation.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;
using reals = std::vector<float>;

namespace {

const pm::context home(pumice_test::host());

pm::matrix<float> counting(std::int64_t rows, std::int64_t columns) {
    return pm::reshape_to(pm::arange<float>(0, double(rows * columns), 1, home), rows, columns);
}
reals values(const pm::any_tensor& t) { return pm::to_vector<float>(t); }
template <class X, int Rank>
constexpr bool has_rank = X::extents_type::rank == Rank;

}  // namespace

TEST_CASE("manipulation: typed tensors keep their element and know their rank") {
    const auto x = counting(2, 2);
    const auto s = pm::stack(pm::axis<-1>, x, x + 4.0f);
    static_assert(has_rank<decltype(s), 3>);
    CHECK(values(s) == reals{0, 4, 1, 5, 2, 6, 3, 7});
    const auto rows = pm::unstack(x, pm::axis<1>);
    static_assert(has_rank<decltype(rows)::value_type, 1>);
    CHECK(values(rows.at(1)) == reals{1, 3});
    CHECK(values(pm::split(x, 2, pm::axis<1>).at(0)) == reals{0, 2});
    const std::int64_t places[] = {1};
    CHECK(values(pm::split(x, places).at(1)) == reals{2, 3});
    CHECK(values(pm::repeat(x, 2, pm::axis<1>)) == reals{0, 0, 1, 1, 2, 2, 3, 3});
    static_assert(has_rank<decltype(pm::repeat(x, 2)), 1>);
    CHECK(values(pm::repeat(x, 2)) == reals{0, 0, 1, 1, 2, 2, 3, 3});
    static_assert(has_rank<decltype(pm::tile(x, {2, 1, 1})), 3>);
    CHECK(values(pm::tile(x, {2, 1})) == reals{0, 1, 2, 3, 0, 1, 2, 3});
    CHECK(values(pm::roll(x, 1)) == reals{3, 0, 1, 2});
    CHECK(values(pm::roll(x + 1.0f, 1, pm::axis<0>)) == reals{3, 4, 1, 2});
    CHECK(values(pm::pad(x, {{0, 1}, {1, 0}})) == reals{0, 0, 1, 0, 2, 3, 0, 0, 0});
    CHECK(values(pm::pad(x, {{0, 1}, {0, 0}}, pm::pad_mode::edge)) == reals{0, 1, 2, 3, 2, 3});
}

TEST_CASE("manipulation: one number is the width of every axis, or the times of the last") {
    const auto x = counting(2, 2);
    static_assert(has_rank<decltype(pm::pad(x, 1)), 2>);
    CHECK(values(pm::pad(x, 1)) == values(pm::pad(x, {{1, 1}, {1, 1}})));
    CHECK(values(pm::pad(x, 1, pm::pad_mode::constant, 7)).front() == 7);
    CHECK(values(pm::pad(pm::any_tensor(x), 1, pm::pad_mode::edge)) ==
          values(pm::pad(x, {{1, 1}, {1, 1}}, pm::pad_mode::edge)));
    CHECK(values(pm::pad(x, -1)).empty());
    const std::vector<pm::matrix<float>> list{x, x};
    static_assert(has_rank<decltype(pm::stack(list)), 3> &&
                  has_rank<decltype(pm::concat(list)), 2>);
    CHECK(values(pm::stack(list)) == values(pm::stack(pm::axis<0>, x, x)));
    CHECK(values(pm::stack(list, 1)) == values(pm::stack(pm::axis<1>, x, x)));
    CHECK(values(pm::concat(std::array{x, x}, -1)) == values(pm::concat(pm::axis<1>, x, x)));
    CHECK(values(pm::concat(std::array{x, x}, pm::axis<1>)) ==
          values(pm::concat(pm::axis<1>, x, x)));
    CHECK(values(pm::stack(std::array{x, x}, pm::axis<2>)) == values(pm::stack(pm::axis<2>, x, x)));
    CHECK_THROWS_AS(pm::stack(std::vector<pm::matrix<float>>{}), pm::error);
    CHECK(values(pm::pad(x, {{1}, {2}})) == values(pm::pad(x, {{1, 0}, {2, 0}})));
    CHECK(values(pm::pad(x, {1, 2})) == values(pm::pad(x, {{1, 2}, {1, 2}})));
    CHECK(values(pm::pad(pm::any_tensor(x), {0, 1}, pm::pad_mode::edge)) ==
          values(pm::pad(x, {{0, 1}, {0, 1}}, pm::pad_mode::edge)));
    static_assert(has_rank<decltype(pm::tile(x, 2)), 2>);
    CHECK(values(pm::tile(x, 2)) == reals{0, 1, 0, 1, 2, 3, 2, 3});
    CHECK(values(pm::tile(x, {2})) == reals{0, 1, 0, 1, 2, 3, 2, 3});
    CHECK(values(pm::tile(pm::any_tensor(x), 2)) == reals{0, 1, 0, 1, 2, 3, 2, 3});
    const pm::vector<float> row = pm::squeeze(counting(1, 3));
    CHECK(row.to_vector() == reals{0, 1, 2});
}

TEST_CASE("einsum: over typed tensors, expressions and run-time tensors") {
    const auto a = counting(2, 3);
    const pm::any_tensor b = counting(3, 2);
    const auto y = pm::einsum("ij,jk->ik", a * 2.0f, b).as<pm::matrix<float>>();
    CHECK(values(y) == reals{20, 26, 56, 80});
    CHECK(values(pm::einsum("ij->j", a)) == reals{3, 5, 7});
}
