// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Assignments to parts, one after the other: in place where nobody else has the value, a kernel a
// part.
#include <pumice/front.hpp>
#include <pumice/graph/passes/join_assignments.hpp>

#include <doctest/doctest.h>

#include <random>

namespace pm = pumice;
using pm::at;
using pm::slice;

namespace {

constexpr std::int64_t rows = 7, columns = 5;

/// 0, 1, 2, ... with memory of its own.
pm::matrix<float> counting(const pm::context& home) {
    std::vector<float> v(rows * columns);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i);
    pm::matrix<float> x =
        pm::from_bytes(pm::dtype::f32, {rows, columns}, std::as_bytes(std::span(v)), home)
            .as<pm::matrix<float>>();
    x = x + 0.0f;
    pm::eval(x);
    return x;
}

/// What evaluating x costs after `f(x)`.
struct cost {
    std::uint64_t kernels, bytes;
};
template <class F>
cost cost_of(const pm::context& home, pm::matrix<float>& x, F&& f) {
    const pm::statistics before = home.stats();
    f(x);
    pm::eval(x);
    const pm::statistics after = home.stats();
    return {after.dispatches - before.dispatches, after.written_bytes - before.written_bytes};
}

}  // namespace

TEST_CASE("join assignments: each part is a kernel that writes in place, and nothing is copied") {
    const pm::context home;
    constexpr std::uint64_t row = columns * sizeof(float), whole = rows * row;
    const pm::vector<float> v = pm::full<float>({columns}, 5, home);
    pm::eval(v);
    {
        pm::matrix<float> x = counting(home);
        const cost c = cost_of(home, x, [&](auto& a) {
            at(a, 0) = 7.0f;
            at(a, 1) = v;
            at(a, slice{4, 6}) = 9.0f;
        });
        CHECK(c.kernels == 3);
        CHECK(c.bytes == 4 * row);
        const std::vector<float> r = x.to_vector();
        CHECK(r[0] == 7);
        CHECK(r[5] == 5);
        CHECK(r[10] == 10);
        CHECK(r[29] == 9);
        CHECK(r[30] == 30);
    }
    {
        pm::matrix<float> x = counting(home);
        const cost c = cost_of(home, x, [&](auto& a) {
            at(a, 0) += 1.0f;
            at(a, 1) += v;
            at(a, 6) *= 2.0f;
        });
        CHECK(c.kernels == 3);
        CHECK(c.bytes == 3 * row);
        const std::vector<float> r = x.to_vector();
        CHECK(r[0] == 1);
        CHECK(r[5] == 10);
        CHECK(r[34] == 68);
        CHECK(r[10] == 10);
    }
    {  // somebody else has the value: one copy of it, however many parts
        pm::matrix<float> x = counting(home);
        const pm::matrix<float> held = x;
        const cost c =
            cost_of(home, x, [&](auto& a) { at(a, 0) = 7.0f, at(a, 1) = v, at(a, 2) += v; });
        CHECK(c.kernels == 4);
        CHECK(c.bytes == whole + 3 * row);
        CHECK(held.to_vector()[0] == 0);
        CHECK(x.to_vector()[10] == 15);
    }
    {  // compiled, the state given
        const auto f = pm::compile([](pm::matrix<float> x, const pm::vector<float>& y) {
            at(x, 0) = 7.0f;
            at(x, 1) += y;
            at(x, 2) = y;
            return x;
        });
        pm::any_tensor state[] = {pm::any_tensor(counting(home)), pm::any_tensor(v)};
        const pm::executable e = f.get(state[0].as<pm::matrix<float>>(), v);
        const std::vector<float> r = pm::to_vector<float>(e.run(state)[0]);
        CHECK(r[4] == 7);
        CHECK(r[5] == 10);
        CHECK(r[14] == 5);
        CHECK(r[15] == 15);
    }
}

TEST_CASE("join assignments: what is read in between is what it was then") {
    const pm::context home;
    const pm::vector<float> v = pm::full<float>({columns}, 5, home);
    pm::eval(v);
    {
        pm::matrix<float> x = counting(home);
        at(x, 0) = 7.0f;
        at(x, 1) = at(x, 0).read() * 2.0f;  // of what was just assigned
        CHECK(x.to_vector()[5] == 14);
    }
    {
        pm::matrix<float> x = counting(home);
        pm::any_tensor old = pm::any_tensor(at(x, 5).read() + 0.0f);  // lazy
        at(x, 5) = 0.0f;
        at(x, 6) = old.as<pm::vector<float>>();
        old = {};
        CHECK(x.to_vector()[30] == 25);
        CHECK(x.to_vector()[25] == 0);
    }
    {
        pm::matrix<float> x = counting(home);
        at(x, 0) = 7.0f;
        const pm::matrix<float> between = x;
        const pm::scalar_tensor<float> total = pm::sum(x);
        at(x, 1) = v;
        pm::eval(x, total);
        CHECK(between.to_vector()[5] == 5);
        CHECK(between.to_vector()[6] == 6);
        CHECK(x.to_vector()[6] == 5);
        CHECK(total.item() == 595 + 35 - 10);
    }
    {  // columns, and parts that overlap
        pm::matrix<float> x = counting(home);
        at(x, slice{}, 0) += 1.0f;
        at(x, slice{}, 1) += 2.0f;
        at(x, slice{0, 2}) = 50.0f;
        at(x, slice{1, 3}) += 1.0f;
        const std::vector<float> r = x.to_vector();
        CHECK(r[0] == 50);
        CHECK(r[5] == 51);
        CHECK(r[10] == 12);
        CHECK(r[11] == 14);
        CHECK(r[15] == 16);
        CHECK(r[16] == 18);
    }
}

