// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Numbers as values of every element type: what lies within an integer type is exact, all else is
// refused.
#include <pumice/core/number.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace pumice;

namespace {

/// Whether the type takes the number, and as what.
template <class N>
bool takes(dtype type, N number, scalar* value = nullptr) {
    scalar out;
    const bool taken = detail::bring_to(type, scalar(number), out).empty();
    if (value) *value = out;
    return taken;
}

}  // namespace

TEST_CASE("number: the ends of every integer type, from every kind of number") {
    for (std::size_t i = 0; i < dtype_table.size(); ++i) {
        const auto type = static_cast<dtype>(i);
        if (is_floating(type) || type == dtype::boolean) continue;
        CAPTURE(to_string(type));
        const integer_limits all = limits_of(type);
        scalar value;
        CHECK(takes(type, all.max, &value));
        CHECK(value.as<std::uint64_t>() == all.max);
        CHECK(takes(type, all.min, &value));
        CHECK(value.as<std::int64_t>() == all.min);
        CHECK(takes(type, static_cast<double>(all.min)));
        if (all.max != ~std::uint64_t{0}) CHECK(!takes(type, all.max + 1));
        if (all.min != std::numeric_limits<std::int64_t>::min()) {
            CHECK(!takes(type, all.min - 1));
            CHECK(!takes(type, static_cast<double>(all.min) - 1));
        }
        CHECK(takes(type, 1.0));
        for (const double v :
             {0.5, -0.5, 1e-300, std::nan(""), HUGE_VAL, -HUGE_VAL, 0x1p64, 1e300, -0x1.8p63})
            CHECK_MESSAGE(!takes(type, v), v);
    }
    CHECK(takes(dtype::u64, 0x1.fffffffffffffp63));
    CHECK(!takes(dtype::i64, 0x1p63));
}

TEST_CASE("number: floating point takes every number, bool every whole one") {
    scalar value;
    for (const dtype type : {dtype::f64, dtype::f32, dtype::f16, dtype::bf16}) {
        CHECK(takes(type, 0.5, &value));
        CHECK(value.as<double>() == 0.5);
        CHECK(takes(type, HUGE_VAL));
        CHECK(takes(type, std::nan("")));
        CHECK(takes(type, std::uint64_t{1} << 63));
    }
    CHECK(takes(dtype::boolean, -3, &value));
    CHECK(value.as<bool>());
    CHECK(!takes(dtype::boolean, 0.5));
}

TEST_CASE("number: typed ones are asked where the type may lack them") {
    CHECK(detail::typed_number<std::uint8_t>(255).as<int>() == 255);
    CHECK(detail::typed_number<std::int64_t>('a').as<int>() == 97);
    CHECK(detail::typed_number<bool>(7).as<bool>());
    CHECK(detail::typed_number<float>(1e300).as<float>() == HUGE_VALF);
    CHECK(detail::typed_number<std::uint32_t>(true).as<int>() == 1);
    const error e = test::thrown_by([] { detail::typed_number<std::uint8_t>(256); });
    CHECK(e.code() == errc::dtype_mismatch);
    CHECK(std::string(e.what()) ==
          "[number] the number 256 does not fit u8, which holds 0 to 255; "
          "a wider type does (astype)");
    CHECK(
        test::thrown_by([] { detail::typed_number<std::int32_t>(~std::uint64_t{0}); }).message() ==
        "the number 18446744073709551615 does not fit i32, which holds -2147483648 to 2147483647; "
        "a wider type does (astype)");
}
