// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What all kernels and their references share: rows of prologues and epilogues, refused types,
// spread workgroups.
#include "support.hpp"

#include <pumice/kernels/elementwise.hpp>
#include <pumice/kernels/reference.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <random>

using namespace pumice;

namespace {

struct no_kernel {
    using problem_type = elementwise_problem;
    static constexpr std::string_view name = "none";
    static constexpr bool portable = true;
    static bool supports(const elementwise_problem&, const device_info&) { return true; }
    static launch make(const elementwise_problem&, const device_info&) { return {}; }
};
static_assert(!kernel_type<no_kernel>, "a kernel that refuses says why");
static_assert(!kernel_type<int>);

struct unsolved {};
struct no_reference : no_kernel {
    using problem_type = unsolved;
    static support supports(const unsolved&, const device_info&) { return {}; }
    static launch make(const unsolved&, const device_info&) { return {}; }
};
static_assert(!kernel_type<no_reference>, "a problem says in plain C++ what its kernels compute");

}  // namespace

TEST_CASE("short rows of a prologue are the same, several at a time and one by one") {
    std::vector<float> data(4000);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = float(i % 251) - 100;
    const host_buffers buffers{{reinterpret_cast<std::byte*>(data.data())}};
    pumice_test::builder b;
    b.out({b.apply<op::multiply>(b.leaf(0), b.apply<op::add>(b.leaf(1), b.leaf(2)))});
    fused f = made(b);
    for (const std::int64_t length : {1, 3, 64, 170, 256, 257, 512}) {
        const shape domain{2, 7, length};
        f.leaves = {{0, dtype::f32, 0, {7 * length, length, 1}},       // rows that follow
                    {0, dtype::f32, 2000 + length - 1, {3, 100, -1}},  // backwards
                    {0, dtype::f32, 9, {2, 1, 0}}};                    // one number a row
        if (2000 + 700 + length > 4000 || 14 * length > 4000) f.leaves[0].steps = {0, 0, 1};
        host_rows ahead(f, buffers, false, domain), alone(f, buffers);
        const auto same = [&](const index_list& at) {
            const auto* const got = static_cast<const float*>(ahead.values(at, 0, length));
            const std::int64_t behind = ahead.rows_behind();
            CHECK(behind < std::max<std::int64_t>(1, host_program::block / length));
            for (std::int64_t row = 0; row <= behind; ++row) {
                index_list here = at;
                here[1] += row;
                const void* const want = alone.values(here, 0, length);
                CHECK(std::memcmp(got + row * length, want, std::size_t(4 * length)) == 0);
            }
        };
        for (std::int64_t y = 0; y < 2; ++y)
            for (std::int64_t x = 0; x < 7; ++x) same({y, x, 0});
        for (const index_list& at : {index_list{1, 6, 0}, {0, 6, 0}, {0, 2, 0}, {1, 2, 0}})
            same(at);
        const float part = *static_cast<const float*>(ahead.values({1, 3, 0}, length / 2, 1));
        CHECK(part == *static_cast<const float*>(alone.values({1, 3, 0}, length / 2, 1)));
        same({1, 3, 0});
    }
}

TEST_CASE("a prologue gives the row at its coordinates, over any step and past one block") {
    const std::int64_t length = 2 * host_program::block + 3;
    std::vector<float> data(static_cast<std::size_t>(3 * length));
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = float(i);
    float scale[] = {10, 20, 30};
    pumice_test::builder b;
    b.out({b.apply<op::multiply>(b.leaf(0), b.leaf(1))});
    fused f = made(b);
    f.leaves = {{0, dtype::f32, length - 1, {length, -1}},  // rows turned round
                {1, dtype::f32, 0, {1, 0}}};                // one number a row
    const host_buffers buffers{
        {reinterpret_cast<std::byte*>(data.data()), reinterpret_cast<std::byte*>(scale)}};
    std::vector<double> row(static_cast<std::size_t>(length));
    host_rows values(f, buffers);
    auto* const to = reinterpret_cast<std::byte*>(row.data());
    for (std::int64_t y = 0; y < 3; ++y) {
        values.read({y, 0}, dtype::f64, to, length);
        bool same = true;
        for (std::int64_t x = 0; x < length; ++x)
            same = same && row[std::size_t(x)] ==
                               double(data[std::size_t(y * length + length - 1 - x)]) * scale[y];
        CHECK(same);
        values.read({y, 5}, dtype::f64, to, 4);  // from the middle
        CHECK(row[0] == double(data[std::size_t(y * length + length - 6)]) * scale[y]);
    }
}