TEST_CASE("join assignments: what was just assigned is read without a copy of the whole") {
    const pm::context home;
    constexpr std::uint64_t row = columns * sizeof(float);
    const auto costs = [&](std::uint64_t kernels, std::uint64_t bytes, auto&& f,
                           std::vector<std::pair<std::size_t, float>> want) {
        pm::matrix<float> x = counting(home);
        const cost c = cost_of(home, x, f);
        CHECK(c.kernels == kernels);
        CHECK(c.bytes == bytes);
        const std::vector<float> r = x.to_vector();
        for (const auto& [i, value] : want) CHECK(r[i] == value);
    };
    // The part itself, twice: it is written once.
    costs(1, row, [](auto& x) { at(x, 0) += 1.0f, at(x, 0) *= 3.0f; }, {{0, 3}, {4, 15}, {5, 5}});
    costs(2, 2 * row, [](auto& x) { at(x, 0) = 7.0f, at(x, 1) = at(x, 0).read() * 2.0f; },
          {{0, 7}, {5, 14}, {10, 10}});
    // Each row of the one before it.
    costs(rows - 1, (rows - 1) * row,
          [](auto& x) {
              for (std::int64_t i = 1; i < rows; ++i) at(x, i) = at(x, i - 1).read() + 1.0f;
          },
          {{0, 0}, {5, 1}, {6, 2}, {30, 6}, {34, 10}});
    // Of rows that are not written, and of rows that are: those have to be copied first.
    costs(1, 3 * row, [](auto& x) { at(x, slice{4, 7}) = at(x, slice{0, 3}).read() + 1.0f; },
          {{5, 5}, {20, 1}, {34, 15}});
    costs(2, (rows + 3) * row,
          [](auto& x) { at(x, slice{1, 4}) = at(x, slice{0, 3}).read() + 1.0f; },
          {{5, 1}, {10, 6}, {15, 11}, {20, 20}});
}

TEST_CASE("join assignments: what scatters and assignments write to is made where they write") {
    const pm::context home;
    constexpr std::uint64_t row = columns * sizeof(float), whole = rows * row;
    const pm::vector<std::int64_t>
        even = pm::from_span<std::int64_t>({3}, std::vector<std::int64_t>{0, 2, 4}, home),
        odd = pm::from_span<std::int64_t>({3}, std::vector<std::int64_t>{1, 3, 1}, home);
    {
        const pm::matrix<float> x = counting(home);
        pm::matrix<float> y = counting(home);
        const auto assign = [&](auto& z) {
            at(z, even) = 1.0f;
            at(z, odd) = 2.0f;
            at(z, 6) = 3.0f;
        };
        const std::uint64_t bytes = cost_of(home, y, assign).bytes;
        pm::matrix<float> held = x;  // the value before is wanted: one copy more
        CHECK(cost_of(home, held, assign).bytes == bytes + whole);
        for (const std::vector<float>& r : {y.to_vector(), held.to_vector()})
            for (std::size_t i = 0; i < rows; ++i)
                CHECK(r[i * columns] == (i == 6 ? 3 : i == 5 ? 25 : i % 2 == 0 ? 1 : 2));
        CHECK(x.to_vector()[0] == 0);
    }
    {
        pm::matrix<float> a = counting(home),
                          b = pm::full<float>({columns, 3}, 1, home).as<pm::matrix<float>>();
        pm::eval(a, b);
        pm::matrix<float> p = counting(home);
        const cost c = cost_of(home, p, [&](auto& x) {
            x = pm::matmul(a, b);
            at(x, 1) = 9.0f;
        });
        CHECK(c.bytes == (rows + 1) * 3 * sizeof(float));
        const std::vector<float> r = p.to_vector();
        CHECK(r[0] == 10);
        CHECK(r[3] == 9);
        CHECK(r[6] == 60);
    }
}

TEST_CASE(
    "join assignments: a view of what was assigned keeps its values beside what comes later") {
    for (const pm::context& home : {pm::context(), pm::context(pm::host_only{})})
        for (const bool whole : {false, true}) {
            pm::matrix<float> x = counting(home);
            const pm::matrix<float> ones = pm::matrix<float>(counting(home) * 0.0f + 1.0f);
            if (whole) at(x, slice{0, rows}) = ones;
            else at(x, 0) = 1.0f;
            const auto turned = pm::flip(pm::transpose(x), pm::axis<1>);
            at(x, 1) = 2.0f;
            pm::eval(turned, x);
            const std::vector<float> then = turned.to_vector(), now = x.to_vector();
            CHECK(then[rows - 1] == 1);
            CHECK(then[rows - 2] == (whole ? 1 : columns));
            CHECK(now[0] == 1);
            CHECK(now[columns] == 2);
        }
}

