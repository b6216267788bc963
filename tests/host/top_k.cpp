// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The first few in order are those of argsort, whatever order the row lies in.
#include <pumice/graph/gather.hpp>
#include <pumice/host/sort.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>

using namespace host_test;

namespace {

/// A row of the way's order: at random, rising, falling, all equal, few values, NaN and zeros.
template <class T>
std::vector<T> row_of(int way, std::size_t n, std::mt19937& random) {
    std::vector<T> v(n);
    for (T& x : v)
        x = static_cast<T>(static_cast<int>(random() % (way == 4 ? 5 : 1u << 30)) % 30000 - 15000);
    if (way == 1) std::sort(v.begin(), v.end());
    if (way == 2) std::sort(v.begin(), v.end(), std::greater<>());
    if (way == 3) std::fill(v.begin(), v.end(), v[0]);
    if constexpr (std::is_floating_point_v<T>)
        if (way == 5)
            for (std::size_t i = 0; i < n; ++i)
                if (i % 3 != 0)
                    v[i] = i % 3 == 1 ? std::numeric_limits<T>::quiet_NaN() : i % 2 ? T(0) : T(-0.);
    return v;
}
/// They are those of argsort, bit by bit.
void compare(const pm::any_tensor& x, std::int64_t k, int axis, bool largest) {
    const pm::top_elements got = pm::top_k(x, k, axis, largest);
    pm::array_list<pm::slice> part(x.shape().size());
    part[static_cast<std::size_t>(axis)] = {0, k, 1};
    const pm::any_tensor order = pm::slice_view(pm::argsort(x, axis, largest), part);
    const auto bits = [](const pm::any_tensor& t) {
        return bytes_of(pm::copy(pm::is_packed(t.dtype()) ? pm::astype(t, pm::dtype::i32) : t));
    };
    CHECK(bits(got.indices) == bits(order));
    CHECK(bits(got.values) == bits(pm::take_along_axis(x, order, axis)));
}
template <class T>
void compare_rows(const pm::context& home) {
    std::mt19937 random(5);
    for (const std::int64_t length : {1, 2, 63, 64, 130, 600, 5000, 20000})
        for (int way = 0; way < 6; ++way) {
            std::vector<T> v;
            for (int r = 0; r < 2; ++r)
                for (const T& x : row_of<T>(way, static_cast<std::size_t>(length), random))
                    v.push_back(x);
            const pm::any_tensor x =
                pm::from_bytes(pm::dtype_of<T>, {2, length}, std::as_bytes(std::span(v)), home);
            for (const std::int64_t k : {std::int64_t{1}, std::int64_t{9}, std::int64_t{200},
                                         length / 10, length / 3, length / 3 + 1, length})
                for (const bool largest : {false, true})
                    if (k <= length) compare(x, k, 1, largest);
        }
}

}  // namespace

TEST_CASE("host top_k: the first of argsort, in every order and of every k") {
    const pm::context home = host();
    compare_rows<float>(home);
    compare_rows<double>(home);
    compare_rows<std::int32_t>(home);
    compare_rows<std::int64_t>(home);
    compare_rows<std::uint8_t>(home);
}

TEST_CASE("host top_k: of every element type, along any axis of any layout") {
    const pm::context home = host();
    std::mt19937 random(7);
    for (std::size_t t = 0; t < std::size(pm::dtype_table); ++t) {
        std::vector<float> v(3 * 200 * 5);
        for (float& x : v) x = static_cast<float>(random() % 16);
        const pm::any_tensor all = pm::astype(pm::from_bytes(pm::dtype::f32, {3, 200, 5},
                                                             std::as_bytes(std::span(v)), home),
                                              static_cast<pm::dtype>(t));
        const std::int64_t axes[] = {2, 0, 1};
        const pm::any_tensor moved = pm::permute_dims(all, axes);
        for (const bool largest : {false, true}) {
            compare(all, 7, 1, largest);
            compare(moved, 7, 2, largest);
            compare(moved, 1, 1, largest);
        }
    }
}
