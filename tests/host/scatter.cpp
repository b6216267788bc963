// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Updates that are sorted, and as they come, of any type against the problem's reference.
#include <pumice/host/scatter.hpp>

#include "programs.hpp"
#include "support.hpp"

#include <doctest/doctest.h>

namespace pm = pumice;

TEST_CASE("host scatter: every way and type as the reference, sorted and as they come") {
    for (const pm::scattering what :
         {pm::scattering::replace, pm::scattering::sum, pm::scattering::prod, pm::scattering::max,
          pm::scattering::min})
        for (const pm::dtype type : {pm::dtype::u8, pm::dtype::i32, pm::dtype::u64, pm::dtype::f16,
                                     pm::dtype::f32, pm::dtype::f64, pm::dtype::boolean})
            for (const pm::dtype key : {pm::dtype::i32, pm::dtype::i64})
                for (const auto& [rows, width, apart] : {std::tuple{3, 1, 1},
                                                         {100, 1, 1},
                                                         {3, 1, 2},
                                                         {100, 1, 2},
                                                         {3, 3, 1},
                                                         {100, 3, 1}})
                    for (const bool sorted : {false, true}) {
                        if (type == pm::dtype::boolean && what != pm::scattering::replace) continue;
                        pm::scatter_problem p;
                        p.what = what;
                        p.count = 9, p.rows = rows, p.width = width;
                        p.keys = {0, key, 0, {1}};
                        // Numbers from 0 to 3, and some of them more than once.
                        p.order = sorted ? pm::operand{1, pm::dtype::i64, 0, {1}}
                                         : pm::operand{-1, pm::dtype::i64, 0, {1}};
                        // Of one element, also with gaps between the lines.
                        p.updates = {2, type, 0, {width * apart, 1}};
                        p.data = p.output = {3, type, 0, {width * apart, 1}};
                        CHECK(host_test::same_as_reference(p));
                    }
}

TEST_CASE("host scatter: one update for all as the reference") {
    for (const pm::scattering what :
         {pm::scattering::replace, pm::scattering::sum, pm::scattering::prod, pm::scattering::max,
          pm::scattering::min})
        for (const pm::dtype type : {pm::dtype::u8, pm::dtype::i64, pm::dtype::f16, pm::dtype::f32})
            for (const std::int64_t rows : {3, 100}) {
                pm::scatter_problem p;
                p.what = what;
                p.count = 9, p.rows = rows, p.width = 1;
                p.keys = {0, pm::dtype::i64, 0, {1}};
                p.order = {-1, pm::dtype::i64, 0, {1}};
                p.updates = {1, type, 0, {0, 1}};
                p.data = p.output = {2, type, 0, {1, 1}};
                CHECK(host_test::same_as_reference(p));
            }
}

TEST_CASE("host scatter: bins of floats are rounded once, and indices count from the end") {
    const pm::context home = host_test::host();
    constexpr std::size_t n = 100000;
    std::vector<float> v(n, 0.1f);
    std::vector<std::int64_t> at(n);
    for (std::size_t i = 0; i < n; ++i) at[i] = static_cast<std::int64_t>(i % 12) - 5;  // 5, 6 miss
    const pm::any_tensor zeros = pm::full<float>({5}, 0.0f, home),
                         places = pm::from_span<std::int64_t>({std::int64_t(n)}, at, home),
                         x = pm::from_span<float>({std::int64_t(n)}, v, home);
    const pm::any_tensor bins = pm::scatter_elements(zeros, places, x, 0, pm::scattering::sum);
    pm::eval(bins);
    const std::uint64_t plans = home.stats().plans;
    CHECK(plans == 1);
    std::vector<double> want(5);
    for (const std::int64_t i : at)
        if (i < 5) want[static_cast<std::size_t>(i < 0 ? i + 5 : i)] += double(0.1f);
    const std::vector<float> got = bins.as<pm::vector<float>>().to_vector();
    for (std::size_t i = 0; i < 5; ++i) CHECK(got[i] == static_cast<float>(want[i]));
}

namespace {

template <class T>
void compare_lists(pm::scattering what, std::int64_t n, const pm::context& home) {
    std::vector<T> values(static_cast<std::size_t>(n)), rows(7);
    std::vector<std::int64_t> at(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = pm::convert<T>(double(i * 37 % 11) / 3);
        at[i] = static_cast<std::int64_t>(i * 5 % 19) - 9;  // from the end, and outside
    }
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = pm::convert<T>(double(i));
    const pm::any_tensor x = pm::from_span<T>({7}, rows, home),
                         places = pm::from_span<std::int64_t>({n}, at, home),
                         updates = pm::from_span<T>({n}, values, home);
    const std::uint64_t before = home.stats().plans;
    const pm::vector<T> got =
        pm::scatter_elements(pm::vector<T>(x), pm::vector<std::int64_t>(places),
                             pm::vector<T>(updates), pm::axis<0>, what);
    CHECK(home.stats().plans == before);
    CHECK(pm::explain(got) == "host/scatter (7,)\n");
    CAPTURE(pm::to_string(what));
    CAPTURE(n);
    CHECK(host_test::bytes_of(got) ==
          host_test::bytes_of(pm::scatter_elements(x, places, updates, 0, what)));
    CHECK(host_test::bytes_of(x) == host_test::bytes_of(pm::from_span<T>({7}, rows, home)));
}

}  // namespace

TEST_CASE("host alone: few elements of a list are scattered at once") {
    const pm::context home = host_test::host();
    for (const pm::scattering what :
         {pm::scattering::replace, pm::scattering::sum, pm::scattering::prod, pm::scattering::max,
          pm::scattering::min})
        for (const std::int64_t n : {0, 1, 5, 300}) {
            compare_lists<std::uint8_t>(what, n, home);
            compare_lists<std::int64_t>(what, n, home);
            compare_lists<pm::f16>(what, n, home);
            compare_lists<float>(what, n, home);
            compare_lists<double>(what, n, home);
        }
}
