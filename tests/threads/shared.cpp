// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Threads share lazy tensors, expressions and a context.
#include <pumice/front.hpp>

#include <doctest/doctest.h>

#include <thread>

namespace pm = pumice;

namespace {

template <class F>
void on_threads(int count, F&& f) {
    std::vector<std::jthread> threads;
    for (int t = 0; t < count; ++t) threads.emplace_back([&f, t] { f(t); });
}

std::vector<float> numbers(std::size_t n, float scale) {
    std::vector<float> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = float(i % 17) * scale;
    return v;
}

}  // namespace

TEST_CASE("eight threads evaluate the same lazy tensors") {
    const pm::context home;
    const pm::matrix<float> a = pm::from_span<float>({16, 24}, numbers(384, 0.5f), home),
                            b = pm::from_span<float>({24, 8}, numbers(192, 0.25f), home);
    const std::vector<float> expected =
        pm::matrix<float>(pm::relu(pm::matmul(a, b) - 100.0f)).to_vector();
    for (int round = 0; round < 5; ++round) {
        pm::matrix<float> y = pm::relu(pm::matmul(a, b) - 100.0f);
        pm::matrix<float> z = y + 1.0f;
        std::vector<int> wrong(8);
        on_threads(8, [&](int t) {
            const std::vector<float> mine = t % 2 ? y.to_vector() : z.to_vector();
            for (std::size_t i = 0; i < mine.size(); ++i)
                wrong[std::size_t(t)] += mine[i] != expected[i] + (t % 2 ? 0.0f : 1.0f);
        });
        for (int w : wrong) CHECK(w == 0);
    }
}

TEST_CASE("eight threads copy and convert one expression: one node") {
    const pm::context home;
    const pm::vector<float> a = pm::from_span<float>({100}, numbers(100, 1), home);
    const auto y = pm::sqrt(a * a + 1.0f);
    std::vector<pm::node_ptr> nodes(8);
    on_threads(8, [&](int t) {
        const auto copy = y;
        nodes[std::size_t(t)] = copy.get();
    });
    for (const pm::node_ptr& n : nodes) CHECK(n == nodes[0]);
}

TEST_CASE("threads build, evaluate and drop their own graphs on a shared context") {
    const pm::context home;
    const pm::vector<float> shared = pm::from_span<float>({64}, numbers(64, 1), home);
    std::vector<int> wrong(8);
    on_threads(8, [&](int t) {
        for (int i = 0; i < 20; ++i) {
            pm::vector<float> x = shared * float(t + 1);
            for (int k = 0; k < 5; ++k) x = x + shared;
            if (x.to_vector()[3] != 3.0f * float(t + 6)) ++wrong[std::size_t(t)];
        }
    });
    for (int w : wrong) CHECK(w == 0);
}

TEST_CASE("eight threads run one executable, several runs in flight") {
    const pm::context home;
    const pm::matrix<float> w = pm::from_span<float>({24, 24}, numbers(576, 0.125f), home);
    const auto layer = pm::compile([w](const pm::matrix<float>& x) {
        return pm::matrix<float>(pm::softmax(pm::relu(pm::matmul(x, w) - 1.0f), pm::axis<1>) + x);
    });
    std::vector<pm::matrix<float>> inputs;
    std::vector<std::vector<float>> expected;
    for (int t = 0; t < 8; ++t) {
        inputs.push_back(pm::from_span<float>({24, 24}, numbers(576, 0.25f * float(t + 1)), home));
        expected.push_back(layer(inputs.back()).to_vector());
    }
    const pm::executable e = layer.get(inputs[0]);
    std::vector<int> wrong(8);
    on_threads(8, [&](int t) {
        std::vector<pm::any_tensor> out(1);
        std::vector<float> values(576);
        for (int i = 0; i < 200; ++i) {
            const auto k = std::size_t(t + i) % 8;
            const pm::any_tensor in = inputs[k];
            e.run_into(out, std::span(&in, 1));
            pm::read(out[0], std::as_writable_bytes(std::span(values)));
            wrong[std::size_t(t)] += values != expected[k];
        }
    });
    for (int n : wrong) CHECK(n == 0);
}

TEST_CASE("eight threads call one compiled function for shapes that it does not know yet") {
    const pm::context home;
    const auto twice =
        pm::compile([](const pm::vector<float>& x) { return pm::vector<float>(x + x); }, 3);
    std::vector<int> wrong(8);
    on_threads(8, [&](int t) {
        for (int i = 0; i < 20; ++i) {
            const std::size_t n = std::size_t(1 + (t + i) % 5);
            const auto data = numbers(n, float(t + 1));
            const auto y =
                twice(pm::vector<float>(pm::from_span<float>({std::int64_t(n)}, data, home)))
                    .to_vector();
            for (std::size_t k = 0; k < n; ++k) wrong[std::size_t(t)] += y[k] != 2 * data[k];
        }
    });
    for (int n : wrong) CHECK(n == 0);
    CHECK(twice.recorded() <= 3);
}

TEST_CASE("eight threads run one executable in pieces, and stop some of the runs") {
    const pm::context home{pm::submit_budget{1e-6}};
    const pm::matrix<float> w = pm::from_span<float>({24, 24}, numbers(576, 0.125f), home);
    const auto net = pm::compile([w](pm::matrix<float> x) {
        for (int i = 0; i < 4; ++i) x = pm::softmax(pm::matmul(x, w) - 1.0f, pm::axis<1>) + x;
        return x;
    });
    const pm::matrix<float> x = pm::from_span<float>({24, 24}, numbers(576, 0.25f), home);
    const auto expected = net(x).to_vector();
    const pm::executable e = net.get(x);
    std::vector<int> wrong(8), stopped(8);
    on_threads(8, [&](int t) {
        for (int i = 0; i < 40; ++i) {
            std::stop_source stop;
            std::jthread stopper;
            if (i % 4 == 1) stopper = std::jthread([&] { stop.request_stop(); });
            try {
                const auto y = e.run({pm::any_tensor(x)}, stop.get_token());
                wrong[std::size_t(t)] += pm::to_vector<float>(y[0]) != expected;
            } catch (const pm::error& fault) {
                ++stopped[std::size_t(t)];
                wrong[std::size_t(t)] += fault.code() != pm::errc::cancelled;
            }
        }
    });
    for (int n : wrong) CHECK(n == 0);
    for (int n : stopped) CHECK(n <= 10);
}
