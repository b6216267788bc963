// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Many elements and many rows picked, by threads; tests/device compares any type and layout with
// the reference.
#include <pumice/host/take.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace host_test;

TEST_CASE("host take: elements and rows, from either end") {
    const pm::context home = host();
    const pm::matrix<float> x = ramp(301, 217, home);
    const std::vector<float> v = x.to_vector();
    std::vector<std::int64_t> places(2000);
    for (std::size_t i = 0; i < places.size(); ++i)
        places[i] = static_cast<std::int64_t>(i * 7919 % 400) - 200;
    const pm::vector<std::int64_t> indices = pm::from_span<std::int64_t>({2000}, places, home);
    const pm::matrix<float> rows(pm::take(x, indices, pm::axis<0>)),
        columns(pm::take(x, indices, pm::axis<1>));
    const std::vector<float> by_rows = rows.to_vector(), by_columns = columns.to_vector();
    const auto within = [](std::int64_t i, std::int64_t n) {
        return std::clamp<std::int64_t>(i < 0 ? i + n : i, 0, n - 1);
    };
    bool right = true;
    for (std::int64_t i = 0; i < 2000; ++i) {
        const std::int64_t place = places[static_cast<std::size_t>(i)];
        for (std::int64_t c = 0; c < 217; ++c)
            right = right && by_rows[static_cast<std::size_t>(i * 217 + c)] ==
                                 v[static_cast<std::size_t>(within(place, 301) * 217 + c)];
        for (std::int64_t r = 0; r < 301; ++r)
            right = right && by_columns[static_cast<std::size_t>(r * 2000 + i)] ==
                                 v[static_cast<std::size_t>(r * 217 + within(place, 217))];
    }
    CHECK(right);
}

namespace {

pm::any_tensor evaluated(const pm::any_tensor& x) {
    pm::eval(x);
    return x;
}
pm::any_tensor shaped(const pm::any_tensor& x, const pm::shape& extent) {
    return evaluated(pm::reshape(x, extent));
}
/// What a take of realised tensors gives, which runs without a plan, and one of a lazy sum of
/// indices, which has one, are the same.
template <class Take>
void compare_takes(const pm::context& home, const pm::any_tensor& indices, const Take& take) {
    const pm::any_tensor alone = take(indices),
                         planned = take(pm::add(indices, pm::multiply(indices, 0)));
    const auto before = home.stats().plans;
    pm::eval(alone);
    if (alone.size() > 0) {
        CHECK(home.stats().plans == before);
        CHECK(pm::explain(alone).starts_with("host/take"));
    }
    pm::eval(planned);
    CHECK(alone.shape() == planned.shape());
    CHECK(bytes_of(alone) == bytes_of(planned));
}

}  // namespace

TEST_CASE("host take: alone, of any type and view, by rows, elements and tuples, also of nothing") {
    const pm::context home = host();
    std::vector<std::int64_t> numbers(6 * 40);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<std::int64_t>(i * 7919 % 23) - 11;
    const pm::any_tensor wide(pm::from_span<std::int64_t>({6, 40}, numbers, home));
    for (const pm::dtype key : {pm::dtype::i32, pm::dtype::i64}) {
        const pm::any_tensor by = evaluated(pm::astype(wide, key)),
                             strided = evaluated(pm::slice_view(by, std::vector{pm::slice{0, 6},
                                                                                {39, 3, -2}}));
        for (const pm::dtype type : {pm::dtype::u8, pm::dtype::boolean, pm::dtype::f16,
                                     pm::dtype::i32, pm::dtype::f32, pm::dtype::f64}) {
            const pm::any_tensor x = evaluated(pm::astype(wide, type)), cube = shaped(x, {6, 8, 5}),
                                 turned =
                                     evaluated(pm::permute_dims(cube, std::vector<std::int64_t>{
                                                                          2, 0, 1}));
            for (const pm::any_tensor& at : {by, strided}) {
                for (const pm::any_tensor& from : {cube, turned}) {
                    for (const int axis : {0, 1, 2})
                        compare_takes(home, at, [&](const pm::any_tensor& i) {
                            return pm::take(from, i, axis);
                        });
                    compare_takes(home, shaped(at, {at.size() / 2, 2}),
                                  [&](const pm::any_tensor& i) { return pm::gather_nd(from, i); });
                }
                compare_takes(home, at, [&](const pm::any_tensor& i) {
                    return pm::take_along_axis(x, i, 1);
                });
            }
        }
        const pm::any_tensor none =
            evaluated(pm::slice_view(by, std::vector{pm::slice{0, 0}, {0, 40}}));
        compare_takes(home, none, [&](const pm::any_tensor& i) { return pm::take(by, i, 1); });
    }
}

