// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Cells and a membrane on a torus: a rim is taken from the other side, where it lies, and the
// neighbours are views.
#include "check.hpp"

namespace pm = pumice;

namespace {
constexpr pm::slice here{1, -1}, low{0, -2}, high{2, {}};

/// x with a row and a column more on each side, which are those of the other: no copy.
template <class T>
pm::matrix<T> with_rim(const pm::matrix<T>& x) {
    return pm::pad(x, {{1, 1}, {1, 1}}, pm::pad_mode::wrap);
}
}  // namespace

TEST_CASE("user: a generation of Conway's life is one kernel") {
    constexpr int n = 96, steps = 8;
    using cells = pm::matrix<std::int32_t>;
    cells now =
        pm::astype<std::int32_t>(pm::random::uniform<float>({n, n}, pm::random::key(5)).rank<2>() <
                                 0.4f);
    std::vector<std::int32_t> plain = now.to_vector();
    for (int step = 0; step < steps; ++step) {
        const auto old = plain;
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) {
                int around = 0;
                for (int a = -1; a <= 1; ++a)
                    for (int b = -1; b <= 1; ++b)
                        around += old[std::size_t((i + a + n) % n * n + (j + b + n) % n)];
                const bool lives = old[std::size_t(i * n + j)] != 0;
                plain[std::size_t(i * n + j)] = around == 3 || (lives && around == 4);
            }
    }
    for (int step = 0; step < steps; ++step) {
        const auto kernels = pumice_test::kernels_of([&] {
            const cells x = with_rim(now),
                        rows = x(low, pm::all) + x(here, pm::all) + x(high, pm::all);
            const auto around = rows(pm::all, low) + rows(pm::all, here) + rows(pm::all, high);
            now = pm::astype<std::int32_t>((around == 3) | ((now == 1) & (around == 4)));
            pm::eval(now);
        });
        CHECK(kernels == 1);
    }
    CHECK(pumice_test::worst(now.to_vector(), plain) == 0);
}

TEST_CASE("user: a step of the wave equation is one kernel") {
    constexpr int n = 96, steps = 10;
    constexpr float c = 0.3f;
    pm::matrix<float> now = pm::random::uniform<float>({n, n}, pm::random::key(6)), before = now;
    std::vector<float> plain = now.to_vector(), old = plain;
    for (int step = 0; step < steps; ++step) {
        std::vector<float> next(plain.size());
        const auto at = [&](int i, int j) {
            return plain[std::size_t((i + n) % n * n + (j + n) % n)];
        };
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) {
                const float u = at(i, j);
                const float bend = at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1);
                next[std::size_t(i * n + j)] =
                    2.0f * u - old[std::size_t(i * n + j)] + c * (bend - 4.0f * u);
            }
        old = std::exchange(plain, next);
    }
    for (int step = 0; step < steps; ++step) {
        const auto kernels = pumice_test::kernels_of([&] {
            const pm::matrix<float> x = with_rim(now);
            const auto bend = x(low, here) + x(high, here) + x(here, low) + x(here, high);
            const pm::matrix<float> next = 2.0f * now - before + c * (bend - 4.0f * now);
            before = std::exchange(now, next);
            pm::eval(now);
        });
        CHECK(kernels == 1);
    }
    CHECK(pumice_test::worst(now.to_vector(), plain) < 1e-4);
}
