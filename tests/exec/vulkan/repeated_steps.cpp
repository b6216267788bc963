// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Loops whose steps are counted: many steps in one submit give what single steps give, for every
// count, with values that change places, are written over, are captured or stay.
#include <pumice/front.hpp>
#include <pumice/tensor/control.hpp>
#include <pumice/tensor/profile.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <thread>

namespace pm = pumice;

namespace {

using step_number = pm::tensor<std::int32_t, pm::dims<0>>;

/// (a, b) = (b, a + b mod 1024 + c), and the number of steps.
template <class V>
auto fibonacci(std::int64_t steps, const V& a, const V& b, const V& c) {
    return pm::fori_loop(
        0, steps,
        [&](const step_number& i, const V& x, const V& y, const V& n) {
            return std::tuple(y, pm::remainder(V(x + y), 1024.0f) + c,
                              V(n * 0.0f + pm::astype<float>(i) + 1.0f));
        },
        a, b, c);
}
std::vector<float> fibonacci_of(std::int64_t steps, float c) {
    float a = 1, b = 2;
    for (std::int64_t i = 0; i < steps; ++i) {
        const float next = float(std::fmod(a + b, 1024.0f)) + c;
        a = std::exchange(b, next);
    }
    return {a, b, steps == 0 ? c : float(steps)};
}
bool has_device(const pm::context& home) { return home.device().type != pm::device_type::host; }

}  // namespace

TEST_CASE("repeated_steps: every count gives what plain steps give") {
    const pm::context home;
    const auto values = [&](float v) { return pm::vector<float>(pm::full({70}, v, home)); };
    const pm::vector<float> a = values(1), b = values(2), c = values(3);
    pm::eval(a, b, c);
    for (std::int64_t steps = 0; steps < 70; steps += steps < 12 ? 1 : 7) {
        const std::vector<float> want = fibonacci_of(steps, 3);
        const auto made = pm::compile([&](const auto&... x) { return fibonacci(steps, x...); });
        for (int run = 0; run < 3; ++run) {
            const auto [x, y, n] = run == 0 ? fibonacci(steps, a, b, c) : made(a, b, c);
            for (const std::size_t at : {std::size_t(0), std::size_t(69)}) {
                const std::vector<float> got{x.to_vector()[at], y.to_vector()[at],
                                             n.to_vector()[at]};
                CHECK_MESSAGE(got == want, steps << " steps, run " << run);
            }
        }
    }
    CHECK(a.to_vector()[0] == 1);
}

TEST_CASE("repeated_steps: a thousand steps are a few submits, and take no more memory than ten") {
    const pm::context home;
    const auto values = [&](float v) { return pm::vector<float>(pm::full({1 << 12}, v, home)); };
    const pm::vector<float> a = values(1), b = values(2), c = values(3);
    pm::eval(a, b, c);
    const auto ten = pm::compile([](const auto&... x) { return fibonacci(10, x...); });
    const auto many = pm::compile([](const auto&... x) { return fibonacci(1000, x...); });
    CHECK(std::get<1>(ten(a, b, c)).to_vector()[7] == fibonacci_of(10, 3)[1]);
    const std::uint64_t peak = home.stats().device_bytes_peak;
    CHECK(std::get<1>(many(a, b, c)).to_vector()[7] == fibonacci_of(1000, 3)[1]);
    const pm::statistics before = home.stats();
    const auto [x, y, n] = many(a, b, c);
    const pm::statistics after = home.stats();
    CHECK(after.downloads == before.downloads);
    CHECK(after.dispatches - before.dispatches >= 1000);
    CHECK(after.recordings == before.recordings);
    if (has_device(home)) CHECK(after.submits - before.submits < 40);
    CHECK(after.device_bytes_peak <= peak + 8 * (4u << 12));
    CHECK(n.to_vector()[4095] == 1000);
    CHECK(x.to_vector()[4095] == fibonacci_of(1000, 3)[0]);
    CHECK(y.to_vector()[1] == fibonacci_of(1000, 3)[1]);
}

TEST_CASE("repeated_steps: what is carried by one handle is written in place in each of them") {
    const pm::context home;
    constexpr std::uint64_t bytes = 1024 * 32 * 4;
    const auto fill = pm::compile([](const pm::any_tensor& cache) {
        return pm::fori_loop(
            0, 900,
            [](const step_number& i, const pm::any_tensor& c) {
                const pm::any_tensor at = pm::reshape(pm::any_tensor(i), {1, 1});
                return pm::scatter_nd(c, at,
                                      pm::astype(pm::broadcast_to(at, {1, 32}), pm::dtype::f32));
            },
            cache);
    });
    const pm::any_tensor cache = pm::any_tensor(pm::zeros<float>({1024, 32}, home));
    pm::eval(cache);
    const pm::statistics before = home.stats();
    const std::vector<float> got = pm::to_vector<float>(fill(cache));
    for (std::size_t i = 0; i < got.size(); ++i)
        REQUIRE(got[i] == (i / 32 < 900 ? float(i / 32) : 0));
    CHECK(home.stats().written_bytes - before.written_bytes < 3 * bytes);
    CHECK(pm::to_vector<float>(cache) == std::vector<float>(1024 * 32, 0));
}

TEST_CASE("repeated_steps: threads share a recording, others work meanwhile") {
    const pm::context home;
    const auto many = pm::compile([](const auto&... x) { return fibonacci(300, x...); });
    std::vector<float> got(4);
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < got.size(); ++t)
            threads.emplace_back([&, t] {
                const auto values = [&](float v) {
                    return pm::vector<float>(pm::full({33}, v, home));
                };
                const pm::vector<float> a = values(1), b = values(2), c = values(float(t));
                for (int k = 0; k < 4; ++k) {
                    const auto [x, y, n] = many(a, b, c);
                    got[t] = pm::vector<float>(y + 0.0f).to_vector()[32];
                }
            });
    }
    for (std::size_t t = 0; t < got.size(); ++t) CHECK(got[t] == fibonacci_of(300, float(t))[1]);
}

TEST_CASE("repeated_steps: random keys are new in each step, and a profile sees each") {
    const pm::context home;
    const pm::vector<float> zeros = pm::zeros<float>({8}, home);
    const auto summed = pm::compile([&](const pm::vector<float>& from) {
        return pm::fori_loop(
            0, 64,
            [&](const step_number&, const pm::vector<float>& v) {
                const pm::vector<float> u =
                    pm::random::uniform<float>({8}, pm::random::detail::fresh(), 0, 1, home);
                return pm::vector<float>(v + u);
            },
            from);
    });
    const float sum = summed(zeros).to_vector()[3];
    CHECK(sum > 16);
    CHECK(sum < 48);
    const auto counted = pm::compile([](const pm::vector<float>& from) {
        return pm::fori_loop(
            0, 64, [](const step_number&, const pm::vector<float>& v) { return v + 1.0f; }, from);
    });
    counted(zeros).to_vector();
    pm::profiler p(home);
    CHECK(counted(zeros).to_vector()[7] == 64);
    const pm::profile seen = p.finish();
    CHECK(std::count_if(seen.events.begin(), seen.events.end(),
                        [](const auto& e) { return e.track > 0 && e.bytes >= 32; }) >= 64);
}
