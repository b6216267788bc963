// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What is expected of kernels that move memory.
#include <pumice/kernels/seconds.hpp>

#include <doctest/doctest.h>

using namespace pumice;

namespace {

fused reads(const strides& steps, dtype t = dtype::f32) {
    fused f;
    f.leaves.push_back({0, t, 0, steps});
    return f;
}

}  // namespace

TEST_CASE("seconds: each element counts once, and a whole line where neighbours lie apart") {
    const shape domain{100, 200};
    CHECK(bytes_of(reads({200, 1}), domain) == 80000);
    CHECK(bytes_of(reads({0, 1}), domain) == 800);
    CHECK(bytes_of(reads({0, 0}, dtype::f16), domain) == 2);
    memory_traffic t;
    t.add(reads({200, 1}), domain, 1);
    CHECK(t.useful == 80000);
    CHECK(t.moved == 80000);
    t.add(reads({200, 1}), domain, 0);
    CHECK(t.useful == 160000);
    CHECK(t.moved == 80000 * 9);
    memory_traffic near;
    near.add(reads({400, 2}), domain, 1);
    CHECK(near.moved == 2 * near.useful);
    memory_traffic small;
    small.add(reads({1, 100}, dtype::f16), domain, 1);
    CHECK(small.moved == 16 * small.useful);
}

TEST_CASE("seconds: by the rate of the device, or by what is on its way at a time") {
    device_info d;
    d.measured = {1e12, 1e13, 0, 2e-6, 1e-6, 256, 32e6};
    const double base = 3e-6;
    const auto near = [](double a, double b) { return std::abs(a - b) < 1e-6 * b; };
    CHECK(near(seconds_to_move(d, 1e9, 1, 1e9) - base, 1e-3));
    CHECK(near(seconds_to_move(d, 1e9, 0.5, 1e9) - base, 2e-3));
    CHECK(near(seconds_to_move(d, 1e9, 1, 1, 64) - base, 1e9 / 64 * 1e-6));
    CHECK(seconds_to_move(d, 0, 1, 0) == base);
    // What caches hold is read twice as fast when it is asked for again.
    CHECK(near(seconds_to_move(d, memory_traffic{1e6, 3e6}, 1, 1e9, 64) - base, 2e-6));
    CHECK(near(seconds_to_move(d, memory_traffic{1e9, 3e9}, 1, 1e9, 64) - base, 3e-3));
}
