// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A program whose own file has only the front: an op with kernels of its own, and a compiled
// function.
#include <pumice/front.hpp>

#include <exception>
#include <iostream>

namespace pm = pumice;

int main() try {
    const pm::matrix<float> ones = pm::ones<float>({4, 5});
    const auto rows = pm::compile([](const pm::matrix<float>& x) {
        return pm::vector<float>(pm::sum(x, pm::axis<1>));
    });
    std::cout << rows(ones) << '\n';
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
