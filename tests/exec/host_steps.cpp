// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Small work that a placement policy leaves to the host: what stays, what goes to the device, and
// that values are the same.
#include "support.hpp"

#include <pumice/exec/host_steps.hpp>
#include <pumice/front.hpp>

#include <tests/support/skip.hpp>

#include <cmath>
#include <thread>

namespace pm = pumice;

namespace {

struct counted {
    pm::context home;
    pm::statistics before = home.stats();
    std::uint64_t device() const { return home.stats().dispatches - before.dispatches; }
    std::uint64_t host() const { return home.stats().host_kernels - before.host_kernels; }
    std::uint64_t up() const { return home.stats().uploads - before.uploads; }
};

std::optional<pm::context> placing(std::int64_t bytes) {
    test::wishes w;
    pm::host_below{bytes}.apply(w.policies);
    return test::open_context(w);
}
pm::vector<float> ramp(const pm::context& home, std::int64_t n) {
    std::vector<float> v(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = float(i % 100);
    return pm::from_span<float>({n}, v, home);
}

}  // namespace

TEST_CASE("host_below: small work with its operands on the host stays there") {
    const std::optional<pm::context> home = placing(1 << 16);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const auto a = ramp(*home, 1000), b = ramp(*home, 1000);
    counted c{*home};
    const pm::vector<float> y = pm::relu(a * b - 50.0f);
    CHECK(pm::explain(y) ==
          "not evaluated yet; the plan:\nhost/elementwise (1000,): multiply, subtract, relu\n");
    CHECK(y.to_vector()[20] == 350);
    CHECK(y.to_vector()[3] == 0);
    CHECK(pm::explain(y) == "host/elementwise (1000,): multiply, subtract, relu\n");
    CHECK(c.host() == 1);
    CHECK(c.device() == 0);
    CHECK(c.up() == 0);
    CHECK(home->stats().device_bytes == c.before.device_bytes);

    // Results of the host are operands for the host, and for the device where more comes in.
    const pm::vector<float> z = y + a;
    pm::eval(z);
    CHECK(c.host() == 2);
    const pm::vector<float> large = ramp(*home, 100000);
    const auto sum = pm::vector<float>(large + z.to_vector()[20]);
    CHECK(sum.to_vector()[99999] == 99 + 370);
    CHECK(c.host() == 2);
    CHECK(c.device() == 1);
    const pm::vector<float> part(pm::slice_view(large, std::vector<pm::slice>{{0, 1000, 1}}));
    CHECK(pm::vector<float>(part + z).to_vector()[20] == 390);
    CHECK(c.host() == 2);
    CHECK(c.up() == 2);
}

TEST_CASE(
    "host_below: what the device holds, what is large and what is recorded runs on the device") {
    const std::optional<pm::context> home = placing(12000);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    counted c{*home};
    const auto a = ramp(*home, 1000), b = ramp(*home, 1000), more = ramp(*home, 1001);
    pm::eval(pm::vector<float>(a + b));
    CHECK(c.host() == 1);
    pm::eval(pm::vector<float>(more + more * 2.0f));
    CHECK(c.host() == 2);
    pm::eval(pm::vector<float>(more + ramp(*home, 1001)));
    CHECK(c.host() == 2);
    CHECK(c.device() == 1);
    const auto f =
        pm::compile([](const pm::vector<float>& x) { return pm::vector<float>(x + 1.0f); });
    const pm::vector<float> held = f(a);
    CHECK(c.device() == 2);
    const pm::vector<float> next = held * 2.0f;
    pm::eval(next);
    CHECK(c.device() == 3);
    CHECK(next.to_vector()[5] == 12);
    CHECK(c.host() == 2);

    const pm::context never = *test::open_context({});
    pm::eval(pm::vector<float>(ramp(never, 10) + 1.0f));
    CHECK(never.stats().host_kernels == 0);
}

TEST_CASE("host_below: kernels of every kind give the device's values") {
    const std::optional<pm::context> home = placing(1 << 20);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const pm::context device = *test::open_context({});
    const auto model = [](const pm::context& at) {
        const auto x = pm::matrix<float>(pm::reshape(ramp(at, 12 * 10), {12, 10})) / 100.0f;
        const auto w = pm::matrix<float>(pm::reshape(ramp(at, 10 * 7), {10, 7})) / 100.0f;
        const pm::matrix<float> h = pm::relu(pm::matmul(x, w) + 0.5f);
        const std::array<pm::any_tensor, 2> parts{pm::softmax(h, pm::axis<1>), h * 2.0f};
        const pm::matrix<float> both(pm::concat(parts));
        return pm::matrix<float>(pm::cumulative_sum(pm::flip(both), 0));
    };
    counted c{*home};
    const pm::matrix<float> y = model(*home), want = model(device);
    const std::vector<float> got = y.to_vector(), expected = want.to_vector();
    CHECK(c.host() > 0);
    CHECK(c.device() == 0);
    REQUIRE(got.size() == 24 * 7);
    for (std::size_t i = 0; i < got.size(); ++i)
        CHECK(got[i] == doctest::Approx(double(expected[i])).epsilon(1e-5));
    const pm::vector<float> none = ramp(*home, 0);
    CHECK(pm::vector<float>(none * 2.0f).to_vector().empty());
}

TEST_CASE("host_below: a kernel of the user's own runs where it can") {
    const std::optional<pm::context> home = placing(1 << 20);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const char* const text =
        "void twice(uint3 thread, Input<F32> x, Output<F32> y) { y[thread.x] = 2 * x[thread.x]; }";
    const pm::kernel slang_only("twice", text, {.inputs = {{.type = pm::dtype::f32}}});
    const pm::kernel both("twice", text,
                          {.inputs = {{.type = pm::dtype::f32}},
                           .host = [](const pm::kernel_arguments& k) {
                               const auto x = k.inputs[0].as<float>(), y = k.outputs[0].as<float>();
                               for (std::size_t i = 0; i < x.size(); ++i) y[i] = 2 * x[i];
                           }});
    counted c{*home};
    const pm::any_tensor x = ramp(*home, 64);
    CHECK(pm::to_vector<float>(slang_only(x))[9] == 18);
    CHECK(c.device() == 1);
    CHECK(pm::to_vector<float>(both(x))[9] == 18);
    CHECK(c.device() == 1);
    CHECK(c.host() == 1);
}

TEST_CASE("host_below: threads share a context") {
    const std::optional<pm::context> home = placing(1 << 14);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const pm::vector<float> small = ramp(*home, 500), large = ramp(*home, 50000);
    std::array<int, 4> wrong{};
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < wrong.size(); ++t)
            threads.emplace_back([&, t] {
                for (int i = 0; i < 25; ++i) {
                    const auto& x = (i + int(t)) % 2 ? small : large;
                    const pm::vector<float> y = x * float(i) + float(t);
                    wrong[t] += y.to_vector()[50] != float(50 * i + int(t));
                }
            });
    }
    CHECK(wrong == std::array<int, 4>{});
}
