// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/core/extents.hpp>

#include <doctest/doctest.h>

using namespace pumice;

namespace {
constexpr std::int64_t any_length = dynamic_extent;
}

TEST_CASE("static, dynamic and mixed extents") {
    static_assert(extents<>::rank == 0 && extents<>::is_static);
    static_assert(extents<2, 3>::rank == 2 && extents<2, 3>::is_static);
    static_assert(!extents<2, any_length>::is_static);
    static_assert(std::same_as<dims<2>, extents<any_length, any_length>>);
    static_assert(std::same_as<dims<0>, extents<>>);
    static_assert(extents_type<dims<3>> && !extents_type<int> && !extents_type<shape>);
    CHECK(extents<2, any_length, 0>::to_shape() == shape{2, -1, 0});
}

TEST_CASE("a type matches the shapes that it describes") {
    CHECK(extents<2, 3>::matches({2, 3}));
    CHECK(!extents<2, 3>::matches({2, 4}));
    CHECK(!extents<2, 3>::matches({2, 3, 1}));
    CHECK(!extents<2, 3>::matches({}));
    CHECK(extents<2, any_length>::matches({2, 7}));
    CHECK(!extents<2, any_length>::matches({3, 7}));
    CHECK(dims<2>::matches({0, 0}));
    CHECK(extents<>::matches({}));
}

TEST_CASE("broadcasting in types follows broadcasting of shapes") {
    static_assert(std::same_as<broadcast_t<extents<2, 3>>, extents<2, 3>>);
    static_assert(std::same_as<broadcast_t<extents<2, 3>, extents<3>>, extents<2, 3>>);
    static_assert(std::same_as<broadcast_t<extents<2, 1>, extents<3>>, extents<2, 3>>);
    static_assert(std::same_as<broadcast_t<extents<>, extents<4>>, extents<4>>);
    static_assert(std::same_as<broadcast_t<extents<0>, extents<1>>, extents<0>>);
    static_assert(std::same_as<broadcast_t<extents<2, 1>, extents<1, 3>, extents<5, 1, 1>>,
                               extents<5, 2, 3>>);
    // With an extent that only run time knows: 1 gives way to it, any other length is what must
    // come out.
    static_assert(std::same_as<broadcast_t<dims<1>, extents<4>>, extents<4>>);
    static_assert(std::same_as<broadcast_t<dims<1>, extents<1>>, dims<1>>);
    static_assert(std::same_as<broadcast_t<dims<2>, dims<1>>, dims<2>>);
    static_assert(!detail::broadcast_extents<extents<2>, extents<3>>::valid);
    CHECK(detail::broadcast_extents<extents<2>, dims<1>>::valid);
}
