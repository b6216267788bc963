// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The array API's functions of element types: promotion, kinds, limits and what they say of
// themselves.
#include "counting.hpp"

#include <pumice/array_api.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace pm = pumice;
using pm::dtype;
using pumice_test::home;

TEST_CASE("array types: what mixes, and in which type") {
    const auto x = pm::full<float>({2}, 1, home);
    CHECK(pm::result_type(dtype::i8, dtype::u8, dtype::i32) == dtype::i32);
    CHECK(pm::result_type(x, dtype::f64) == dtype::f64);
    CHECK(pm::result_type(x + x) == dtype::f32);
    static_assert(std::same_as<pm::result_type_t<std::int8_t, std::uint8_t>, std::int16_t>);
    CHECK_THROWS_AS(pm::result_type(dtype::f32, dtype::i32), pm::error);
    CHECK(pm::can_cast(dtype::i8, dtype::i16));
    CHECK(pm::can_cast(x, dtype::f64));
    CHECK_FALSE(pm::can_cast(dtype::i16, dtype::i8));
    CHECK_FALSE(pm::can_cast(dtype::i8, dtype::f32));
}

TEST_CASE("array types: kinds and limits") {
    CHECK(pm::isdtype(dtype::u8, "integral"));
    CHECK(pm::isdtype(dtype::f16, {"bool", "real floating"}));
    CHECK_FALSE(pm::isdtype(dtype::boolean, "numeric"));
    CHECK_FALSE(pm::isdtype(dtype::f32, "complex floating"));
    CHECK_THROWS_AS(pm::isdtype(dtype::f32, "real"), pm::error);
    const auto same = []<class T>(T, dtype type) {
        using limits = std::numeric_limits<T>;
        if constexpr (std::is_floating_point_v<T>) {
            const pm::float_info f = pm::finfo(type);
            CHECK(f.bits == 8 * sizeof(T));
            CHECK(f.eps == limits::epsilon());
            CHECK(f.max == limits::max());
            CHECK(f.min == limits::lowest());
            CHECK(f.smallest_normal == limits::min());
        } else {
            const pm::integer_info i = pm::iinfo(type);
            CHECK(i.bits == 8 * sizeof(T));
            CHECK(i.max == static_cast<std::uint64_t>(limits::max()));
            CHECK(i.min == static_cast<std::int64_t>(limits::min()));
        }
    };
    same(float(), dtype::f32), same(double(), dtype::f64);
    same(std::int8_t(), dtype::i8), same(std::uint8_t(), dtype::u8);
    same(std::int64_t(), dtype::i64), same(std::uint64_t(), dtype::u64);
    for (const dtype t : pm::array_namespace_info::dtypes("real floating")) {
        const pm::float_info f = pm::finfo(t);
        pm::visit(t, [&]<class T>(T) {
            if constexpr (pm::is_floating(pm::dtype_of<T>)) {
                CHECK(pm::convert<double>(pm::convert<T>(f.max)) == f.max);
                CHECK(pm::convert<double>(pm::convert<T>(1 + f.eps)) == 1 + f.eps);
                CHECK(pm::convert<double>(pm::convert<T>(1 + f.eps / 2)) == 1);
                CHECK(pm::convert<double>(pm::convert<T>(f.smallest_normal)) == f.smallest_normal);
            }
        });
    }
    CHECK_THROWS_AS(pm::finfo(dtype::i32), pm::error);
    CHECK_THROWS_AS(pm::iinfo(dtype::f32), pm::error);
    CHECK(pm::array_api_version == "2024.12");
    CHECK(std::isnan(pm::constants::nan));
    CHECK(pm::array_namespace_info::dtypes("bool") == std::vector{dtype::boolean});
}
