// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A hundred thousand steps: memory stays flat, and nothing recurses along the chain.
#include <pumice/front.hpp>

#include <tests/support/samples.hpp>
#include <tests/support/sanitizer.hpp>

#include <doctest/doctest.h>

#include <unistd.h>
#include <cstdio>

namespace pm = pumice;

namespace {

/// MiB of this process that lie in memory.
double resident() {
    long pages = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
        std::fclose(file);
    }
    return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

const int steps = test::samples(100000), settled = test::samples(60000);
// After `settled` free memory is cut as it stays. A device that lags holds up to 1024 submits,
// which come to 20 MiB, and how many it holds changes with what else the machine does; a node that
// stayed for each step would be 40 MiB. The address sanitizer holds back 256 MiB of what was freed.
constexpr double most = test::address_sanitizer ? 400 : 32;

/// x = x*0.9 + g, `steps` times, with eval() after every one that `due` says. Ten g in the limit.
template <class Due>
void run(const pm::context& home, Due due) {
    std::vector<float> values(16, 0.0f);
    pm::matrix<float> x = pm::from_span<float>({4, 4}, values, home);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(i) * 0.25f;
    const pm::matrix<float> g = pm::from_span<float>({4, 4}, values, home);
    double before = 0;
    for (int i = 0; i < steps; ++i) {
        x = x * 0.9f + g;
        if (due(i)) pm::eval(x);
        if (i == settled) before = resident();
    }
    const double grown = resident() - before;
    const std::vector<float> got = x.to_vector();
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(values[i] * 10));
    CHECK_MESSAGE(grown < most, grown << " MiB more after " << steps - settled << " steps");
    CHECK(home.stats().device_bytes_peak < (16u << 20));
}

}  // namespace

TEST_CASE("a hundred thousand steps without eval") {
    run(pm::context(), [](int) { return false; });
}

TEST_CASE("a hundred thousand steps with an eval each") {
    run(pm::context(), [](int) { return true; });
}

TEST_CASE("a hundred thousand steps with an eval now and then") {
    run(pm::context(), [](int i) { return i % 1024 == 0; });
}
