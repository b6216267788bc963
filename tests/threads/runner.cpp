// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// One runner for many threads: blocking, with handles, and with callbacks.
#include <pumice/front.hpp>
#include <pumice/runner.hpp>

#include <tests/support/samples.hpp>
#include <tests/support/sanitizer.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <thread>

namespace pm = pumice;
using pm::io_view;
using pm::run_status;

namespace {

std::vector<pm::any_tensor> squares(std::span<const pm::any_tensor> x) {
    return {pm::any_tensor(x[0] * x[0] + x[0])};
}
pm::runner squaring(const pm::context& home, const pm::runner_options& o) {
    pm::tensor_info x;
    x.name = "x";
    x.shape = {16};
    return {home, std::span(&x, 1), squares, o};
}

}  // namespace

TEST_CASE("64 threads run one runner by turns blocking, with handles and with callbacks") {
    const pm::context home;
    constexpr int threads = 64;
    // A CPU driver takes a hundred times as long for a run, validation ten times as long as that.
    const bool slow = test::thread_sanitizer || std::getenv("VK_INSTANCE_LAYERS");
    const bool quick = home.device().type != pm::device_type::cpu;
    const int runs = test::samples(slow ? 24 : quick ? 1000 : 250);
    for (const io_view view : {io_view::host, io_view::hardware}) {
        pm::runner_options o;
        o.input_view = o.output_view = view;
        o.async_threads = 4;
        o.max_in_flight = 16;
        o.order = view == io_view::host ? pm::callback_order::as_submitted
                                        : pm::callback_order::as_completed;
        const pm::runner r = squaring(home, o);
        std::atomic<int> wrong{0}, called{0};
        {
            std::vector<std::jthread> list;
            for (int t = 0; t < threads; ++t)
                list.emplace_back([&, mine = r, t] {
                    // Two of each, so that one is in flight while the other is looked at.
                    pm::runner_tensor x[2], y[2];
                    std::vector<float> in(16), out(16);
                    const auto kind =
                        view == io_view::host ? pm::memory_kind::host : pm::memory_kind::device;
                    for (int k = 0; k < 2; ++k) {
                        x[k] = mine.allocate("x", kind);
                        y[k] = mine.allocate("output0", kind);
                        for (int i = 0; i < 16; ++i)
                            in[std::size_t(i)] = float(t) + float(i) / 8 + float(k);
                        x[k].write(std::as_bytes(std::span(in)));
                    }
                    const auto check = [&](int k) {
                        y[k].read(std::as_writable_bytes(std::span(out)));
                        for (int i = 0; i < 16; ++i) {
                            const float v = float(t) + float(i) / 8 + float(k);
                            wrong += out[std::size_t(i)] != v * v + v;
                        }
                    };
                    pm::job before;
                    const int each = runs / 2;
                    for (int i = 0; i < each; ++i) {
                        const int k = i % 2;
                        pm::job now;
                        if (i % 3 == 0) wrong += mine.execute({x[k]}, {y[k]}) != run_status::ok;
                        else if (i % 3 == 1) now = mine.execute_async({x[k]}, {y[k]});
                        else
                            now = mine.execute_async({x[k]}, {y[k]}, [&](run_status s) {
                                wrong += s != run_status::ok;
                                ++called;
                            });
                        wrong += before.wait() != run_status::ok;
                        if (i > 0 && i % 8 == 0) check(1 - k);
                        before = now;
                    }
                    wrong += before.wait() != run_status::ok;
                    check(0);
                });
        }
        CHECK(wrong == 0);
        const int each = runs / 2;
        CHECK(called == threads * (each / 3));
        CHECK(r.stats().runs == static_cast<std::uint64_t>(threads * each));
    }
}

TEST_CASE("threads read copies of one tensor, and of its parts, in runs at once") {
    const pm::context home;
    pm::runner_options o;
    o.input_view = o.output_view = io_view::hardware;
    const pm::runner r = squaring(home, o);
    pm::tensor_info batch = r.info("x");
    batch.shape = {64};
    const pm::runner_tensor whole(home, batch);
    std::vector<float> values(64);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(i);
    whole.write(std::as_bytes(std::span(values)));
    std::atomic<int> wrong{0};
    {
        std::vector<std::jthread> list;
        for (int t = 0; t < 8; ++t)
            list.emplace_back([&, copy = whole.sub(16 * (t / 2), 16), t] {
                const pm::runner_tensor y = r.allocate("output0");
                std::vector<float> out(16);
                for (int i = 0; i < test::samples(20); ++i) {
                    wrong += r.execute({copy}, {y}) != run_status::ok;
                    y.read(std::as_writable_bytes(std::span(out)));
                    for (int k = 0; k < 16; ++k) {
                        const float v = float(16 * (t / 2) + k);
                        wrong += out[std::size_t(k)] != v * v + v;
                    }
                }
            });
    }
    CHECK(wrong == 0);
}
