// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Softmax, its logarithm and norms of short rows against long double, in every layout.
#include <pumice/host/short_rows.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace host_test;

namespace {

using number = long double;

std::vector<number> right(pm::normalization what, std::vector<number> v) {
    const auto n = static_cast<number>(v.size());
    number top = v[0], sum = 0, mean = 0;
    for (const number x : v) top = std::max(top, x), mean += x / n;
    if (what == pm::normalization::layer_norm) {
        for (const number x : v) sum += (x - mean) * (x - mean);
        for (number& x : v) x = (x - mean) / std::sqrt(sum / n + 1e-5L);
        return v;
    }
    for (const number x : v) sum += std::exp(x - top);
    for (number& x : v)
        x = what == pm::normalization::softmax ? std::exp(x - top) / sum : x - top - std::log(sum);
    return v;
}
pm::any_tensor normalized(pm::normalization what, const pm::any_tensor& x, int axis) {
    const std::int64_t axes[] = {axis};
    if (what == pm::normalization::softmax) return pm::softmax(x, axis);
    if (what == pm::normalization::log_softmax) return pm::log_softmax(x, axis);
    return pm::layer_norm(x, pm::span<const std::int64_t>(axes, 1), 1e-5);
}
template <class T>
void compare(double bound) {
    const pm::context home = host();
    for (const std::int64_t rows : {1, 2, 3, 5, 17, 33, 257, 3000})
        for (const std::int64_t n : {1, 2, 3, 5, 17, 31, 33, 95}) {
            std::vector<T> v(static_cast<std::size_t>(rows * n));
            for (std::size_t i = 0; i < v.size(); ++i)
                v[i] = pm::convert<T>(double((i * 7919) % 1013) / 128 - 3);
            const pm::any_tensor x =
                pm::from_bytes(pm::dtype_of<T>, {rows, n}, std::as_bytes(std::span(v)), home);
            const std::int64_t turn[] = {1, 0};
            const pm::any_tensor lines =
                pm::permute_dims(pm::from_bytes(pm::dtype_of<T>, {rows, n},
                                                std::as_bytes(std::span(v)), home),
                                 turn);
            for (const auto what : {pm::normalization::softmax, pm::normalization::log_softmax,
                                    pm::normalization::layer_norm}) {
                const auto wide = [](const pm::any_tensor& y) {
                    return pm::to_vector<double>(pm::astype(y, pm::dtype::f64));
                };
                const std::vector<double>
                    got = wide(normalized(what, x, 1)),
                    turned = wide(pm::permute_dims(normalized(what, lines, 0), turn)),
                    more = wide(pm::add(normalized(what, pm::negative(pm::negative(x)), 1), x));
                double worst = 0;
                for (std::int64_t r = 0; r < rows; ++r) {
                    std::vector<number> row;
                    for (std::int64_t i = 0; i < n; ++i)
                        row.push_back(static_cast<number>(double(v[std::size_t(r * n + i)])));
                    const std::vector<number> want = right(what, row);
                    for (std::int64_t i = 0; i < n; ++i) {
                        const auto at = static_cast<std::size_t>(r * n + i);
                        const number w = want[std::size_t(i)];
                        worst =
                            std::max({worst, double(std::fabs(got[at] - w)),
                                      double(std::fabs(turned[at] - w)),
                                      double(std::fabs(more[at] - w - row[std::size_t(i)])) / 8});
                    }
                }
                CHECK_MESSAGE(worst <= bound, rows, " x ", n, ": ", worst);
            }
        }
}

}  // namespace

TEST_CASE("host short rows: softmax, its logarithm and layer norms of any number of rows") {
    compare<float>(2e-6);
    compare<double>(4e-15);
    compare<pm::f16>(5e-3);
    compare<pm::bf16>(4e-2);
}

TEST_CASE("host short rows: what is not a number, infinite, or far from zero") {
    const pm::context home = host();
    const double infinity = std::numeric_limits<double>::infinity(), none = std::nan("");
    const std::vector<double> v = {none, 1, 2, -infinity, 0, 0, infinity, 0, 0};
    const pm::matrix<double> x(pm::from_span<double>({3, 3}, v, home));
    const std::vector<double> soft = pm::to_vector<double>(pm::softmax(pm::any_tensor(x), 1));
    CHECK((soft[0] != soft[0] && soft[1] != soft[1]));
    CHECK((soft[3] == 0 && soft[4] == 0.5 && soft[5] == 0.5));
    CHECK((soft[6] != soft[6] && soft[7] != soft[7]));
    // What doubles cannot tell apart from their mean counts where they lie close.
    const double far = 1e15;
    const std::vector<double> close = {far, far + 0.125, far + 0.25, far + 1, 7, 7, 7, 7};
    const pm::matrix<double> y(pm::from_span<double>({2, 4}, close, home));
    const std::int64_t axes[] = {1};
    const std::vector<double> norm =
        pm::to_vector<double>(pm::layer_norm(pm::any_tensor(y),
                                             pm::span<const std::int64_t>(axes, 1), 1e-5));
    const std::vector<number> want =
        right(pm::normalization::layer_norm, {0.0L, 0.125L, 0.25L, 1.0L});
    for (std::size_t i = 0; i < 4; ++i) CHECK(std::fabs(norm[i] - double(want[i])) <= 1e-14);
    for (std::size_t i = 4; i < 8; ++i) CHECK(norm[i] == 0);
}
