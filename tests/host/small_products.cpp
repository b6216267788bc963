// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Batches of small products give what plain loops give, whatever layout the factors have.
#include <pumice/graph/einsum.hpp>
#include <pumice/host/small_products.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace host_test;

namespace {

/// Whole numbers, whose sums are exact in every type.
template <class T>
pm::any_tensor counted(const pm::shape& extent, int from, const pm::context& home) {
    std::vector<T> v(static_cast<std::size_t>(pm::element_count(extent)));
    for (std::size_t i = 0; i < v.size(); ++i)
        v[i] = pm::convert<T>((static_cast<int>(i) * 7 + from) % 11);
    return pm::from_bytes(pm::dtype_of<T>, extent, std::as_bytes(std::span(v)), home);
}
template <class T>
std::vector<T> plain(const pm::any_tensor& a, const pm::any_tensor& b, std::int64_t batch,
                     std::int64_t m, std::int64_t k, std::int64_t n) {
    using number = std::conditional_t<std::is_same_v<T, pm::f16>, float, T>;
    const std::vector<T> x = pm::to_vector<T>(a), y = pm::to_vector<T>(b);
    const auto at = [](const std::vector<T>& v, std::int64_t i) {
        return static_cast<number>(v[static_cast<std::size_t>(i) % v.size()]);  // one for all
    };
    std::vector<T> z;
    for (std::int64_t u = 0; u < batch; ++u)
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                number sum = 0;
                for (std::int64_t l = 0; l < k; ++l)
                    sum += at(x, (u * m + i) * k + l) * at(y, (u * k + l) * n + j);
                z.push_back(static_cast<T>(sum));
            }
    return z;
}
template <class T>
void compare(const pm::context& home) {
    for (const auto& [m, k, n] : {std::array{6, 6, 1},
                                  {1, 9, 5},
                                  {2, 2, 2},
                                  {3, 3, 3},
                                  {4, 4, 4},
                                  {12, 12, 12},
                                  {12, 13, 12},
                                  {2, 1, 70}}) {
        const pm::any_tensor a = counted<T>({40, m, k}, 3, home),
                             b = counted<T>({40, k, n}, 5, home);
        CHECK(pm::to_vector<T>(pm::matmul(a, b)) == plain<T>(a, b, 40, m, k, n));
        const pm::any_tensor one = counted<T>({1, k, n}, 8, home);
        CHECK(pm::to_vector<T>(pm::matmul(a, one)) == plain<T>(a, one, 40, m, k, n));
        const std::int64_t turned[] = {0, 2, 1};
        const pm::any_tensor c = pm::permute_dims(counted<T>({40, k, m}, 1, home), turned),
                             d = pm::permute_dims(counted<T>({40, n, k}, 2, home), turned);
        CHECK(pm::to_vector<T>(pm::matmul(c, d)) == plain<T>(c, d, 40, m, k, n));
    }
}

}  // namespace

TEST_CASE("host small products: batches of any layout") {
    const pm::context home = host();
    compare<float>(home);
    compare<double>(home);
    compare<std::uint32_t>(home);
    compare<std::int64_t>(home);
    compare<pm::f16>(home);
    const pm::any_tensor a = counted<float>({5, 7, 4, 6}, 1, home),
                         b = counted<float>({5, 7, 6, 3}, 2, home);
    CHECK(pm::to_vector<float>(pm::matmul(a, b)) == plain<float>(a, b, 35, 4, 6, 3));
}

TEST_CASE("host small products: matrices by vectors, as einsum asks for them") {
    const pm::context home = host();
    const pm::any_tensor a = counted<float>({300, 6, 6}, 1, home),
                         b = counted<float>({300, 6}, 2, home);
    const pm::any_tensor factors[] = {a, b};
    CHECK(pm::to_vector<float>(pm::einsum("uij,uj->ui", factors)) ==
          plain<float>(a, b, 300, 6, 6, 1));
}

TEST_CASE("host small products: along the batch, of values that are computed") {
    const pm::context home = host();
    for (const std::int64_t rows : {1, 2, 700}) {  // batches that collapse, or only one axis counts
        const pm::any_tensor a = counted<pm::f16>({rows, 9, 3, 4}, 1, home),
                             b = counted<pm::f16>({9, rows, 4, 2}, 2, home);
        const std::int64_t turned[] = {1, 0, 2, 3};
        const pm::any_tensor c = pm::permute_dims(b, turned);
        const std::vector<pm::f16> sums = plain<pm::f16>(a, c, rows * 9, 3, 4, 2);
        CHECK(pm::to_vector<pm::f16>(pm::matmul(a, c)) == sums);
        const pm::any_tensor wide = pm::astype(a, pm::dtype::f32);
        CHECK(pm::to_vector<float>(pm::matmul(wide, pm::astype(c, pm::dtype::f32)) * 1.0f) ==
              std::vector<float>(sums.begin(), sums.end()));
    }
    const pm::any_tensor none = counted<pm::f16>({0, 2, 2}, 1, home),
                         empty = counted<pm::f16>({20, 2, 0}, 1, home);
    CHECK(pm::to_vector<pm::f16>(pm::matmul(none, none)).empty());
    const std::int64_t turned[] = {0, 2, 1};
    CHECK(pm::to_vector<pm::f16>(pm::matmul(empty, pm::permute_dims(empty, turned))) ==
          std::vector<pm::f16>(80));
}
