// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A hundred thousand steps: memory stays flat, and nothing recurses along the chain.
#include <pumice/front.hpp>

#include <tests/support/samples.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/skip.hpp>

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
const double most = test::address_sanitizer ? 400 : 32;

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

TEST_CASE("a lazy loop over large tensors holds few of them on the host") {
    constexpr std::int64_t n = 512;  // 1 MiB
    constexpr int turns = 48;
    const pm::context home(pm::host_only{});
    double seen = 0;
    pm::kernel_options how;
    how.inputs = {{.type = pm::dtype::f32}};
    how.outputs = {{.like = 0}};
    how.host = [&](const pm::kernel_arguments& a) {
        seen = resident();
        const auto from = a.inputs[0].as<float>();
        std::copy(from.begin(), from.end(), a.outputs[0].as<float>().begin());
    };
    const pm::kernel look("look", "void look(uint3 t, Input<F32> x, Output<F32> y) {}", how);
    const auto run = [&](bool step_by_step) {
        pm::matrix<float> u = pm::random::uniform<float>({n, n}, pm::random::key(3), 0, 1, home);
        pm::eval(u);
        const double before = resident();
        // Of step 20, 25 and 30 a handle, a view and an expression stay, which need what was
        // computed.
        pm::matrix<float> kept, sum;
        pm::tensor<float, pm::dims<2>, pm::strided> turned;
        for (int i = 0; i < turns; ++i) {
            pm::matrix<float> next = u * 3.0f;
            u = pm::softmax(next);
            if (i == 20) kept = u;
            if (i == 25) u = pm::softmax(turned = pm::transpose(u));
            if (i == 30) sum = std::move(next);
            if (step_by_step) pm::eval(u);
        }
        u = pm::matrix<float>(look(u));
        std::vector<float> values = u.to_vector();
        const double grown = seen - before;
        for (const std::vector<float>& more :
             {kept.to_vector(), turned.to_vector(), sum.to_vector()})
            values.insert(values.end(), more.begin(), more.end());
        return std::pair{values, grown};
    };
    const auto expected = run(true);
    const auto lazy = run(false);
    CHECK(lazy.first == expected.first);
    CHECK_MESSAGE(lazy.second < (test::address_sanitizer ? 400 : 16), lazy.second << " MiB");
}

TEST_CASE("what a loop runs ahead of the device is bounded by bytes") {
    constexpr std::int64_t n = 512;  // 1 MiB
    const pm::context home(pm::run_ahead{8 << 20});
    if (home.device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "nothing runs ahead on the host");
    pm::matrix<float> u = pm::ones<float>({n, n}, home);
    for (int i = 0; i < 96; ++i) {
        u = pm::transpose(u) * 0.5f + 0.1f;
        pm::eval(u);
    }
    const std::uint64_t peak = home.stats().device_bytes_peak;
    CHECK_MESSAGE(peak < (16u << 20), peak << " bytes");
    for (const float x : u.to_vector()) REQUIRE(x == doctest::Approx(0.2f));
}
