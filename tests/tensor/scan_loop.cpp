// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The types that a scan gives, and what it refuses; tests/exec/control.cpp runs it.
#include <pumice/front.hpp>
#include <pumice/tensor/scan_loop.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;
using vec = pm::vector<float>;
using pumice_test::code_of, pumice_test::text_of_error;

namespace {

const pm::context home(pumice_test::host());
const vec x = pm::adapt(std::vector<float>{1, 2}, home);
const pm::matrix<float> rows = pm::from_span<float>({2, 2}, std::vector<float>{1, 2, 3, 4}, home);

}  // namespace

TEST_CASE("scan_loop: types follow those of carry and rows, one or a tuple") {
    const auto one =
        pm::scan([](const vec& c, const vec& r) { return std::tuple(c, pm::sum(r)); }, x, rows);
    static_assert(std::same_as<decltype(one), const std::tuple<vec, vec>>);
    const auto two =
        pm::scan([](const std::tuple<vec, vec>& c,
                    const std::tuple<vec, pm::any_tensor>&
                        r) { return std::tuple(c, std::tuple(std::get<0>(r), std::get<1>(r))); },
                 std::tuple(x, x), std::tuple(rows, pm::any_tensor(rows)));
    static_assert(std::same_as<decltype(two),
                               const std::tuple<std::tuple<vec, vec>,
                                                std::tuple<pm::matrix<float>, pm::any_tensor>>>);
    CHECK(std::get<0>(std::get<1>(two)).shape() == pm::shape{2, 2});
}

TEST_CASE("scan_loop: scalars, unlike rows and another number of carried values are refused") {
    const auto keep = [](const auto& c, const auto& r) { return std::tuple(c, r); };
    CHECK(code_of([&] {
              pm::scan([](const vec& c, const pm::any_tensor& r) { return std::tuple(c, r); }, x,
                       pm::any_tensor(pm::sum(x)));
          }) == pm::errc::rank_mismatch);
    CHECK(text_of_error([&] {
              pm::scan(keep, x, std::tuple(rows, pm::zeros<float>({3, 2}, home)));
          }) == "[scan] xs of 2 and of 3 rows along axis 0");
    CHECK(text_of_error([&] {
              pm::scan([](const vec& c, const vec& r) { return std::tuple(std::tuple(c, c), r); },
                       x, rows);
          }) == "[scan] the body gives 2 values to carry, it is given 1");
    CHECK(pm::detail::current_trace == nullptr);
}
