// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Norms, variances and standard deviations: the extents that the type promises, NumPy's values,
// faults named.
#include "counting.hpp"

#include <pumice/tensor/norms.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace pm = pumice;
using pumice_test::code_of;
using pumice_test::counting, pumice_test::home, pumice_test::reals, pumice_test::values;
using pumice_test::text_of_error;

namespace {

void check_near(const reals& got, const reals& want) {
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < got.size(); ++i)
        CHECK(got[i] == doctest::Approx(want[i]).epsilon(1e-5));
}

}  // namespace

TEST_CASE("norms: variances over one axis, several, all, with corrections, axes kept") {
    const auto x = counting<2, 4>();
    check_near(values(pm::var(x)), {5.25f});
    check_near(values(pm::var(x, pm::axis<1>)), {1.25f, 1.25f});
    check_near(values(pm::var(x, pm::axis<0>, pm::correction{1})), {8, 8, 8, 8});
    check_near(values(pm::var(x, pm::axes<0, 1>, pm::correction{2.5})), {42 / 5.5f});
    const auto kept = pm::std(x, pm::correction{1}, pm::keepdims, pm::axis<-1>);
    static_assert(std::same_as<decltype(kept)::extents_type, pm::extents<2, 1>>);
    check_near(values(kept), {std::sqrt(5 / 3.0f), std::sqrt(5 / 3.0f)});
    check_near(values(pm::std(x * 2.0f, pm::axis<0>)), {4, 4, 4, 4});
    const std::int64_t last[] = {1};
    check_near(pumice_test::values(pm::var(pm::any_tensor(x), last, 1, true)),
               {5 / 3.0f, 5 / 3.0f});
    // NumPy's 0 / 0 where the correction takes every element.
    for (const float v : values(pm::var(x, pm::axis<1>, pm::correction{4})))
        CHECK(v == std::numeric_limits<float>::infinity());
    CHECK(std::isnan(values(pm::var(counting<1>(), pm::correction{1}))[0]));
    CHECK(std::isnan(values(pm::var(counting<0>()))[0]));
    // A factor of 1000 / 999, which f16 cannot hold.
    const auto halves = pm::astype<pm::f16>(pm::arange<float>(0, 1000, 1, home) * 0.125f);
    const double exact = 1000 * 1001 / 12.0 / 64;
    CHECK(std::fabs(pumice_test::values(pm::astype(pm::any_tensor(pm::var(halves,
                                                                          pm::correction{1})),
                                                   pm::dtype::f32))[0] -
                    exact) <= 0.5);
}

TEST_CASE(
    "norms: a row has mean 0 and deviation 1, or square 1, and a scale and a bias are arithmetic") {
    const auto x = counting<2, 4>();
    const reals centred{-1.3416407f, -0.4472136f, 0.4472136f, 1.3416407f};
    reals twice = centred;
    twice.insert(twice.end(), centred.begin(), centred.end());
    check_near(values(pm::layer_norm(x, 0.0)), twice);
    check_near(values(pm::layer_norm(x, pm::axis<0>, 0)), {-1, -1, -1, -1, 1, 1, 1, 1});
    const auto all = pm::layer_norm(x + 3.0f, pm::axes<0, 1>, 5.25);
    static_assert(std::same_as<decltype(all)::extents_type, pm::extents<2, 4>>);
    for (const reals y = values(all); const float v : {y[0] + y[7], y[1] + y[6]})
        CHECK(v == doctest::Approx(0));
    CHECK(values(all)[7] == doctest::Approx(3.5 / std::sqrt(10.5)));
    const float rms = std::sqrt(14 / 4.0f);
    const reals rows = values(pm::rms_norm(x, 0.0));
    check_near({rows.begin(), rows.begin() + 4}, {0, 1 / rms, 2 / rms, 3 / rms});
    const pm::vector<float> g = pm::adapt(reals{1, 2, 3, 4}, home),
                            b = pm::adapt(reals{5, 6, 7, 8}, home);
    reals scaled;
    for (int i = 0; i < 8; ++i)
        scaled.push_back(twice[std::size_t(i)] * float(i % 4 + 1) + float(i % 4 + 5));
    check_near(values(pm::matrix<float>(pm::layer_norm(x, 0.0) * g + b)), scaled);
    CHECK(values(pm::layer_norm(counting<0, 3>())).empty());
}

TEST_CASE("norms: groups of channels, each normed with all its places") {
    const auto x = counting<2, 4, 3>();
    const pm::vector<float> g = pm::adapt(reals{1, 2, 3, 4}, home),
                            b = pm::adapt(reals{5, 6, 7, 8}, home);
    // A group is 0..5 and what follows in sixes.
    const double root = std::sqrt(35 / 12.0 + 0.5);
    reals plain, scaled;
    for (int i = 0; i < 24; ++i) {
        const double v = (i % 6 - 2.5) / root;
        const int channel = i / 3 % 4;
        plain.push_back(float(v));
        scaled.push_back(float(v * (channel + 1) + channel + 5));
    }
    check_near(values(pm::group_norm(x, 2, 0.5)), plain);
    check_near(values(pm::group_norm(x, 2, g, b, 0.5)), scaled);
    check_near(values(pm::group_norm(counting<2, 4>(), 2, 0)), {-1, 1, -1, 1, -1, 1, -1, 1});
}

TEST_CASE("norms: faults are named") {
    const pm::any_tensor x(counting<2, 4>()), i = pm::astype(x, pm::dtype::i32);
    const std::int64_t last[] = {-1}, outside[] = {2}, twice[] = {1, -1};
    CHECK(code_of([&] { pm::layer_norm(i, last); }) == pm::errc::dtype_mismatch);
    CHECK(code_of([&] { pm::var(i); }) == pm::errc::dtype_mismatch);
    CHECK(code_of([&] { pm::rms_norm(x, outside); }) == pm::errc::axis_out_of_range);
    CHECK(code_of([&] { pm::rms_norm(x, twice); }) == pm::errc::invalid_argument);
    CHECK(text_of_error([&] { pm::layer_norm(x, {}); }).find("needs an axis") != std::string::npos);
    CHECK(text_of_error([&] { pm::layer_norm(x, last, -1); }).find("epsilon -1") !=
          std::string::npos);
    CHECK(text_of_error([&] { pm::group_norm(x, 3); }).find("3 groups") != std::string::npos);
    CHECK(code_of([&] { pm::group_norm(x, 2, x); }) == pm::errc::shape_mismatch);
    CHECK(code_of([&] { pm::group_norm(pm::reshape(x, {8}), 2); }) == pm::errc::rank_mismatch);
}
