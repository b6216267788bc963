// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/core/shape.hpp>

#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <optional>

using namespace pumice;
using test::code_of;

TEST_CASE("index_list is a short vector") {
    index_list l{2, 3};
    l.push_back(5);
    l.insert(1, 7);
    CHECK(l == index_list{2, 7, 3, 5});
    l.insert(4, 9);
    CHECK(l == index_list{2, 7, 3, 5, 9});
    l.erase(0);
    CHECK(l == index_list{7, 3, 5, 9});
    l.erase(3);
    CHECK(l == index_list{7, 3, 5});
    CHECK(l.back() == 5);
    CHECK(l.size() == 3);
    CHECK(index_list{} == index_list{});
    CHECK(index_list{} != index_list{0});
    CHECK(index_list{1, 2} != index_list{1, 3});
    CHECK(index_list::filled(3, 4) == index_list{4, 4, 4});
    CHECK(code_of([] { index_list::filled(9, 1); }) == errc::rank_mismatch);
    CHECK(code_of([] { index_list x{1, 2, 3, 4, 5, 6, 7, 8, 9}; }) == errc::rank_mismatch);
    CHECK(code_of([] { index_list::filled(8, 1).insert(3, 1); }) == errc::rank_mismatch);
}

TEST_CASE("shapes print as NumPy's") {
    CHECK(to_string(shape{}) == "()");
    CHECK(to_string(shape{3}) == "(3,)");
    CHECK(to_string(shape{2, 0, -1}) == "(2, 0, -1)");
}

TEST_CASE("counts are exact, and the extents beside a zero are counted too") {
    CHECK(element_count({}) == 1);
    CHECK(element_count({2, 3, 4}) == 24);
    CHECK(element_count({2, 0, 4}) == 0);
    CHECK(element_count({std::int64_t{1} << 40, 0}) == 0);
    CHECK(code_of([] { element_count({std::int64_t{1} << 40, std::int64_t{1} << 40}); }) ==
          errc::size_overflow);
    constexpr std::int64_t large = std::int64_t{1} << 30;
    for (const shape& s : {shape{0, large, large, large}, shape{large, 0, large, large},
                           shape{large, large, large, 0}, shape{0, 4 * large, 4 * large}})
        CHECK(code_of([&] { element_count(s); }) == errc::size_overflow);
    CHECK(element_count({0, large, large}) == 0);
    CHECK(element_count({2 * large, 2 * large - 1}) == (2 * large) * (2 * large - 1));
    CHECK(code_of([] { element_count({2, -1}); }) == errc::invalid_argument);
    CHECK(code_of([] { element_count({0, -1}); }) == errc::invalid_argument);
    CHECK(byte_count(dtype::f64, 3) == 24);
    CHECK(byte_count(dtype::boolean, 3) == 3);
    CHECK(byte_count(dtype::f16, 0) == 0);
    CHECK(code_of([] { byte_count(dtype::f64, std::int64_t{1} << 60); }) == errc::size_overflow);
}

TEST_CASE("row-major strides and their test") {
    CHECK(row_major_strides({}) == strides{});
    CHECK(row_major_strides({5}) == strides{1});
    CHECK(row_major_strides({2, 3, 4}) == strides{12, 4, 1});
    CHECK(row_major_strides({2, 0, 4}) == strides{4, 4, 1});
    CHECK(is_row_major({2, 3, 4}, {12, 4, 1}));
    CHECK(!is_row_major({2, 3, 4}, {1, 2, 6}));
    CHECK(!is_row_major({2, 3}, {-3, 1}));
    CHECK(!is_row_major({2, 3}, {6, 2}));
    CHECK(is_row_major({1, 3, 1}, {99, 1, -7}));  // the strides of extents 1 do not count
    CHECK(is_row_major({4, 0, 2}, {0, 0, 0}));    // nor any where there are no elements
    CHECK(is_row_major({}, {}));
    CHECK(!is_row_major({3}, {0}));
}

TEST_CASE("axes count from the end when negative") {
    CHECK(normalize_axis(0, 3, "sum") == 0);
    CHECK(normalize_axis(-1, 3, "sum") == 2);
    CHECK(normalize_axis(-3, 3, "sum") == 0);
    CHECK(code_of([] { normalize_axis(3, 3, "sum"); }) == errc::axis_out_of_range);
    CHECK(code_of([] { normalize_axis(-4, 3, "sum"); }) == errc::axis_out_of_range);
    CHECK(code_of([] { normalize_axis(0, 0, "sum"); }) == errc::axis_out_of_range);
}

TEST_CASE("broadcasting, against NumPy's table") {
    struct row {
        shape a, b;
        std::optional<shape> result;
    };
    // numpy.broadcast_shapes
    const row rows[] = {
        {{}, {}, shape{}},
        {{}, {2, 3}, shape{2, 3}},
        {{3}, {2, 3}, shape{2, 3}},
        {{2, 1}, {3}, shape{2, 3}},
        {{2, 1}, {1, 3}, shape{2, 3}},
        {{256, 256, 3}, {3}, shape{256, 256, 3}},
        {{8, 1, 6, 1}, {7, 1, 5}, shape{8, 7, 6, 5}},
        {{5, 4}, {1}, shape{5, 4}},
        {{15, 3, 5}, {15, 1, 5}, shape{15, 3, 5}},
        {{1}, {0}, shape{0}},
        {{0}, {0}, shape{0}},
        {{2, 0}, {1, 1}, shape{2, 0}},
        {{1, 1, 1}, {}, shape{1, 1, 1}},
        {{3}, {4}, std::nullopt},
        {{2, 1}, {8, 4, 3}, std::nullopt},
        {{0}, {2}, std::nullopt},
        {{2, 3}, {2}, std::nullopt},
    };
    for (const row& r : rows)
        for (bool turned : {false, true}) {
            const shape &a = turned ? r.b : r.a, &b = turned ? r.a : r.b;
            if (r.result)
                CHECK_MESSAGE(broadcast(a, b, "add") == *r.result, to_string(a), " with ",
                              to_string(b));
            else
                CHECK_MESSAGE(code_of([&] { broadcast(a, b, "add"); }) == errc::shape_mismatch,
                              to_string(a), " with ", to_string(b));
        }
    try {
        broadcast({2, 3}, {2, 4}, "add");
        FAIL("no error");
    } catch (const error& e) {
        CHECK(std::string(e.what()) ==
              "[add] shapes (2, 3) and (2, 4) do not broadcast (axis 1: 3 against 4)");
    }
}

TEST_CASE("all of it is constant where it does not throw") {
    static_assert(broadcast({2, 1}, {3}, "add") == shape{2, 3});
    static_assert(element_count({2, 3}) == 6);
    constexpr bool good = row_major_strides({2, 3}) == strides{3, 1};
    CHECK(good);
}
