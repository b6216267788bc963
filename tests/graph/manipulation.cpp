// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/graph/manipulation.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

using namespace pumice;
using namespace pumice_test;
using reals = std::vector<float>;
using integers = std::vector<std::int64_t>;

namespace {

const std::shared_ptr<engine> home = host();

any_tensor counted(const shape& extent) { return counting(home, extent); }

}  // namespace

TEST_CASE("manipulation: a stack has a new axis, and falls apart again") {
    const any_tensor parts[] = {counted({2, 3}), counted({2, 3}) /* the same values */};
    for (const std::int64_t axis : {0, 1, 2, -1}) {
        const any_tensor s = stack(parts, axis);
        shape want{2, 3};
        want.insert(axis < 0 ? 2 : static_cast<int>(axis), 2);
        CHECK(s.shape() == want);
        const auto again = unstack(s, axis);
        REQUIRE(again.size() == 2);
        for (const any_tensor& t : again) CHECK(values(t) == reals{0, 1, 2, 3, 4, 5});
    }
    CHECK(values(stack(parts, 2)) == reals{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
    const any_tensor unlike[] = {counted({2, 3}), counted({3, 2})};
    CHECK(code_of([&] { stack(unlike); }) == errc::shape_mismatch);
    CHECK(code_of([&] { stack(parts, 3); }) == errc::axis_out_of_range);
    CHECK(code_of([&] { stack({}); }) == errc::invalid_argument);
    CHECK(unstack(counted({0, 2})).empty());
    CHECK(code_of([&] { unstack(counted({})); }) == errc::axis_out_of_range);
}

TEST_CASE("manipulation: parts are equal, or begin where they are told to") {
    const auto halves = split(counted({2, 4}), 2, 1);
    REQUIRE(halves.size() == 2);
    CHECK(values(halves[0]) == reals{0, 1, 4, 5});
    CHECK(values(halves[1]) == reals{2, 3, 6, 7});
    const auto parts = split(counted({5}), integers{1, 3, 9, -1});
    REQUIRE(parts.size() == 5);
    CHECK(values(parts[0]) == reals{0});
    CHECK(values(parts[1]) == reals{1, 2});
    CHECK(values(parts[2]) == reals{3, 4});
    CHECK(parts[3].size() == 0);
    CHECK(values(parts[4]) == reals{4});
    CHECK(code_of([&] { split(counted({5}), 2); }) == errc::shape_mismatch);
    CHECK(code_of([&] { split(counted({5}), 0); }) == errc::shape_mismatch);
    CHECK(code_of([&] { split(counted({5}), 5, 1); }) == errc::axis_out_of_range);
}

TEST_CASE("manipulation: lists of axes, places and tensors stand in braces") {
    const any_tensor x = counted({2, 3});
    CHECK(permute_dims(x, {1, 0}).shape() == shape{3, 2});
    CHECK(values(flip(x, {1})) == reals{2, 1, 0, 5, 4, 3});
    CHECK(values(split(x, {1, 2}, 1).at(1)) == reals{1, 4});
    CHECK(values(split(x, {2}, 1).at(0)) == reals{0, 1, 3, 4});  // a place, not a number of parts
    CHECK(values(stack({x, x}, 0)) == reals{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
    CHECK(concat({x, x, x}, 1).shape() == shape{2, 9});
    const any_tensor a = flip(x, {0}), b = flip(x, {1});
    eval({a, b});
    CHECK(a.get()->realised());
    CHECK(b.get()->realised());
}

TEST_CASE("manipulation: repeat is element by element, tile the whole") {
    const any_tensor x = counted({2, 2});
    CHECK(values(repeat(x, 2, 0)) == reals{0, 1, 0, 1, 2, 3, 2, 3});
    CHECK(values(repeat(x, 2, -1)) == reals{0, 0, 1, 1, 2, 2, 3, 3});
    CHECK(values(repeat(x, 2)) == reals{0, 0, 1, 1, 2, 2, 3, 3});
    CHECK(repeat(x, 0, 1).shape() == shape{2, 0});
    CHECK(code_of([&] { repeat(x, -1, 0); }) == errc::invalid_argument);
    CHECK(values(tile(x, integers{1, 2})) == reals{0, 1, 0, 1, 2, 3, 2, 3});
    CHECK(values(tile(x, integers{2, 1})) == reals{0, 1, 2, 3, 0, 1, 2, 3});
    CHECK(values(tile(x, integers{2})) == reals{0, 1, 0, 1, 2, 3, 2, 3});
    CHECK(tile(x, integers{3, 2, 2}).shape() == shape{3, 4, 4});
    CHECK(values(tile(counted({}), integers{3})) == reals{0, 0, 0});
    CHECK(code_of([&] { tile(x, integers{-1}); }) == errc::invalid_argument);
    CHECK(code_of([&] { tile(x, integers{1, 1, 1, 1, 1, 1, 1, 1, 1}); }) == errc::rank_mismatch);
    const std::int64_t swapped[] = {1, 0};
    CHECK(values(repeat(permute_dims(x, swapped), 2, 0)) == reals{0, 2, 0, 2, 1, 3, 1, 3});
    const any_tensor deep = counted({1, 2, 1, 1, 1, 1, 1, 2});
    CHECK(values(repeat(deep, 2, 1)) == reals{0, 1, 0, 1, 2, 3, 2, 3});
    CHECK(values(tile(deep, integers{1, 2, 1, 1, 1, 1, 1, 2})) ==
          reals{0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3});
    CHECK(values(tile(counted({1, 1, 1, 2, 1, 2}), integers{2, 1, 1, 2, 1, 2})) ==
          reals{0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3,
                0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3});
}

TEST_CASE("manipulation: roll goes around the end") {
    CHECK(values(roll(counted({5}), 2)) == reals{3, 4, 0, 1, 2});
    CHECK(values(roll(counted({5}), -7)) == reals{2, 3, 4, 0, 1});
    CHECK(values(roll(counted({2, 2}), 1)) == reals{3, 0, 1, 2});
    CHECK(values(roll(counted({2, 2}), 1, 1)) == reals{1, 0, 3, 2});
    CHECK(values(roll(counted({2, 4}), 2, 1)) == reals{2, 3, 0, 1, 6, 7, 4, 5});
    const std::int64_t turned[] = {1, 0};
    CHECK(values(roll(permute_dims(counted({4, 1}), turned), -2, 1)) == reals{2, 3, 0, 1});
    CHECK(roll(counted({0, 2}), 1, 0).size() == 0);
    CHECK(code_of([&] { roll(counted({2}), 1, 1); }) == errc::axis_out_of_range);
}

TEST_CASE(
    "manipulation: pads repeat a number, the edge, the mirrored tensor or the tensor, or cut") {
    const any_tensor x = counted({3});
    const auto padded = [&](std::int64_t before, std::int64_t after, pad_mode mode) {
        return values(pad(x, {{pad_width{before, after}}}, mode, 9));
    };
    CHECK(padded(1, 2, pad_mode::constant) == reals{9, 0, 1, 2, 9, 9});
    CHECK(padded(1, 2, pad_mode::edge) == reals{0, 0, 1, 2, 2, 2});
    CHECK(padded(2, 2, pad_mode::reflect) == reals{2, 1, 0, 1, 2, 1, 0});
    CHECK(padded(5, 6, pad_mode::reflect) == reals{1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0});
    CHECK(padded(4, 5, pad_mode::wrap) == reals{2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1});
    CHECK(padded(-1, 1, pad_mode::edge) == reals{1, 2, 2});
    CHECK(padded(-3, 0, pad_mode::constant).empty());
    CHECK(values(pad(counted({2, 1}), {{pad_width{0, 1}, pad_width{1, 0}}})) ==
          reals{0, 0, 0, 1, 0, 0});
    CHECK(values(pad(counted({1}), {{pad_width{2, 1}}}, pad_mode::reflect)) == reals{0, 0, 0, 0});
    CHECK(values(pad(x, {{pad_width{1, 0}}}, pad_mode::constant, counted({1}))) ==
          reals{0, 0, 1, 2});
    CHECK(pad(counted({0}), {{pad_width{1, 1}}}).shape() == shape{2});
    for (const auto mode : {pad_mode::edge, pad_mode::reflect, pad_mode::wrap})
        CHECK(code_of([&] { pad(counted({0}), {{pad_width{1, 1}}}, mode); }) ==
              errc::shape_mismatch);
    CHECK(code_of([&] { padded(-2, -2, pad_mode::edge); }) == errc::shape_mismatch);
    CHECK(padded(4000, 0, pad_mode::wrap).size() == 4003);
    CHECK(code_of([&] { pad(x, {}); }) == errc::rank_mismatch);
    CHECK(code_of([&] {
              pad(astype(x, dtype::i32), {{pad_width{1, 0}}}, pad_mode::constant, 0.5);
          }) == errc::dtype_mismatch);
    CHECK(code_of([&] {
              pad(astype(x, dtype::i32), {{pad_width{1, 0}}}, pad_mode::constant, counted({}));
          }) == errc::dtype_mismatch);
}
