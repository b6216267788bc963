// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Threads that look through one lazy view while one of them evaluates it.
#include <pumice/front.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

namespace pm = pumice;

TEST_CASE("views of a view that is evaluated meanwhile see its values") {
    const pm::context home(pm::host_only{});
    std::vector<float> numbers(12);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = float(i);
    const pm::any_tensor x = pm::from_span<float>({3, 4}, numbers, home);
    std::atomic<int> wrong{0};
    for (int round = 0; round < 300; ++round) {
        const pm::any_tensor sum = pm::apply<pm::op::add>(x, double(round)),
                             flipped = pm::flip(sum), flat = pm::reshape(sum, {12});
        std::atomic<bool> go{false};
        const auto work = [&](int which) {
            while (!go.load(std::memory_order_acquire)) {
            }
            for (int i = 0; i < 4; ++i) {
                pm::any_tensor seen, lined = pm::reshape(flat, {2, 6});
                if (which == 0) pm::eval(flipped), pm::eval(flat), seen = flipped;
                else seen = pm::flip(pm::flip(flipped));
                const pm::any_tensor y = pm::apply<pm::op::multiply>(seen, 2.0),
                                     z = pm::apply<pm::op::add>(lined, 0.0);
                const std::vector<float> got = y.as<pm::matrix<float>>().to_vector(),
                                         line = z.as<pm::matrix<float>>().to_vector();
                for (std::size_t k = 0; k < 12; ++k)
                    wrong += got[k] != 2 * (float(11 - k) + float(round)) ||
                             line[k] != float(k) + float(round);
            }
        };
        std::thread threads[] = {std::thread(work, 0), std::thread(work, 1), std::thread(work, 2)};
        go.store(true, std::memory_order_release);
        for (std::thread& t : threads) t.join();
    }
    CHECK(wrong == 0);
}