TEST_CASE("an epilogue stores what it is given, computed, at its coordinates and nowhere else") {
    const std::int64_t length = host_program::block + 5;
    std::vector<float> given(static_cast<std::size_t>(length)),
        out(static_cast<std::size_t>(2 * length * 2), -1.0f);
    for (std::size_t i = 0; i < given.size(); ++i) given[i] = float(i);
    float bias[] = {0.5f};
    pumice_test::builder b;
    b.out({b.apply<op::add>(b.given(), b.leaf(0))});
    fused f = made(b);
    f.leaves = {{0, dtype::f32, 0, {0, 0}}};
    f.outputs = {{1, dtype::f32, 1, {2 * length, 2}}};  // every second element
    const host_buffers buffers{
        {reinterpret_cast<std::byte*>(bias), reinterpret_cast<std::byte*>(out.data())}};
    host_rows(f, buffers)
        .write({1, 0}, dtype::f32, reinterpret_cast<const std::byte*>(given.data()), length);
    bool same = true;
    for (std::int64_t i = 0; i < 2 * length * 2; ++i) {
        const std::int64_t x = (i - 2 * length - 1) / 2;
        const bool stored = i > 2 * length && i % 2 == 1;
        same = same && out[std::size_t(i)] == (stored ? float(x) + 0.5f : -1.0f);
    }
    CHECK(same);
}

TEST_CASE(
    "a type that the device lacks is refused by name: in memory, in arithmetic, at the store") {
    device_info device;
    device.int64_arithmetic = true;
    const auto refused = [&](dtype loaded, dtype computed, dtype stored) {
        pumice_test::builder b;
        b.out({b.cast(stored, b.cast(computed, b.leaf(0, loaded)))});
        fused f = made(b);
        f.leaves = {{0, loaded, 0, {1}}};
        f.outputs = {{1, stored, 0, {1}}};
        const support s = supports_types(f, device);
        CHECK(s.yes == s.reason.empty());
        return s.reason;
    };
    CHECK(refused(dtype::f32, dtype::i32, dtype::f32) == "");
    CHECK(refused(dtype::i64, dtype::u64, dtype::i64) == "");
    CHECK(refused(dtype::f32, dtype::f64, dtype::f32) == "the device has no f64");
    CHECK(refused(dtype::f16, dtype::f32, dtype::f32) == "the device has no f16");
    CHECK(refused(dtype::f32, dtype::f32, dtype::i8) == "the device cannot store i8");
    device.storage16 = true;
    device.int64_arithmetic = false;
    CHECK(refused(dtype::f16, dtype::f32, dtype::bf16) == "");
    CHECK(refused(dtype::f32, dtype::i64, dtype::f32) == "the device has no i64");
}

TEST_CASE("workgroups spread over two axes cover the count within the device's limits") {
    std::mt19937_64 random(6);
    device_info device;
    for (int round = 0; round < 3000; ++round) {
        device.max_workgroup_count = {std::int64_t(1 + random() % 70000),
                                      std::int64_t(1 + random() % 70000), 1};
        const auto groups = std::int64_t(random() % (1u << (1 + random() % 31)));
        const std::int64_t most = device.max_workgroup_count[0] * device.max_workgroup_count[1];
        CAPTURE(groups);
        launch l;
        if (groups > most) {
            CHECK_THROWS_AS(spread(l, groups, device), error);
            continue;
        }
        const std::uint32_t width = spread(l, groups, device);
        CHECK(width == l.grid[0]);
        CHECK(l.grid[2] == 1);
        CHECK(l.grid[0] >= 1);
        CHECK(std::int64_t(l.grid[0]) <= device.max_workgroup_count[0]);
        CHECK(std::int64_t(l.grid[1]) <= device.max_workgroup_count[1]);
        const std::int64_t made = std::int64_t(l.grid[0]) * l.grid[1];
        CHECK(made >= groups);
        CHECK(made - groups <= std::max<std::int64_t>(l.grid[1], 1));  // few are idle
    }
}
