// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What each way finds, as results and as means.
#include <pumice/host/ways.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace pm = pumice;

namespace {

template <class Way>
void compare_results() {
    using results = pm::detail::results_of<Way>;
    using type = typename results::type;
    for (const std::int64_t n : {0, 1, 31, 32, 67}) {
        std::vector<typename Way::first> a(static_cast<std::size_t>(n));
        std::vector<typename Way::second> b(a.size());
        for (std::size_t i = 0; i < a.size(); ++i) {
            Way::start(a[i], b[i]);
            for (int k = 0; k < 5; ++k)
                Way::one(a[i], b[i], static_cast<typename Way::value>(int(i) * k - 7), k, 0);
        }
        std::vector<type> got(a.size()), means(a.size());
        results::put(a.data(), b.data(), n, 0, got.data());
        results::put(a.data(), b.data(), n, 5, means.data());
        bool right = true;
        for (std::size_t i = 0; i < a.size(); ++i) {
            const auto total = Way::total(a[i], b[i]);
            const auto whole = static_cast<type>(total), mean = results::real
                                                                    ? static_cast<type>(total / 5)
                                                                    : static_cast<type>(whole / 5);
            right = right && got[i] == whole && means[i] == (results::place ? whole : mean);
        }
        CHECK(right);
    }
}

}  // namespace

TEST_CASE("host ways: what was found as results, and as means") {
    using namespace pm::detail;
    compare_results<joined_sum<double, as_it_is>>();
    compare_results<joined_sum<float, as_it_is>>();
    compare_results<joined_sum<std::int32_t, as_it_is>>();
    compare_results<joined_sum<std::uint64_t, as_it_is>>();
    compare_results<joined_product<float>>();
    compare_results<joined_extreme<std::int64_t, -1>>();
    compare_results<joined_place<double, 1>>();
}

TEST_CASE("host ways: the place in a short row is that of its first extreme value or NaN") {
    const float end = std::numeric_limits<float>::infinity(), nan = end - end,
                some[] = {0, -0.0f, 1, -end, end, nan};
    for (int number = 0; number < 6 * 6 * 6 * 6; ++number) {
        const float v[] = {some[number % 6], some[number / 6 % 6], some[number / 36 % 6],
                           some[number / 216]};
        const auto compare = [&]<class Way>(Way) {
            float best;
            std::int64_t at;
            Way::start(best, at);
            for (int k = 0; k < 4; ++k) {
                Way::one(best, at, v[k], k, 0);
                CHECK(Way::place_in(v, k + 1) == at);
            }
        };
        compare(pm::detail::joined_place<float, 1>{});
        compare(pm::detail::joined_place<float, -1>{});
    }
}
