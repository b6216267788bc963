// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Shapes and faults, and values of small cases; tests/reference compares with NumPy in every type.
#include <pumice/graph/gather.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace pumice;
using namespace pumice_test;
using reals = std::vector<float>;
using places = std::vector<std::int64_t>;

namespace {

const std::shared_ptr<engine> home = host();

any_tensor counted(const shape& extent) { return counting(home, extent); }
any_tensor list(const shape& extent, const std::vector<float>& v) { return data(home, extent, v); }
any_tensor indices(const shape& extent, const std::vector<float>& v, dtype type = dtype::i64) {
    return astype(list(extent, v), type);
}
places whole(const any_tensor& t) { return to_vector<std::int64_t>(t); }

}  // namespace

TEST_CASE("gather: an index for each element along an axis, the others broadcast") {
    const any_tensor x = counted({2, 3});
    CHECK(values(take_along_axis(x, indices({2, 1}, {2, -3}), 1)) == reals{2, 3});
    CHECK(values(take_along_axis(x, indices({1, 3}, {0, 1, 9}, dtype::i32), 0)) == reals{0, 4, 5});
    CHECK(values(take_along_axis(x, indices({1, 2}, {2, 0}))) == reals{2, 0, 5, 3});
    CHECK(take_along_axis(x, indices({2, 0}, {}), 1).shape() == shape{2, 0});
    CHECK(code_of([&] { take_along_axis(x, indices({2}, {0, 0})); }) == errc::rank_mismatch);
    CHECK(code_of([&] { take_along_axis(x, indices({4, 1}, {0, 0, 0, 0})); }) ==
          errc::shape_mismatch);
    CHECK(code_of([&] { take_along_axis(x, x); }) == errc::dtype_mismatch);
    CHECK(code_of([&] { take_along_axis(x, indices({2, 1}, {0, 0}), 2); }) ==
          errc::axis_out_of_range);
    CHECK(code_of([&] { take_along_axis(counted({2, 0}), indices({2, 1}, {0, 0})); }) ==
          errc::index_out_of_range);
}

TEST_CASE("gather: tuples of indices pick elements or slices, within batches") {
    const any_tensor x = counted({2, 2, 3});
    CHECK(values(gather_nd(x, indices({2, 3}, {0, 1, 2, 1, 0, -1}))) == reals{5, 8});
    CHECK(values(gather_nd(x, indices({1, 2}, {1, 1}))) == reals{9, 10, 11});
    CHECK(values(gather_nd(x, indices({2, 1}, {1, 0}), 1)) == reals{3, 4, 5, 6, 7, 8});
    CHECK(gather_nd(x, indices({0, 2}, {})).shape() == shape{0, 3});
    CHECK(code_of([&] { gather_nd(x, indices({1, 4}, {0, 0, 0, 0})); }) == errc::shape_mismatch);
    CHECK(code_of([&] { gather_nd(x, indices({3, 1}, {0, 0, 0}), 1); }) == errc::shape_mismatch);
    CHECK(code_of([&] { gather_nd(x, indices({2}, {0, 0}), 1); }) == errc::invalid_argument);
    CHECK(code_of([&] { gather_nd(x, indices({2, 0}, {})); }) == errc::shape_mismatch);
    CHECK(code_of([&] { gather_nd(counted({0, 2}), indices({1, 1}, {0})); }) ==
          errc::index_out_of_range);
}

