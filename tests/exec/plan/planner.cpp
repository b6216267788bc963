// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Plans are made once for each structure: what differs from one evaluation to the next without
// changing what runs is no part of the key, and what changes it is.
#include <pumice/exec/host_engine.hpp>
#include <pumice/exec/null_engine.hpp>
#include <pumice/front.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

namespace {

/// A context whose plans are counted.
struct counted {
    pm::context home = [] {
        pm::policy_set p;
        p.max_pending = 1 << 30;  // nothing is evaluated but what is asked for
        return pm::context(std::make_shared<pm::host_engine>(std::move(p), "host"));
    }();

    /// Plans made while f runs.
    template <class F>
    std::uint64_t plans(F&& f) const {
        const std::uint64_t before = home.stats().plans;
        f();
        return home.stats().plans - before;
    }
    pm::any_tensor ramp(const pm::shape& extent) const {
        const pm::any_tensor x =
            pm::reshape(pm::arange(pm::dtype::f32, 0, double(pm::element_count(extent)), 1, home),
                        extent);
        pm::eval(std::span(&x, 1));
        return x;
    }
};
void run(const pm::any_tensor& t) { pm::eval(std::span(&t, 1)); }
std::vector<float> read(const pm::any_tensor& t) { return pm::to_vector<float>(t); }

}  // namespace

TEST_CASE("planner: a changing number, slice and random key are no new plan") {
    const counted c;
    pm::any_tensor w = c.ramp({4, 64});
    const pm::any_tensor data = c.ramp({1000, 64});
    std::vector<float> model = read(w);
    const auto step = [&](int i) {
        const pm::slice row[] = {{i, i + 1, 1}};
        const pm::any_tensor x = pm::slice_view(data, row);
        const pm::any_tensor noise =
            pm::random::uniform(pm::dtype::f32, {4, 64}, pm::random::key(unsigned(i)), 0, 1,
                                c.home);
        const double rate = 1.0 / (i + 1);
        w = pm::matmul(w * rate + noise * 0.0 + x, pm::broadcast_to(x, {64, 64})) * 1e-9;
        run(w);
    };
    step(0);
    CHECK(c.plans([&] {
        for (int i = 1; i < 1000; ++i) step(i);
    }) == 0);
    CHECK(read(w).size() == 256);
}

TEST_CASE("planner: a known plan computes with the numbers and places of its run") {
    const counted c;
    const pm::any_tensor data = c.ramp({100, 8});
    const auto at = [&](int row, double factor) {
        const pm::slice rows[] = {{row, row + 2, 1}, {1, 8, 2}};
        return read(pm::reduce(pm::reduction::sum, pm::slice_view(data, rows) * factor));
    };
    const auto expected = [](int row, double factor) {
        float sum = 0;
        for (int r = row; r < row + 2; ++r)
            for (int k = 1; k < 8; k += 2) sum += float(factor * (r * 8 + k));
        return std::vector<float>{sum};
    };
    CHECK(at(0, 1) == expected(0, 1));
    CHECK(c.plans([&] {
        for (int i = 1; i < 98; ++i) CHECK(at(i, i % 5) == expected(i, i % 5));
    }) == 0);
}

