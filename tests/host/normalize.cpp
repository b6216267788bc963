// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Softmax of rows against the same in double; tests/device compares any layout with the reference.
#include <pumice/host/normalize.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace host_test;

TEST_CASE("host normalize: half types are widened once and rounded once") {
    const pm::context home = host();
    std::vector<pm::f16> v(3 * 77);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = pm::f16(float(i % 13) / 4 - 1);
    const pm::matrix<pm::f16> x(pm::from_span<pm::f16>({3, 77}, v, home));
    const std::vector<pm::f16> soft = pm::matrix<pm::f16>(pm::softmax(x, pm::axis<1>)).to_vector();
    for (std::size_t row = 0; row < 3; ++row) {
        double total = 0;
        for (std::size_t i = 0; i < 77; ++i) total += std::exp(double(float(v[row * 77 + i])));
        for (std::size_t i = 0; i < 77; ++i) {
            const double right = std::exp(double(float(v[row * 77 + i]))) / total;
            CHECK(std::fabs(double(float(soft[row * 77 + i])) - right) <= 0x1.01p-11 * right);
        }
    }
}

namespace {

template <class T>
void compare_with_rows(const pm::shape& extent, const pm::context& home) {
    std::vector<T> v(static_cast<std::size_t>(pm::element_count(extent)));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = T(double(i * 7919 % 113) / 40 - 1);
    const pm::any_tensor x = pm::from_span<T>(extent, v, home);
    const std::int64_t middle[] = {1}, innermost[] = {2};
    // The same of rows that lie dense.
    const auto rows = [&](auto norm) {
        const pm::any_tensor turned = pm::permute_dims(x, {0, 2, 1}) + T(0);
        return pm::permute_dims(norm(turned, innermost), {0, 2, 1});
    };
    const auto near = [&](auto norm) {
        const std::vector<T> got = pm::to_vector<T>(norm(x, middle) * T(2)),
                             want = pm::to_vector<T>(rows(norm) * T(2));
        REQUIRE(got.size() == want.size());
        bool all = true;
        for (std::size_t i = 0; i < got.size(); ++i)
            all = all && std::fabs(double(got[i]) - double(want[i])) <=
                             (sizeof(T) == 8 ? 1e-13 : 1e-5) * (1 + std::fabs(double(want[i])));
        CHECK(all);
    };
    near([](const pm::any_tensor& a, const std::int64_t(&axes)[1]) {
        return pm::softmax(a, static_cast<int>(axes[0]));
    });
    near([](const pm::any_tensor& a, const std::int64_t(&axes)[1]) {
        return pm::layer_norm(a, axes);
    });
}

}  // namespace

TEST_CASE("host normalize: short rows beside each other as rows that lie dense") {
    const pm::context home = host();
    for (const pm::shape& extent : {pm::shape{701, 2, 3}, {67, 7, 5}, {41, 8, 5}, {1, 3, 2}}) {
        compare_with_rows<float>(extent, home);
        compare_with_rows<double>(extent, home);
    }
}
