// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Many threads at one executable and at shared lazy graphs, in every way to run, on the device and
// on the host. In the suite a few seconds; PUMICE_TEST_SCALE=60 is the full extent of 600 runs a
// thread.
#include <pumice/front.hpp>

#include <tests/support/samples.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdio>
#include <thread>

namespace pm = pumice;

namespace {

/// Ends the process where for 20 s nothing was counted. Seconds are its own: a machine that stood
/// still, or had no time for it, is no deadlock.
class watchdog {
public:
    void count() noexcept { done_.fetch_add(1, std::memory_order_relaxed); }
    long counted() const noexcept { return done_.load(); }

private:
    void watch(const std::stop_token& stop) const {
        long seen = -1;
        for (int ticks = 0; !stop.stop_requested(); ++ticks) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            if (const long done = done_.load(); done != seen) {
                seen = done;
                ticks = 0;
            } else if (ticks == 1000) {
                std::printf("FAILED: no progress for 20 s after %ld runs\n", seen);
                std::fflush(stdout);
                std::_Exit(1);
            }
        }
    }
    std::atomic<long> done_{0};
    std::jthread thread_{[this](const std::stop_token& stop) { watch(stop); }};
};

template <class F>
void on_threads(int count, F&& f) {
    std::vector<std::jthread> threads;
    for (int t = 0; t < count; ++t) threads.emplace_back([&f, t] { f(t); });
}

std::vector<float> numbers(std::size_t n, int seed) {
    std::vector<float> v(n);
    for (std::size_t i = 0; i < n; ++i)
        v[i] = 0.37f * float((i * 31 + std::size_t(seed) * 17) % 23);
    return v;
}

constexpr std::int64_t side = 24;
constexpr std::size_t size = side * side;

pm::context device_or_host(bool host) {
    return host ? pm::context{pm::host_only{}} : pm::context{};
}

}  // namespace

TEST_CASE("64 threads share one executable, and each run is bit-equal to a single thread's") {
    constexpr int threads = 64;
    const int runs = test::samples(10);
    for (const bool host : {false, true}) {
        const pm::context home = device_or_host(host);
        const pm::matrix<float> w = pm::from_span<float>({side, side}, numbers(size, 99), home);
        const auto layer = pm::compile([w](const pm::matrix<float>& x) {
            return pm::matrix<float>(pm::softmax(pm::relu(pm::matmul(x, w) - 1.0f), pm::axis<1>) +
                                     x);
        });
        const auto input = [&](int t) {
            return pm::matrix<float>(pm::from_span<float>({side, side}, numbers(size, t % 8),
                                                          home));
        };
        std::vector<std::vector<float>> expected;
        for (int t = 0; t < 8; ++t) expected.push_back(layer(input(t)).to_vector());
        const pm::executable e = layer.get(input(0));

        watchdog dog;
        std::atomic<int> wrong{0};
        on_threads(threads, [&](int t) {
            const pm::matrix<float> mine = input(t);
            std::vector<pm::any_tensor> into(1);
            for (int i = 0; i < runs; ++i) {
                std::vector<float> got;
                switch ((t + i) % 4) {
                    case 0: got = pm::to_vector<float>(e.run({pm::any_tensor(mine)})[0]); break;
                    case 1: {
                        const pm::any_tensor in = mine;
                        e.run_into(into, std::span(&in, 1));
                        got = pm::to_vector<float>(into[0]);
                        break;
                    }
                    case 2: got = layer(mine).to_vector(); break;
                    default: got = pm::to_vector<float>(e.run_donating(input(t))[0]);
                }
                wrong += got != expected[std::size_t(t % 8)];
                dog.count();
            }
        });
        CHECK(wrong == 0);
        CHECK(dog.counted() == long{threads} * runs);
    }
}

TEST_CASE("16 threads build on shared lazy graphs, evaluate them and let them go") {
    constexpr int threads = 16;
    const int rounds = test::samples(10);
    for (const bool host : {false, true}) {
        const pm::context home = device_or_host(host);
        const pm::matrix<float> a = pm::from_span<float>({side, side}, numbers(size, 1), home),
                                b = pm::from_span<float>({side, side}, numbers(size, 2), home);
        const auto shared = [&] { return pm::matrix<float>(pm::relu(pm::matmul(a, b) - 9.0f)); };
        std::vector<std::vector<float>> expected;
        for (int t = 0; t < threads; ++t)
            expected
                .push_back(pm::matrix<float>(pm::exp(shared() * -0.01f) + float(t)).to_vector());

        watchdog dog;
        std::atomic<int> wrong{0};
        for (int round = 0; round < rounds; ++round) {
            const pm::matrix<float> y = shared();
            const auto scaled = y * -0.01f;  // an expression that all take into theirs
            on_threads(threads, [&](int t) {
                if (t % 3 == 0) pm::eval(y);
                const pm::matrix<float> z = pm::exp(scaled) + float(t);
                wrong += z.to_vector() != expected[std::size_t(t)];
                dog.count();
            });
        }
        CHECK(wrong == 0);
        CHECK(dog.counted() == long{threads} * rounds);
    }
}
