// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder are checked by: how far values are from those of plain C++, and
// how many kernels a step took.
#pragma once

#include <pumice.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace pumice_test {

/// The largest difference between elements; infinite where the numbers of them differ.
template <class A, class B>
double worst(const A& a, const B& b) {
    if (a.size() != b.size()) return HUGE_VAL;
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double gap = std::abs(double(a[i]) - double(b[i]));
        if (!(gap <= most)) most = std::isnan(gap) ? HUGE_VAL : gap;
    }
    return most;
}

/// The kernels that ran, on whatever device, while `f` did.
template <class F>
std::uint64_t kernels_of(F&& f) {
    const std::uint64_t before = pumice::stats().dispatches;
    f();
    return pumice::stats().dispatches - before;
}

}  // namespace pumice_test
