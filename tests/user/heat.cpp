// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The heat equation on a plate whose rim is kept cold: an explicit step a kernel, in place.
#include "check.hpp"

namespace pm = pumice;

TEST_CASE("user: the heat equation is one kernel a step") {
    constexpr int n = 160, steps = 12;
    const auto start = [] {
        return pm::matrix<float>(pm::random::uniform<float>({n, n}, pm::random::key(3)));
    };
    std::vector<float> plain = start().to_vector();
    for (int step = 0; step < steps; ++step) {
        const std::vector<float> u = plain;
        for (int i = 1; i < n - 1; ++i)
            for (int j = 1; j < n - 1; ++j) {
                const float* c = &u[std::size_t(i * n + j)];
                plain[std::size_t(i * n + j)] =
                    c[0] + 0.2f * (c[-n] + c[n] + c[-1] + c[1] - 4.0f * c[0]);
            }
    }

    // What is written reads its neighbours, so there are two plates: of the older one the inner
    // part is overwritten where it lies.
    const auto step = [](const pm::matrix<float>& u, pm::matrix<float> older) {
        constexpr pm::slice in{1, -1}, low{0, -2}, high{2, {}};
        pm::at(older, in, in) = u(in, in) + 0.2f * (u(low, in) + u(high, in) + u(in, low) +
                                                    u(in, high) - 4.0f * u(in, in));
        return older;
    };
    pm::matrix<float> u = start(), older = start();
    pm::eval(u, older);
    for (int i = 0; i < steps; ++i) {
        pm::matrix<float> next = step(u, std::move(older));
        const auto kernels = pumice_test::kernels_of([&] { pm::eval(next); });
        CHECK(kernels == 1);
        older = std::exchange(u, next);
    }
    CHECK(pumice_test::worst(u.to_vector(), plain) < 1e-5);

    // The same as a recording, whose result lies in the memory of the older plate.
    u = start();
    older = start();
    pm::eval(u, older);
    const pm::executable recorded = pm::compile(step).get(u, older);
    std::vector<pm::any_tensor> now{u}, old{std::move(older)};
    u = {};
    const auto kernels = pumice_test::kernels_of([&] {
        for (int i = 0; i < steps; ++i) {
            auto next = recorded.run_donating(now[0], std::move(old[0]));
            old[0] = std::exchange(now[0], std::move(next[0]));
        }
        pm::to_vector<float>(now[0]);
    });
    CHECK(kernels == steps);
    CHECK(pumice_test::worst(pm::to_vector<float>(now[0]), plain) < 1e-5);
}
