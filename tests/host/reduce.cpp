// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Sums, means and extremes against the same in double; tests/device compares any layout with the
// reference.
#include <pumice/host/reduce.hpp>

#include <pumice/exec/select.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

using namespace host_test;

TEST_CASE("host reduce: rows and columns, small ones alone and large ones by threads") {
    const pm::context home = host();
    for (const auto& [rows, columns] :
         {std::pair{1, 1}, {3, 40}, {37, 1000}, {8, 300001}, {900, 333}}) {
        const pm::matrix<float> x = ramp(rows, columns, home);
        const double bound = 4 * 0x1p-23 * 20 * columns;
        CHECK(near(pm::vector<float>(pm::sum(x, pm::axis<1>)).to_vector(), by_rows(x, total_of),
                   bound));
        const auto average = [](const std::vector<double>& v) {
            return total_of(v) / double(v.size());
        };
        CHECK(near(pm::vector<float>(pm::mean(x, pm::axis<1>)).to_vector(), by_rows(x, average),
                   1e-5));
        const auto top = [](const std::vector<double>& v) {
            return *std::max_element(v.begin(), v.end());
        };
        CHECK(near(pm::vector<float>(pm::max(x, pm::axis<1>)).to_vector(), by_rows(x, top), 0));
        const pm::matrix<float> turned(pm::copy<pm::row_major>(pm::transpose(x)));
        pm::eval(turned);
        CHECK(near(pm::vector<float>(pm::sum(turned, pm::axis<0>)).to_vector(),
                   by_rows(x, total_of), bound));
        CHECK(near(pm::vector<float>(pm::max(turned, pm::axis<0>)).to_vector(), by_rows(x, top),
                   0));
        // Fused on both sides: through the plan.
        const pm::vector<float> fused = pm::sum(x * 2.0f, pm::axis<1>) + 1.0f;
        std::vector<double> twice = by_rows(x, total_of);
        for (double& t : twice) t = 2 * t + 1;
        CHECK(near(fused.to_vector(), twice, 2 * bound));
    }
}

TEST_CASE("host reduce: short rows give the same alone as among many") {
    const pm::context home = host();
    constexpr std::int64_t many = 40;
    for (const std::int64_t n : {1, 3, 10, 15}) {
        std::vector<float> v(std::size_t(many * n));
        for (std::size_t i = 0; i < v.size(); ++i) v[i] = 1.0f / (float(i % 37) - 18.3f);
        v[0] = -0.0f, v[std::size_t(n)] = INFINITY, v[std::size_t(2 * n)] = NAN;
        v[std::size_t(3 * n)] = -INFINITY;
        const pm::matrix<float> all = pm::from_span<float>({many, n}, v, home);
        const auto check = [&](const auto& reduced) {
            const std::vector<float> together = pm::vector<float>(reduced(all)).to_vector();
            for (std::int64_t i = 0; i < many; ++i) {
                const std::span<const float> row(v.data() + i * n, std::size_t(n));
                const pm::matrix<float> one = pm::from_span<float>({1, n}, row, home);
                const float alone = pm::vector<float>(reduced(one)).to_vector()[0];
                CHECK(std::bit_cast<std::uint32_t>(alone) ==
                      std::bit_cast<std::uint32_t>(together[std::size_t(i)]));
            }
        };
        check([](const pm::matrix<float>& x) { return pm::sum(x, pm::axis<1>); });
        check([](const pm::matrix<float>& x) { return pm::mean(x, pm::axis<1>); });
        check([](const pm::matrix<float>& x) { return pm::max(x, pm::axis<1>); });
        check([](const pm::matrix<float>& x) { return pm::min(x, pm::axis<1>); });
    }
}

TEST_CASE("host reduce: one result for any number of threads") {
    std::vector<float> v(2200001), got(2);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = 1.0f / float(i + 1);
    for (std::size_t k = 0; k < 2; ++k) {
        pm::reduce_problem p;
        p.inner = {std::int64_t(v.size())};
        const auto body = std::make_shared<pm::program>();
        body->outputs = {body->push({pm::instruction::code::leaf, pm::dtype::f32, 0, {}, nullptr})};
        p.prologue = {body, {{0, pm::dtype::f32, 0, {1}}}, {}, {}};
        const auto end = std::make_shared<pm::program>();
        end->outputs = {end->push({pm::instruction::code::given, pm::dtype::f32, 0, {}, nullptr})};
        p.epilogue = {end, {}, {}, {{1, pm::dtype::f32, 0, {}}}};
        pm::thread_pool threads(k == 0 ? 1 : 4);
        pm::run_on_host(p,
                        {{reinterpret_cast<std::byte*>(v.data()),
                          reinterpret_cast<std::byte*>(&got[k])}},
                        threads);
    }
    CHECK(got[0] == got[1]);
    CHECK(got[0] == doctest::Approx(15.1812));
}

TEST_CASE("host reduce: sums of doubles are those of blocks") {
    using way = pm::detail::joined_sum<double, pm::detail::as_it_is>;
    std::vector<double> v(60000);
    for (std::size_t i = 0; i < v.size(); ++i)
        v[i] = std::sin(double(i)) * (i % 7 == 0 ? 1e9 : 1e-3);
    const auto by_blocks = [&](bool down, std::int64_t rows, std::int64_t n) {
        std::vector<double> sums(static_cast<std::size_t>(rows));
        pm::detail::join_dense<way>(pm::dtype::f64, v.data(), down, rows, n,
                                    [&](std::int64_t i, const double* a, const double* b,
                                        std::int64_t count) {
                                        for (std::int64_t k = 0; k < count; ++k)
                                            sums[static_cast<std::size_t>(i + k)] =
                                                way::total(a[k], b[k]);
                                    });
        return sums;
    };
    const double* const from = v.data();
    for (const std::int64_t n : {33, 255, 256, 257, 511, 512, 513, 768, 769, 1000, 1025, 20000}) {
        const std::int64_t rows = 60000 / n < 3 ? 60000 / n : 3, columns = n / 20, lines = 20;
        std::vector<double> of_rows(static_cast<std::size_t>(rows)),
            of_columns(static_cast<std::size_t>(columns));
        pm::detail::run_wide(pm::detail::sum_rows{}, from, rows, n, of_rows.data());
        CHECK(of_rows == by_blocks(false, rows, n));
        pm::detail::run_wide(pm::detail::sum_lines{}, from, columns, lines, columns,
                             of_columns.data());
        CHECK(of_columns == by_blocks(true, columns, lines));
    }
}
