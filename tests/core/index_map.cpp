// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/core/index_map.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace pumice;

namespace {

using integers = std::vector<std::int64_t>;

/// Where the indices of an axis lead, run by run; -1 where there is no element.
integers walked(const mapped_axis& a) {
    integers list;
    for (std::int64_t i = 0; i < a.extent;) {
        const map_stretch s = stretch_at(a, i);
        REQUIRE(s.count > 0);
        REQUIRE(i + s.count <= a.extent);
        for (std::int64_t k = 0; k < s.count; ++k)
            list.push_back(s.within ? s.begin + k * s.step : -1);
        i += s.count;
    }
    return list;
}

}  // namespace

TEST_CASE("index_map: an axis is read in runs that lie evenly") {
    CHECK(walked({fold::none, 3, 0, 3}) == integers{0, 1, 2});
    CHECK(walked({fold::around, 3, -1, 3}) == integers{2, 0, 1});
    CHECK(walked({fold::around, 7, 4, 3}) == integers{1, 2, 0, 1, 2, 0, 1});
    CHECK(walked({fold::around, 4, -7, 1}) == integers{0, 0, 0, 0});
    CHECK(walked({fold::edge, 7, -2, 3}) == integers{0, 0, 0, 1, 2, 2, 2});
    CHECK(walked({fold::edge, 2, 5, 3}) == integers{2, 2});
    CHECK(walked({fold::mirror, 9, -3, 3}) == integers{1, 2, 1, 0, 1, 2, 1, 0, 1});
    CHECK(walked({fold::mirror, 4, -1, 1}) == integers{0, 0, 0, 0});
    CHECK(walked({fold::mirror, 4, -1, 2}) == integers{1, 0, 1, 0});
    CHECK(walked({fold::inside, 6, -2, 3}) == integers{-1, -1, 0, 1, 2, -1});
    CHECK(stretch_at({fold::around, 300, -1, 300}, 1).count == 299);
    CHECK(stretch_at({fold::inside, 2, -1, 0}, 0).within == false);
}

TEST_CASE("index_map: elements are counted in row-major order over its axes") {
    const mapped_axis axes[] = {{fold::inside, 4, -1, 2, 10}, {fold::around, 3, -1, 3, 2}};
    const index_map map{axes, 100};
    const auto at = [&](std::int64_t i) { return map.stretch(i, 1, 12); };
    CHECK(at(3).begin == 104);
    CHECK(at(3).count == 1);  // then the axis begins again
    CHECK(at(4).begin == 100);
    CHECK(at(4).step == 2);
    CHECK(at(4).count == 2);
    CHECK(at(4).within);
    CHECK(!at(0).within);
    CHECK(!at(10).within);
    CHECK(map.stretch(7, 0, 12).count == 12);  // one element for all
    CHECK(map.stretch(7, 5, 12).count == 1);
    CHECK(form_of(axes) == 0x52);
    const map_range all_of_it = range_of(axes, 100);
    CHECK(all_of_it.low == 100);
    CHECK(all_of_it.high == 114);
}

TEST_CASE("index_map: whole rows go around, and end, as their elements do") {
    const auto joined = [](std::initializer_list<mapped_axis> axes) {
        array_list<mapped_axis> map;
        for (const mapped_axis& a : axes) add_axis(map, a);
        return map;
    };
    const mapped_axis rows{fold::none, 3, 0, 3, 1};
    for (const fold how : {fold::around, fold::inside, fold::none, fold::edge, fold::mirror}) {
        const mapped_axis outer =
            how == fold::none ? mapped_axis{how, 5, 0, 5, 3} : mapped_axis{how, 9, -2, 5, 3};
        const array_list<mapped_axis> map = joined({outer, rows});
        const bool by_elements = how != fold::edge && how != fold::mirror;
        CHECK(map.size() == (by_elements ? 1 : 2));
        const mapped_axis apart[] = {outer, rows};
        for (std::int64_t i = 0; i < outer.extent * 3; ++i) {
            const map_stretch is = index_map{{map.data(), map.size()}, 7}.stretch(i, 1, 1),
                              was = index_map{apart, 7}.stretch(i, 1, 1);
            CHECK(is.within == was.within);
            if (was.within) CHECK(is.begin == was.begin);
        }
    }
    // Rows that do not follow each other, and rows that are cut themselves.
    CHECK(joined({{fold::around, 9, -2, 5, 4}, rows}).size() == 2);
    CHECK(joined({{fold::around, 9, -2, 5, 3}, {fold::around, 3, 1, 3, 1}}).size() == 2);
}