TEST_CASE("scatter: elements along an axis; the last stays, sums take all, outside is left out") {
    const any_tensor x = counted({3, 2});
    const any_tensor i = indices({2, 2}, {0, 2, 0, 7}), u = list({2, 2}, {10, 20, 30, 40});
    CHECK(values(scatter_elements(x, i, u, 0)) == reals{30, 1, 2, 3, 4, 20});
    CHECK(values(scatter_elements(x, i, u, 0, scattering::sum)) == reals{40, 1, 2, 3, 4, 25});
    CHECK(values(scatter_elements(x, i, u, 0, scattering::prod)) == reals{0, 1, 2, 3, 4, 100});
    CHECK(values(scatter_elements(x, i, u, 0, scattering::max)) == reals{30, 1, 2, 3, 4, 20});
    CHECK(values(scatter_elements(x, i, u, 0, scattering::min)) == reals{0, 1, 2, 3, 4, 5});
    CHECK(values(scatter_elements(x, indices({1, 1}, {-1}, dtype::i32), list({1, 1}, {9}), 1)) ==
          reals{0, 9, 2, 3, 4, 5});
    CHECK(values(scatter_elements(x, indices({0, 2}, {}), list({0, 2}, {}))) == values(x));
    CHECK(scatter_elements(counted({0, 2}), indices({1, 1}, {0}), list({1, 1}, {9})).size() == 0);
    CHECK(code_of([&] { scatter_elements(x, indices({1, 3}, {0, 0, 0}), list({1, 3}, {}), 0); }) ==
          errc::shape_mismatch);
    CHECK(code_of([&] { scatter_elements(x, i, counted({2, 1})); }) == errc::shape_mismatch);
    CHECK(code_of([&] { scatter_elements(x, i, astype(u, dtype::f16)); }) == errc::dtype_mismatch);
    CHECK(code_of([&] { scatter_elements(x, u, u); }) == errc::dtype_mismatch);
    const any_tensor truth = astype(x, dtype::boolean);
    CHECK(code_of([&] {
              scatter_elements(truth, i, astype(u, dtype::boolean), 0, scattering::max);
          }) == errc::dtype_mismatch);
}

TEST_CASE("scatter: tuples of indices put slices") {
    const any_tensor x = counted({3, 2});
    const any_tensor rows = indices({3, 1}, {2, 2, -3}), u = list({3, 2}, {1, 2, 3, 4, 5, 6});
    CHECK(values(scatter_nd(x, rows, u)) == reals{5, 6, 2, 3, 3, 4});
    CHECK(values(scatter_nd(x, rows, u, scattering::sum)) == reals{5, 7, 2, 3, 8, 11});
    CHECK(values(scatter_nd(x, indices({2, 2}, {1, 1, 0, 5}), list({2}, {8, 9}))) ==
          reals{0, 1, 2, 8, 4, 5});
    CHECK(code_of([&] { scatter_nd(x, rows, counted({3, 3})); }) == errc::shape_mismatch);
    CHECK(code_of([&] { scatter_nd(x, indices({1, 3}, {0, 0, 0}), u); }) == errc::shape_mismatch);
    CHECK(code_of([&] { scatter_nd(x, indices({}, {0}), u); }) == errc::shape_mismatch);
}

TEST_CASE("sort: NaN comes last, ties keep their order, descending too") {
    const float nan = std::nanf("");
    const any_tensor x = list({6}, {3, nan, -1, 3, -0.0f, 0});
    CHECK(whole(argsort(x)) == places{2, 4, 5, 0, 3, 1});
    CHECK(whole(argsort(x, 0, true)) == places{1, 0, 3, 4, 5, 2});
    const reals sorted = values(sort(x));
    CHECK(sorted[0] == -1);
    CHECK(std::signbit(sorted[1]));
    CHECK(std::isnan(sorted[5]));
    const any_tensor m = list({2, 3}, {5, 1, 3, 2, 4, 0});
    CHECK(values(sort(m, 0)) == reals{2, 1, 0, 5, 4, 3});
    CHECK(values(sort(m, -1, true)) == reals{5, 3, 1, 4, 2, 0});
    CHECK(whole(argsort(astype(m, dtype::u8), 0)) == places{1, 0, 1, 0, 1, 0});
    CHECK(sort(counted({0, 3})).shape() == shape{0, 3});
    CHECK(argsort(counted({3, 0})).shape() == shape{3, 0});
    CHECK(code_of([&] { sort(counted({})); }) == errc::axis_out_of_range);
    CHECK(code_of([&] { argsort(m, 2); }) == errc::axis_out_of_range);
}

TEST_CASE("sort: the greatest or least few, with where they lie") {
    const any_tensor m = list({2, 3}, {5, 1, 5, 2, 4, 0});
    const auto [most, at] = top_k(m, 2);
    CHECK(values(most) == reals{5, 5, 4, 2});
    CHECK(whole(at) == places{0, 2, 1, 0});
    CHECK(values(top_k(m, 1, 0, false).values) == reals{2, 1, 0});
    CHECK(top_k(m, 0).values.shape() == shape{2, 0});
    CHECK(values(top_k(m, 0).values).empty());
    CHECK(whole(top_k(m, 3).indices) == whole(argsort(m, true)));
    CHECK(code_of([&] { top_k(m, 4); }) == errc::invalid_argument);
    CHECK(code_of([&] { top_k(m, -1); }) == errc::invalid_argument);
}