TEST_CASE("planner: what changes the work is a new plan") {
    const counted c;
    const pm::any_tensor a = c.ramp({8, 8}), b = c.ramp({8, 8}), narrow = c.ramp({1, 8}),
                         half = pm::astype(a, pm::dtype::f16);
    run(half);
    const std::int64_t turned[] = {1, 0}, first[] = {0}, second[] = {1};
    const auto fresh = [&](auto&& make) {
        const auto twice = [&] {
            run(make());
            run(make());
        };
        return c.plans(twice);
    };
    CHECK(fresh([&] { return pm::matmul(a, b); }) == 1);
    CHECK(fresh([&] { return pm::matmul(b, a); }) == 0);
    CHECK(fresh([&] { return pm::matmul(a, a); }) == 1);  // one operand in place of two
    CHECK(fresh([&] { return pm::matmul(narrow, a); }) == 1);
    CHECK(fresh([&] { return pm::matmul(half, half); }) == 1);
    CHECK(fresh([&] { return pm::matmul(a, b) * 2.0; }) == 1);
    CHECK(fresh([&] { return pm::matmul(a, b) * 3.0; }) == 0);
    CHECK(fresh([&] { return pm::matmul(a, b) + 3.0; }) == 1);
    CHECK(fresh([&] { return pm::reduce(pm::reduction::sum, a * b, first); }) == 1);
    CHECK(fresh([&] { return pm::reduce(pm::reduction::sum, a * b, second); }) == 1);
    CHECK(fresh([&] { return pm::reduce(pm::reduction::max, a * b, second); }) == 1);
    CHECK(fresh([&] { return pm::matmul(pm::permute_dims(a, turned), b); }) == 1);
    // A node that somebody goes on reading is stored, otherwise it is not.
    pm::any_tensor kept;
    CHECK(fresh([&] {
              kept = a * b;
              return pm::reduce(pm::reduction::min, kept, first);
          }) == 1);
    pm::any_tensor reader;
    CHECK(fresh([&] {
              const pm::any_tensor product = a * b;
              reader = product + 1.0;
              return pm::reduce(pm::reduction::min, product, first);
          }) == 1);
}

TEST_CASE("planner: rows that begin elsewhere in sixteen bytes have plans of their own") {
    const counted c;
    const pm::any_tensor data = c.ramp({64});
    const auto from = [&](int begin) {
        const pm::slice part[] = {{begin, begin + 32, 1}};
        return read(pm::slice_view(data, part) + pm::reduce(pm::reduction::max, data));
    };
    CHECK(c.plans([&] {
        for (int i = 0; i < 16; ++i) {
            const std::vector<float> got = from(i);
            for (int k = 0; k < 32; ++k) CHECK(got[std::size_t(k)] == float(63 + i + k));
        }
    }) == 4);
}

TEST_CASE("planner: kernels count from the lowest element that they read, whatever the steps") {
    const auto null = std::make_shared<pm::null_engine>(pm::device_info{}, pm::policy_set{});
    const counted c;
    const pm::any_tensor nothing(null->create(pm::dtype::f32, {6, 5, 7}, nullptr)),
        values = c.ramp({6, 5, 7}),
        lazy = pm::reshape(pm::arange(pm::dtype::f32, 0, 6 * 5 * 7, 1, c.home), {6, 5, 7});
    const pm::slice kinds[] = {{0, std::nullopt, 1},
                               {1, 3, 1},
                               {std::nullopt, std::nullopt, -1},
                               {2, std::nullopt, -2},
                               {3, 0, -1}};
    std::size_t cases = 0;
    for (const pm::slice& x : kinds)
        for (const pm::slice& y : kinds)
            for (const pm::slice& z : kinds) {
                const pm::slice part[] = {x, y, z};
                run(pm::slice_view(nothing, part) + 1.0);
                ++cases;
                CHECK(read(pm::slice_view(values, part) + 1.0) ==
                      read(pm::slice_view(lazy, part) + 1.0));
            }
    CHECK(null->launches().size() == cases);
    for (const pm::launch& l : null->launches())
        for (const pm::access& a : l.accesses) CHECK(a.begin >= 0);
}

TEST_CASE("planner: two views that begin at one element and run both ways are two buffers") {
    const counted c;
    const pm::any_tensor data = c.ramp({64});
    const pm::slice up[] = {{20, 40, 1}}, down[] = {{20, 0, -1}};
    const pm::any_tensor a = pm::slice_view(data, up), b = pm::slice_view(data, down);
    const std::vector<float> got = read(a * 100.0 + b);
    for (int k = 0; k < 20; ++k) CHECK(got[std::size_t(k)] == float(100 * (20 + k) + 20 - k));
}

TEST_CASE("planner: as many plans are kept as there is room for, the last used ones") {
    const counted c;
    const auto product = [&](int n) { run(pm::matmul(c.ramp({2, n}), c.ramp({n, 2}))); };
    for (int n = 1; n <= 400; ++n) product(n);
    CHECK(c.plans([&] { product(400); }) == 0);
    CHECK(c.plans([&] { product(1); }) > 0);
}
