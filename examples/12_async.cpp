// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Eight runs in flight from one thread, with handles and with callbacks.
#include <pumice/front.hpp>
#include <pumice/runner.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>

namespace pm = pumice;

int main() {
    const pm::context home;
    const auto square = pm::compile([](const pm::any_tensor& x) { return x * x; });
    pm::runner_options options;
    options.max_in_flight = 8;                         // the ninth call waits
    options.order = pm::callback_order::as_submitted;  // or as_completed
    const pm::runner r(square.get(pm::zeros(pm::dtype::f32, {4}, home)), options);

    std::vector<std::vector<float>> in, out(16, std::vector<float>(4));
    for (int i = 0; i < 16; ++i) in.push_back(std::vector<float>(4, float(i)));
    std::atomic<int> called{0};
    std::vector<pm::job> jobs;
    for (std::size_t i = 0; i < 16; ++i) {
        const auto x = r.wrap("input0", in[i].data()), y = r.wrap("output0", out[i].data());
        if (i % 2 == 0) jobs.push_back(r.execute_async({x}, {y}));
        else
            jobs.push_back(r.execute_async({x}, {y}, [&called](pm::run_status s) {
                called += s == pm::run_status::ok;  // on a thread of the runner's
            }));
    }
    for (const pm::job& j : jobs)
        if (j.wait(std::chrono::seconds(60)) != pm::run_status::ok) {
            std::printf("%s\n", j.message());
            return 1;
        }
    std::printf("%g, %d callbacks\n", double(out[15][0]), called.load());  // 225, 8 callbacks
}
