// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Assignment to parts of tensors: values, types, and that nobody else sees it.
#include <pumice/tensor/assign.hpp>

#include "counting.hpp"

#include <doctest/doctest.h>

namespace pm = pumice;
using pm::slice;
using pumice_test::counting, pumice_test::home, pumice_test::reals, pumice_test::values;

TEST_CASE("at: a part is assigned to, and added to, in the type of the tensor") {
    pm::matrix<float> x = counting<2, 3>();
    const pm::matrix<float> before = x;
    const auto tripled = x * 3.0f;
    pm::at(x, slice{0, 1}) = 9;
    CHECK(values(x) == reals{9, 9, 9, 3, 4, 5});
    pm::at(x, slice{}, slice{{}, {}, -2}) += pm::vector<float>(counting<2>());
    CHECK(values(x) == reals{10, 9, 9, 4, 4, 5});
    pm::at(x, slice{1, 2}) *= 2.0f;
    pm::at(x, slice{1, 2}) -= pm::vector<float>(counting<3>() * 0.0f + 1.0f);
    pm::at(x, slice{1, 2}) /= 7.0f;
    CHECK(values(x) == reals{10, 9, 9, 1, 1, 9.0f / 7});
    CHECK(values(before) == reals{0, 1, 2, 3, 4, 5});
    CHECK(values(tripled) == reals{0, 3, 6, 9, 12, 15});
    pm::at(x) = before + 1.0f;
    CHECK(values(x) == reals{1, 2, 3, 4, 5, 6});
    pm::at(x, slice{0, 1}) = pm::at(x, slice{1, 2});
    CHECK(values(x) == reals{4, 5, 6, 4, 5, 6});
    pm::at(x, pm::all, 0) = pm::at(x, 1, slice{1, 3});  // parts of unlike kinds
    CHECK(values(x) == reals{5, 5, 6, 6, 5, 6});
}

TEST_CASE("at: run-time types, numbers that a double does not hold, views that were taken before") {
    pm::any_tensor x = counting<4>();
    const pm::any_tensor seen = pm::slice_view(x, std::vector<slice>{{1, 3, 1}});
    pm::at(x, slice{1, 3}) = -1;
    CHECK(pm::to_vector<float>(x) == reals{0, -1, -1, 3});
    CHECK(pm::to_vector<float>(seen) == reals{1, 2});
    pm::at(x, slice{1, 3}) += seen;
    CHECK(pm::to_vector<float>(x) == reals{0, 0, 1, 3});
    pm::vector<std::int64_t> whole = pm::full<std::int64_t>({2}, 1, home);
    const std::int64_t odd = (std::int64_t{1} << 53) + 1;
    pm::at(whole, slice{1, 2}) = odd;
    CHECK(whole.to_vector() == std::vector<std::int64_t>{1, odd});
    pm::any_tensor same = pm::full<std::int64_t>({2}, 1, home);
    pm::at(same, slice{0, 1}) = odd;
    CHECK(pm::to_vector<std::int64_t>(same) == std::vector<std::int64_t>{odd, 1});
}

TEST_CASE("at: what does not fit throws and leaves the tensor as it was") {
    pm::matrix<float> x = counting<2, 3>();
    CHECK_THROWS_AS(pm::at(x, slice{0, 1}) = x, pm::error);
    pm::any_tensor untyped = x;
    CHECK_THROWS_AS((pm::at(untyped, slice{}, slice{}, slice{}) = 1), pm::error);
    CHECK_THROWS_AS((pm::at(x, 2) = 1), pm::error);
    CHECK_THROWS_AS((pm::at(x, 0, -4) = 1), pm::error);
    CHECK_THROWS_AS((pm::at(x, slice{0, 1, 0}) = 1), pm::error);
    CHECK(values(x) == reals{0, 1, 2, 3, 4, 5});
    pm::any_tensor whole = pm::full<std::int32_t>({2}, 7, home);
    try {
        pm::at(whole, slice{0, 1}) = 2.5;
        FAIL("an integer is assigned a half");
    } catch (const pm::error& e) {
        CHECK(e.code() == pm::errc::dtype_mismatch);
        CHECK(std::string(e.what()).find("2.5 is not an integer") != std::string::npos);
    }
    pm::at(whole, slice{0, 1}) = 2.0;
    CHECK(pm::to_vector<std::int32_t>(whole) == std::vector<std::int32_t>{2, 7});
}