TEST_CASE("host take: short rows of any size, by indices and tuples of them, as a plain loop") {
    const pm::context home = host();
    for (const pm::dtype type : {pm::dtype::u8, pm::dtype::f16, pm::dtype::f32, pm::dtype::f64})
        for (const std::int64_t width : {2, 3, 4, 5, 7, 9, 16, 17, 63, 64}) {
            constexpr std::int64_t n = 700, rows = 35, count = 900;
            std::vector<std::int32_t> v(static_cast<std::size_t>(n * width)), at(count);
            for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<int>(i % 113);
            for (std::size_t i = 0; i < at.size(); ++i)
                at[i] = static_cast<int>(i * 7919 % (2 * n)) - int{n};
            const pm::any_tensor x = evaluated(pm::astype(pm::from_span<std::int32_t>({n, width}, v,
                                                                                      home),
                                                          type)),
                                 by = evaluated(pm::from_span<std::int32_t>({count}, at, home));
            const std::vector<std::byte> from = bytes_of(x), got = bytes_of(pm::take(x, by, 0));
            const auto row = static_cast<std::size_t>(width * pm::info(type).bits / 8);
            bool right = got.size() == row * count;
            for (std::size_t i = 0; right && i < count; ++i) {
                const auto place = static_cast<std::size_t>(at[i] < 0 ? at[i] + int{n} : at[i]);
                right = std::equal(&got[i * row], &got[i * row] + row, &from[place * row]);
            }
            CHECK(right);
            // Pairs of indices that name the same rows, and of single elements.
            const pm::any_tensor
                place = pm::remainder(by, n),
                pairs =
                    evaluated(pm::stack(std::vector<pm::any_tensor>{pm::floor_divide(place, rows),
                                                                    pm::remainder(place, rows)},
                                        1)),
                cube = shaped(x, {n / rows, rows, width}),
                column = evaluated(pm::slice_view(cube, std::vector{pm::slice{}, pm::slice{},
                                                                    pm::slice{0, 1}}));
            CHECK(bytes_of(pm::gather_nd(cube, pairs)) == got);
            CHECK(bytes_of(pm::gather_nd(pm::squeeze(column, 2), pairs)) ==
                  bytes_of(pm::slice_view(pm::take(x, by, 0),
                                          std::vector{pm::slice{}, pm::slice{0, 1}})));
        }
}

TEST_CASE("host take: elements of many short lines, also cut between threads, as a plain loop") {
    const pm::context home = host();
    for (const std::int64_t n : {1, 2, 3, 7, 63})
        for (const std::int64_t lines : {1, 5, 6000}) {
            constexpr std::int64_t length = 4;
            const pm::shape by{2, lines, n}, from{2, lines, length};
            std::vector<float> v(static_cast<std::size_t>(pm::element_count(from)));
            std::vector<std::int32_t> at(static_cast<std::size_t>(pm::element_count(by)));
            for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i);
            for (std::size_t i = 0; i < at.size(); ++i)
                at[i] = static_cast<int>(i * 7919 % 11) - 5;  // clamped at both ends
            const pm::any_tensor x = pm::from_span<float>(from, v, home),
                                 indices = pm::from_span<std::int32_t>(by, at, home);
            const std::vector<float> got = pm::to_vector<float>(pm::take_along_axis(x, indices, 2));
            int wrong = got.size() != at.size();
            for (std::size_t i = 0; i < got.size(); ++i) {
                const std::int64_t k = at[i] < 0 ? std::max<std::int64_t>(at[i] + length, 0)
                                                 : std::min<std::int64_t>(at[i], length - 1);
                const auto line = static_cast<std::int64_t>(i) / n;
                wrong += got[i] != v[static_cast<std::size_t>(line * length + k)];
            }
            CHECK(wrong == 0);
            // The same of every second line.
            const std::vector<pm::slice> half{{}, pm::slice{0, lines, 2}, {}};
            const std::vector<float> some =
                pm::to_vector<float>(pm::take_along_axis(pm::slice_view(x, half),
                                                         pm::slice_view(indices, half), 2));
            const std::vector<float> want =
                pm::to_vector<float>(pm::slice_view(pm::take_along_axis(x, indices, 2), half));
            CHECK(some == want);
        }
}
