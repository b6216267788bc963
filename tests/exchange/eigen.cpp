// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/exchange/eigen.hpp>

#include <pumice.hpp>

#include <tests/exchange/support.hpp>

namespace pm = pumice;

TEST_CASE("eigen: maps show a tensor's own memory, and expressions become tensors") {
    pm::matrix<float> x = {{1, 2, 3}, {4, 5, 6}};
    CHECK(pm::as_eigen(x)(1, 0) == 4);
    CHECK(pm::as_eigen(x).data() == x.host().data());
    pm::as_eigen_mut(x)(0, 1) = 7;
    CHECK(x.to_vector() == std::vector<float>{1, 7, 3, 4, 5, 6});

    pm::vector<double> v = {1, 2, 3};
    static_assert(decltype(pm::as_eigen(v))::ColsAtCompileTime == 1);
    CHECK(pm::as_eigen(v).dot(pm::as_eigen(v)) == 14);
    pm::as_eigen_mut(v) *= 2;
    CHECK(v.to_vector() == std::vector<double>{2, 4, 6});

    pm::tensor<int, pm::extents<2, 1>> column(pm::from_span<int>({2, 1}, std::vector{8, 9}));
    static_assert(decltype(pm::as_eigen(column))::RowsAtCompileTime == 2);
    CHECK(pm::as_eigen(column)(1, 0) == 9);

    const pm::matrix<float> y = pm::from_eigen((pm::as_eigen(x) * 2).transpose());
    CHECK(y.shape() == pm::shape{3, 2});
    CHECK(y.to_vector() == std::vector<float>{2, 8, 14, 10, 6, 12});
    const pm::vector<int> w = pm::from_eigen(Eigen::RowVector3i(1, 2, 3));
    CHECK(w.to_vector() == std::vector<int>{1, 2, 3});
    CHECK(pm::from_eigen(Eigen::ArrayXXf(0, 4)).shape() == pm::shape{0, 4});
}
