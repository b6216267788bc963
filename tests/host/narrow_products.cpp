// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Products of few rows or columns, or of short sums, give what plain loops give: of any layout and
// type, in place or by programs.
#include <pumice/host/narrow_products.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace host_test;

namespace {

/// Whole numbers, whose sums are exact in every type but the half ones, which round them once.
template <class T>
pm::any_tensor counted(const pm::shape& extent, int seed, const pm::context& home) {
    std::vector<T> v(static_cast<std::size_t>(pm::element_count(extent)));
    for (std::size_t i = 0; i < v.size(); ++i)
        v[i] = pm::convert<T>((static_cast<int>(i % 1009) * 7 + seed) % 5);
    return pm::from_bytes(pm::dtype_of<T>, extent, std::as_bytes(std::span(v)), home);
}
pm::any_tensor turned(const pm::any_tensor& x) {
    std::vector<std::int64_t> axes;
    for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
    std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
    return pm::permute_dims(x, axes);
}
std::vector<double> values(const pm::any_tensor& x) {
    pm::eval(x);  // a cast in the same kernel sees what is not rounded yet
    return pm::to_vector<double>(pm::astype(x, pm::dtype::f64));
}
/// scale * a b + more in double, rounded or wrapped to T.
template <class T>
std::vector<double> plain(const pm::any_tensor& a, const pm::any_tensor& b, double scale = 1,
                          double more = 0) {
    const std::vector<double> x = values(a), y = values(b);
    const auto rank = a.rank();
    const std::int64_t m = a.shape()[rank - 2], k = a.shape()[rank - 1], n = b.shape()[rank - 1],
                       batch = rank == 3 ? a.shape()[0] : 1;
    std::vector<double> z;
    for (std::int64_t u = 0; u < batch; ++u)
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                double sum = 0;
                for (std::int64_t l = 0; l < k; ++l)
                    sum +=
                        x[std::size_t((u * m + i) * k + l)] * y[std::size_t((u * k + l) * n + j)];
                const double all = scale * sum + more;
                if constexpr (std::is_integral_v<T>)
                    z.push_back(double(static_cast<T>(static_cast<std::int64_t>(all))));
                else z.push_back(double(pm::convert<T>(all)));
            }
    return z;
}
template <class T>
void compare(std::int64_t batch, std::int64_t m, std::int64_t k, std::int64_t n,
             const pm::context& home) {
    const auto of = [&](std::int64_t rows, std::int64_t columns) {
        return batch ? pm::shape{batch, rows, columns} : pm::shape{rows, columns};
    };
    const pm::any_tensor a = counted<T>(of(m, k), 1, home), b = counted<T>(of(k, n), 3, home),
                         c = turned(counted<T>(of(k, m), 1, home)),
                         d = turned(counted<T>(of(n, k), 3, home));
    INFO(batch, " of ", m, " x ", k, " x ", n, ", ", pm::info(pm::dtype_of<T>).name);
    CHECK(values(pm::matmul(a, b)) == plain<T>(a, b));
    CHECK(values(pm::matmul(c, b)) == plain<T>(c, b));
    CHECK(values(pm::matmul(a, d)) == plain<T>(a, d));
    CHECK(values(pm::matmul(c, d)) == plain<T>(c, d));
    // Computed factors, and results that go through an epilogue.
    const pm::any_tensor sum = pm::add(pm::matmul(pm::add(c, c), pm::add(b, b)), pm::matmul(c, b));
    if constexpr (sizeof(T) >= 4) CHECK(values(sum) == plain<T>(c, b, 5));
}
template <class T>
void compare_all(const pm::context& home) {
    constexpr std::int64_t sizes[] = {1, 2, 3, 5, 17, 33, 257};
    for (const std::int64_t m : sizes)
        for (const std::int64_t n : sizes)
            for (const std::int64_t k : sizes)
                if (m * n * k < 40'000 && (m + 2 * n + 3 * k) % 3 != 1)
                    compare<T>(0, m, k, n, home);
    for (const auto& [m, k, n] : {std::array{0, 3, 2},
                                  {3, 0, 2},
                                  {3, 2, 0},
                                  {300, 5, 40},
                                  {2, 700, 3},
                                  {1, 3000, 1},
                                  {5000, 3, 3},
                                  {3, 3, 5000}})
        compare<T>(0, m, k, n, home);
    for (const auto& [m, k, n] :
         {std::array{17, 33, 5}, {40, 3, 33}, {1, 257, 17}, {257, 17, 1}, {3, 2, 4}})
        compare<T>(3, m, k, n, home);
}

}  // namespace

TEST_CASE("host narrow products: ragged sizes of any layout and type") {
    const pm::context home = host();
    compare_all<float>(home);
    compare_all<double>(home);
    compare_all<std::int32_t>(home);
    compare_all<std::int64_t>(home);
    compare_all<std::uint8_t>(home);
    compare_all<pm::f16>(home);
    compare_all<pm::bf16>(home);
}

TEST_CASE("host narrow products: long sums do not depend on who else is summed") {
    // Pieces are summed one after the other, whether threads share them or a block has them alone.
    const pm::context home = host();
    const std::int64_t k = 100'003;
    const pm::matrix<float> a = ramp(3, k, home), b = ramp(k, 40, home);
    const std::vector<float> all = pm::matrix<float>(pm::matmul(a, b)).to_vector();
    const std::vector<float> y = b.to_vector();
    std::vector<float> column;
    for (std::int64_t l = 0; l < k; ++l) column.push_back(y[std::size_t(l * 40)]);
    const pm::matrix<float> first(pm::from_span<float>({k, 1}, column, home));
    const std::vector<float> one = pm::matrix<float>(pm::matmul(a, first)).to_vector();
    for (std::size_t i = 0; i < 3; ++i) CHECK(one[i] == all[i * 40]);
}
