// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Loops and branches whose course depends on values: a square root by Newton's method, a filter.
#include <pumice.hpp>
#include <pumice/control.hpp>

#include <iostream>

namespace pm = pumice;

int main() try {
    const pm::vector<float> x = pm::arange<float>(1, 7);

    // Until it changes no more. The functions are called once, with tensors that have no values; x
    // is captured. A step waits for its bool and for nothing else.
    const auto close = [&](const pm::vector<float>& y) { return pm::abs(y * y - x) > x * 1e-5f; };
    const pm::vector<float> root =
        pm::while_loop([&](const pm::vector<float>& y) { return pm::any(close(y)); },
                       [&](const pm::vector<float>& y) { return (y + x / y) * 0.5f; }, x);
    std::cout << root << '\n';

    // One of the two runs.
    const pm::vector<float> either =
        pm::cond(pm::max(x) > 5.0f, [&] { return root * 10.0f; }, [&] { return x; });
    std::cout << either << '\n';

    // A row of xs a step: carried is a running mean, stacked what was above it. Nothing is read
    // back.
    const auto filter =
        pm::compile([](const pm::vector<float>& start, const pm::matrix<float>& xs) {
            return pm::scan(
                [](const pm::vector<float>& mean, const pm::vector<float>& row) {
                    const pm::vector<float> next = mean * 0.75f + row * 0.25f;
                    return std::tuple(next, pm::relu(row - next));
                },
                start, xs);
        });
    const pm::matrix<float> xs = pm::random::normal<float>({1000, 4}, pm::random::key(1));
    const auto [mean, above] = filter(pm::zeros<float>({4}).rank<1>(), xs);
    std::cout << mean << ' ' << pm::mean(above) << '\n';
} catch (const pm::error& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
