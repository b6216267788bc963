// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Concatenations and stacks that run without a plan, against their slices and what a plan makes of
// lazy parts.
#include <pumice/host/concat.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace host_test;

namespace {

pm::any_tensor numbers(const pm::shape& extent, pm::dtype type, int first,
                       const pm::context& home) {
    std::vector<std::int32_t> v(static_cast<std::size_t>(pm::element_count(extent)));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = (static_cast<int>(i) + first) * 31 % 101;
    const pm::any_tensor x = pm::astype(pm::from_span<std::int32_t>(extent, v, home), type);
    pm::eval(x);
    return x;
}

/// The parts are read where they lie, and stand in the whole.
void check_joined(const std::vector<pm::any_tensor>& parts, int axis, const pm::context& home) {
    const auto before = home.stats().plans;
    const pm::any_tensor whole = pm::concat(parts, axis);
    pm::eval(whole);
    CHECK(home.stats().plans == before);
    CHECK(pm::explain(whole).starts_with("host/concat"));
    std::int64_t from = 0;
    for (const pm::any_tensor& p : parts) {
        std::vector<pm::slice> cut(p.shape().size());
        const std::int64_t to = from + p.shape()[axis];
        cut[static_cast<std::size_t>(axis)] = {from, to};
        CHECK(bytes_of(pm::slice_view(whole, cut)) == bytes_of(p));
        from = to;
    }
    CHECK(from == whole.shape()[axis]);
}

}  // namespace

TEST_CASE("host concat: parts of any type along any axis, views and empty ones among them") {
    const pm::context home = host();
    const auto type = [](int i) {
        constexpr pm::dtype all[] = {pm::dtype::u8, pm::dtype::f16, pm::dtype::f32, pm::dtype::i64};
        return all[i];
    };
    for (int t = 0; t < 4; ++t) {
        for (const std::int64_t width : {1, 3, 17, 40000}) {
            const auto line = [&](std::int64_t n, int first) {
                return numbers({n}, type(t), first, home);
            };
            check_joined({line(width, 1), line(3 * width + 1, 2), line(2, 3)}, 0, home);
        }
        for (int axis = 0; axis < 3; ++axis) {
            std::vector<pm::any_tensor> parts;
            for (const std::int64_t n : {1, 3, 0, 19, 5}) {
                pm::shape extent{41, 7, 90};
                extent[axis] = n;
                parts.push_back(numbers(extent, type(t), static_cast<int>(n), home));
            }
            check_joined(parts, axis, home);
        }
        const pm::any_tensor x = numbers({300, 6}, type(t), 5, home),
                             down = pm::slice_view(x, std::vector{pm::slice{}, pm::slice{4, 5}}),
                             back = pm::flip(x, std::vector<std::int64_t>{0}),
                             turned = pm::transpose(numbers({2, 300}, type(t), 9, home)),
                             same = pm::broadcast_to(numbers({1, 1}, type(t), 7, home), {300, 2});
        check_joined({down, x, same, turned, down}, 1, home);
        check_joined({x, back}, 1, home);
        check_joined({pm::reshape(down, {300}), pm::reshape(x, {1800})}, 0, home);
    }
}

TEST_CASE("host concat: stacks along any axis are those of lazy parts") {
    const pm::context home = host();
    for (const pm::shape& extent :
         {pm::shape{}, pm::shape{400}, pm::shape{5, 33}, pm::shape{3, 1, 7}}) {
        std::vector<pm::any_tensor> parts, lazy;
        for (int k = 0; k < 5; ++k) {
            parts.push_back(numbers(extent, pm::dtype::f32, k, home));
            lazy.push_back(pm::add(parts.back(), 1));
        }
        for (int axis = 0; axis <= extent.rank(); ++axis) {
            const auto before = home.stats().plans;
            const pm::any_tensor whole = pm::stack(parts, axis);
            pm::eval(whole);
            CHECK(home.stats().plans == before);
            CHECK(whole.shape()[axis] == 5);
            CHECK(bytes_of(pm::add(whole, 1)) == bytes_of(pm::stack(lazy, axis)));
            const std::vector<pm::any_tensor> back = pm::unstack(whole, axis);
            for (std::size_t k = 0; k < 5; ++k) {
                CHECK(back[k].shape() == extent);
                CHECK(bytes_of(back[k]) == bytes_of(parts[k]));
            }
        }
    }
}
