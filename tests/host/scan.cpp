// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Running sums and products of every type and layout against the problem's reference.
#include <pumice/host/scan.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <vector>

namespace pm = pumice;

namespace {

struct line {
    pm::shape outer;
    std::int64_t length, count, lead;
    pm::strides from, to;  // over outer ++ {length} and outer ++ {count}
};

const line lines[] = {
    {{}, 5000, 5000, 0, {1}, {1}},
    {{4}, 700, 701, 1, {700, 1}, {701, 1}},    // from nothing on
    {{3}, 300, 200, 270, {300, 1}, {200, 1}},  // nothing at all
    {{5}, 9, 20, 4, {9, 1}, {20, 1}},          // and all of them again
    {{600}, 7, 7, 0, {7, 1}, {7, 1}},          // short
    {{300}, 400, 400, 0, {1, 300}, {1, 300}},  // down columns
    {{2, 290}, 70, 71, 1, {20300, 1, 290}, {20590, 71, 1}},
    {{3}, 333, 333, 0, {333, -1}, {333, 1}},
    {{700, 3}, 2, 2, 0, {6, 1, 3}, {6, 1, 3}},  // both short, and a long kept axis further out
    {{2, 601, 5}, 8, 9, 1, {24040, 40, 1, 5}, {27045, 45, 1, 5}},
    {{90, 3, 4}, 3, 3, 0, {36, 3, 9, 1}, {1, 270, 90, 1080}},
};

template <class T>
void compare(const line& l, pm::reduction what) {
    const pm::dtype type = pm::dtype_of<T>;
    const auto made = std::make_unique<T[]>(125000);
    for (int i = 0; i < 125000; ++i)
        made[static_cast<std::size_t>(i)] =
            pm::convert<T>(pm::is_floating(type) ? 0.98 + (i * 7919 % 113) / 2825.0
                                                 : double(i * 7919 % 113));
    pm::scan_problem p{what, l.outer, l.length, l.count, l.lead, {}, {}};
    auto body = std::make_shared<pm::program>(), end = std::make_shared<pm::program>();
    body->outputs = {body->push({pm::instruction::code::leaf, type, 0, {}, nullptr})};
    end->outputs = {end->push({pm::instruction::code::given, type, 0, {}, nullptr})};
    p.prologue = {body, {{0, type, 400, l.from}}, {}, {}};
    p.epilogue = {end, {}, {}, {{1, type, 0, l.to}}};
    const auto count = static_cast<std::size_t>(pm::element_count(l.outer) * l.count);
    const auto got = std::make_unique<T[]>(count), want = std::make_unique<T[]>(count);
    auto* const from = reinterpret_cast<std::byte*>(made.get());
    const pm::host_buffers ours{{from, reinterpret_cast<std::byte*>(got.get())}, {}},
        theirs{{from, reinterpret_cast<std::byte*>(want.get())}, {}};
    pm::host_loop loop;
    find_loop(p, ours, loop);
    REQUIRE(bool(loop));
    loop.run(nullptr, pm::thread_pool(3));
    reference(p, theirs);
    CAPTURE(pm::to_string(type));
    CAPTURE(pm::to_string(what));
    CAPTURE(pm::to_string(l.outer));
    const double bound = type == pm::dtype::f32 ? 2e-7 : type == pm::dtype::f64 ? 2.3e-16 : 0;
    bool near = true;
    for (std::size_t i = 0; i < count; ++i) {
        const auto a = pm::convert<double>(got[i]), b = pm::convert<double>(want[i]);
        near = near && (a == b || std::fabs(a - b) <= bound * b);
    }
    CHECK(near);
}

}  // namespace

TEST_CASE("host scan: every type and layout as the reference") {
    using pm::dtype;
    for (const line& l : lines)
        for (const pm::reduction what : {pm::reduction::sum, pm::reduction::prod})
            for (const dtype type :
                 {dtype::u8, dtype::i8, dtype::u16, dtype::i32, dtype::u32, dtype::i64, dtype::u64,
                  dtype::f16, dtype::bf16, dtype::f32, dtype::f64})
                pm::visit(type, [&]<class T>(T) {
                    if constexpr (sizeof(T) * 8 == pm::info(pm::dtype_of<T>).bits &&
                                  pm::dtype_of<T> != dtype::boolean)
                        compare<T>(l, what);
                });
}

namespace {

/// Running sums of what lies dense, by `home`, against the same of a view, which takes a plan.
template <class T>
void compare_dense(const pm::shape& extent, bool ends_infinite, const pm::context& home) {
    std::vector<T> v(static_cast<std::size_t>(pm::element_count(extent)));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = pm::convert<T>(double(i * 7919 % 113) / 40);
    if constexpr (pm::is_floating(pm::dtype_of<T>))
        if (ends_infinite) v[v.size() / 3] = T(std::numeric_limits<float>::infinity());
    std::vector<T> spaced;
    for (const T x : v) spaced.push_back(x), spaced.push_back(T(1));
    pm::shape twice = extent;
    twice[twice.rank() - 1] *= 2;
    std::vector<pm::slice> slices(extent.size());
    slices.back().step = 2;
    const pm::any_tensor x = pm::from_span<T>(extent, v, home),
                         view = pm::slice_view(pm::from_span<T>(twice, spaced, home), slices);
    for (const pm::reduction what : {pm::reduction::sum, pm::reduction::prod}) {
        const std::uint64_t before = home.stats().plans;
        const pm::any_tensor got = pm::cumulative(what, x, -1);
        pm::eval(got);
        CHECK(home.stats().plans == before);
        CHECK(pm::explain(got).starts_with("host/scan "));
        CAPTURE(pm::to_string(pm::dtype_of<T>));
        CAPTURE(ends_infinite);
        CHECK(host_test::bytes_of(got) == host_test::bytes_of(pm::cumulative(what, view, -1)));
    }
}

}  // namespace

TEST_CASE("host alone: running sums of little that lies dense need no plan") {
    const pm::context home = host_test::host();
    for (const pm::shape& extent : {pm::shape{1}, {5}, {3, 511}, {2, 512}, {2, 2, 700}})
        for (const bool ends_infinite : {false, true}) {
            compare_dense<std::uint8_t>(extent, ends_infinite, home);
            compare_dense<std::int16_t>(extent, ends_infinite, home);
            compare_dense<std::int64_t>(extent, ends_infinite, home);
            compare_dense<pm::f16>(extent, ends_infinite, home);
            compare_dense<float>(extent, ends_infinite, home);
            compare_dense<double>(extent, ends_infinite, home);
        }
}
