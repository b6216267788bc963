// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Where a tensor is valid: host, device or both, each change counted; and host memory that is
// shown, to read and to write.
#include "support.hpp"

#include <pumice/front.hpp>

#include <tests/support/skip.hpp>

#include <numeric>
#include <thread>

namespace pm = pumice;

namespace {

pm::vector<float> ramp(const pm::context& home, std::int64_t n = 4096) {
    return pm::vector<float>(pm::arange<float>(0, double(n), 1, home));
}
struct moved {
    pm::context home;
    pm::statistics before = home.stats();
    std::uint64_t up() const { return home.stats().uploads - before.uploads; }
    std::uint64_t down() const { return home.stats().downloads - before.downloads; }
};

}  // namespace

TEST_CASE("residency: each way from host, device and both, with what it costs") {
    for (const bool staged : {false, true}) {
        test::wishes w;
        w.staged = staged;
        const std::optional<pm::context> home = test::open_context(w);
        if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
        std::vector<float> numbers(4096);
        std::iota(numbers.begin(), numbers.end(), 0.0f);
        const moved from{*home};
        pm::vector<float> x = pm::from_span<float>({4096}, numbers, *home);  // host
        CHECK(x.host()[7] == 7);
        CHECK(from.up() + from.down() == 0);
        pm::vector<float> y = x + 1.0f;  // x: both; y: device
        pm::eval(y);
        CHECK(from.up() == 1);
        CHECK(from.down() == 0);
        CHECK(y.host()[7] == 8);  // y: both
        CHECK(y.host()[8] == 9);
        CHECK(from.down() == 1);
        y.host_mut()[7] = 100;  // y: host
        CHECK(y.to_vector()[7] == 100);
        CHECK(from.up() + from.down() == 2);
        pm::vector<float> z = y + x;  // y: both
        CHECK(z.to_vector()[7] == 107);
        CHECK(from.up() == 2);
        for (int i = 0; i < 3; ++i)
            CHECK(pm::vector<float>(y * float(i)).to_vector()[7] == 100.0f * float(i));
        CHECK(from.up() == 2);  // nothing was written since
    }
}

TEST_CASE("host_mut: copies where somebody else refers to the memory, and only there") {
    const pm::context home;
    pm::vector<float> x = ramp(home);
    pm::eval(x);
    const float* there = x.host_mut().data();
    CHECK(x.host_mut().data() == there);
    pm::vector<float> held = x;
    x.host_mut()[0] = 5;
    CHECK(held.host()[0] == 0);
    CHECK(held.host_mut()[0] == 0);  // alone again
    const auto pending = x * 2.0f;
    x.host_mut()[0] = 6;
    CHECK(pm::vector<float>(pending).to_vector()[0] == 10);
    const pm::vector<float> front = pm::view(x, pm::slice{0, 2});
    pm::eval(front);
    x.host_mut()[0] = 7;
    CHECK(front.to_vector() == std::vector<float>{6, 1});
    CHECK(x.to_vector()[0] == 7);
    // While the device is at work with what it had.
    for (int i = 0; i < 20; ++i) {
        const pm::vector<float> y = x + 1.0f;
        pm::eval(y);
        x.host_mut()[1] = float(i);
        CHECK(y.to_vector()[1] == (i == 0 ? 2 : float(i)));
    }
}

TEST_CASE("host: threads look at one tensor's memory, each through a handle of its own") {
    test::wishes w;
    w.staged = true;
    const std::optional<pm::context> home = test::open_context(w);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    std::vector<int> wrong(4);
    for (int round = 0; round < 40; ++round) {
        const pm::vector<float> x = ramp(*home, 1 << 16);
        pm::eval(x);
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < wrong.size(); ++t)
            threads.emplace_back([&, t, mine = x]() mutable {
                if (t == 0) wrong[t] += mine.to_vector()[9] != 9;
                const std::span<const float> seen = mine.host();
                for (int k = 0; k < 3; ++k)
                    for (std::size_t i = 0; i < seen.size(); ++i) wrong[t] += seen[i] != float(i);
            });
    }
    CHECK(wrong == std::vector<int>(4));
}

TEST_CASE("host: lazy, turned, empty and run-time tensors") {
    const pm::context home;
    pm::any_tensor turned = pm::flip(ramp(home, 5));
    const auto bytes = pm::host(turned);
    CHECK(reinterpret_cast<const float*>(bytes.data())[0] == 4);
    CHECK(bytes.size() == 20);
    pm::any_tensor nothing = pm::zeros(pm::dtype::f32, {0, 3}, home);
    CHECK(pm::host(nothing).empty());
    CHECK(pm::host_mut(nothing).empty());
    pm::any_tensor part = pm::slice_view(ramp(home, 8), std::vector<pm::slice>{{2, 5, 1}});
    CHECK(reinterpret_cast<const float*>(pm::host(part).data())[0] == 2);
    reinterpret_cast<float*>(pm::host_mut(part).data())[2] = 9;
    CHECK(pm::to_vector<float>(part) == std::vector<float>{2, 3, 9});
}

TEST_CASE("to: the same values in another context, the tensor itself in its own") {
    const pm::context home, host(pm::host_only{});
    const pm::vector<float> x = ramp(home, 6);
    const auto far = pm::to(x * 2.0f, host);
    static_assert(std::same_as<std::remove_const_t<decltype(far)>, pm::vector<float>>);
    CHECK(far.to_vector() == std::vector<float>{0, 2, 4, 6, 8, 10});
    CHECK(far.get()->owner == host.get());
    CHECK(pm::to(far, host).get() == far.get());
    CHECK(pm::vector<float>(pm::to(far, home) + x).to_vector()[5] == 15);
}