TEST_CASE("join assignments: random ones are what a plain array does") {
    const pm::context home;
    std::mt19937 random(7);
    const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    for (int round = 0; round < 150; ++round) {
        pm::matrix<float> x = counting(home);
        std::vector<float> plain = x.to_vector(), before;
        pm::matrix<float> held = x;
        if (below(2) == 0) held = pm::matrix<float>(pm::zeros<float>({1, 1}, home));
        else before = plain;
        for (std::int64_t n = 2 + below(5); n > 0; --n) {
            const std::int64_t begin = below(rows), length = below(rows - begin + 1),
                               from = below(rows);
            const slice part{begin, begin + length};
            const auto value = static_cast<float>(below(100));
            std::vector<float> next = plain;
            const auto each = [&](auto&& f) {
                for (std::int64_t i = begin; i < begin + length; ++i)
                    for (std::int64_t k = 0; k < columns; ++k)
                        next[static_cast<std::size_t>(i * columns + k)] = f(i, k);
            };
            const auto old = [&](std::int64_t i, std::int64_t k) {
                return plain[static_cast<std::size_t>(i * columns + k)];
            };
            switch (below(5)) {
                case 0:
                    at(x, part) = value;
                    each([&](auto, auto) { return value; });
                    break;
                case 1:
                    at(x, part) += value;
                    each([&](auto i, auto k) { return old(i, k) + value; });
                    break;
                case 2:
                    at(x, part) = at(x, from).read() - value;
                    each([&](auto, auto k) { return old(from, k) - value; });
                    break;
                case 3: {  // by indices, of which one comes twice
                    const std::vector<std::int64_t> list{from, begin, from};
                    at(x, pm::vector<std::int64_t>(pm::from_span<std::int64_t>({3}, list, home))) =
                        value;
                    for (const std::int64_t i : list)
                        for (std::int64_t k = 0; k < columns; ++k)
                            next[static_cast<std::size_t>(i * columns + k)] = value;
                    break;
                }
                default:
                    at(x, slice{begin, begin + length}) = pm::flip(at(x, part).read(), pm::axis<0>);
                    each([&](auto i, auto k) { return old(2 * begin + length - 1 - i, k); });
            }
            plain = std::move(next);
        }
        CHECK(x.to_vector() == plain);
        if (!before.empty()) CHECK(held.to_vector() == before);
    }
}

namespace {

/// A part of a matrix along both axes, as a plain array sees it.
struct block_of {
    slice down, along;
    std::vector<std::size_t> places;  // of its elements, in order

    block_of(std::int64_t top, std::int64_t n, std::int64_t step, std::int64_t left, std::int64_t m)
        : along{left, left + m} {
        const std::int64_t last = top + (n - 1) * step;
        down = {top, step > 0 ? std::optional(last + 1) : std::nullopt, step};
        if (step < 0 && last > 0) down.stop = last - 1;
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t k = 0; k < m; ++k)
                places.push_back(static_cast<std::size_t>((top + i * step) * columns + left + k));
    }
};

}  // namespace

TEST_CASE("join assignments: random blocks of each other, forwards and backwards, some held") {
    const pm::context home;
    std::mt19937 random(11);
    const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    const auto block = [&](std::int64_t n, std::int64_t m) {
        const std::int64_t most = n > 1 ? (rows - 1) / (n - 1) : 2, step = 1 + below(most),
                           top = below(rows - (n - 1) * step), left = below(columns - m + 1);
        return below(3) == 0 ? block_of(top + (n - 1) * step, n, -step, left, m)
                             : block_of(top, n, step, left, m);
    };
    for (int round = 0; round < 200; ++round) {
        pm::matrix<float> x = counting(home);
        std::vector<float> plain = x.to_vector();
        std::vector<std::pair<pm::matrix<float>, std::vector<float>>> held;
        for (std::int64_t count = 1 + below(6); count > 0; --count) {
            const std::int64_t n = 1 + below(rows), m = 1 + below(columns);
            const block_of to = block(n, m), from = below(3) == 0 ? to : block(n, m);
            const auto factor = static_cast<float>(1 + below(3));
            std::vector<float> next = plain;
            const bool adds = below(2) == 0;
            for (std::size_t i = 0; i < to.places.size(); ++i)
                next[to.places[i]] =
                    (adds ? plain[to.places[i]] : 0) + plain[from.places[i]] * factor;
            const auto values = at(x, from.down, from.along).read() * factor;
            if (adds) at(x, to.down, to.along) += values;
            else at(x, to.down, to.along) = values;
            plain = std::move(next);
            if (below(5) == 0) held.emplace_back(x, plain);
        }
        CHECK(x.to_vector() == plain);
        for (const auto& [handle, want] : held) CHECK(handle.to_vector() == want);
    }
}
