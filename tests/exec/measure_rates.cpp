// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a device is measured to do, and that kernels are chosen by it.
#include <pumice/measure_rates.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

namespace {

struct timings {
    double least;
    int taken;
};
/// What is made of timings, of which the i-th is f(i).
template <class F>
timings of(F&& f) {
    int taken = 0;
    const double least = pm::least_seconds([&] { return f(taken++); });
    return {least, taken};
}

}  // namespace

TEST_CASE("measure_rates: timings are taken until they get no better") {
    const timings steady = of([](int) { return 0.02; });
    CHECK(steady.least == 0.02);
    CHECK(steady.taken == 9);
    // A slow spell, as of another program's work: the rate is that after it.
    const timings spell = of([](int i) { return i < 60 ? 0.0015 : 0.0005; });
    CHECK(spell.least == 0.0005);
    CHECK(spell.taken > 60);
    CHECK(spell.taken <= 200);
    const timings late = of([](int i) { return i < 3 ? 0.01 : i == 12 ? 0.004 : 0.009; });
    CHECK(late.least == 0.004);
    CHECK(late.taken > 13);
    // What is within a hundredth is not better, and counts all the same.
    const timings noise = of([](int i) { return 0.02 - 1e-6 * i; });
    CHECK(noise.taken == 9);
    CHECK(noise.least == 0.02 - 1e-6 * 8);
    // Each bound ends it: of timings, of work, and a clock that does not tick.
    CHECK(of([](int i) { return 1e-3 / (i + 1) / (i + 1); }).taken == 200);
    CHECK(of([](int i) { return 0.5 / (i + 1); }).taken == 6);
    CHECK(of([](int) { return 0.0; }).taken == 200);
}

TEST_CASE("measure_rates: of a device, told to a context") {
    const pm::context home;
    const pm::device_rates r = pm::measure_rates(home);
    CHECK(r.known());
    CHECK(r.bandwidth > 1e8);
    CHECK(r.bandwidth < 1e14);
    CHECK(r.arithmetic > 1e7);
    CHECK(r.launch > 0);
    CHECK(r.launch < 1);
    CHECK(home.device().measured.known() == false);
    if (home.device().type == pm::device_type::host) return;  // it has no kernels to choose among
    const pm::context told(pm::measured_rates{r});
    CHECK(told.device().measured.bandwidth == r.bandwidth);
    // Of a bandwidth a thousand times as high a large copy is expected to take less.
    const auto expected = [](const pm::device_rates& rates) {
        const pm::context c(pm::measured_rates{rates});
        const pm::any_tensor x = pm::zeros(pm::dtype::f32, {1 << 20}, c), y = x + 1.0;
        const std::string text = pm::explain(y);
        CHECK(text.find(" us expected") != std::string::npos);
        return text;
    };
    pm::device_rates fast = r;
    fast.bandwidth *= 1000;
    CHECK(expected(r) != expected(fast));
}

TEST_CASE(
    "measure_rates: a described device is told, and keeps the rates that it was described by") {
    pm::device_info described;
    described.name = "described";
    const pm::device_rates slow{1e9, 1e9, 0, 1e-3, 1e-6, 64, 1e6},
        fast{1e12, 1e13, 0, 1e-6, 1e-6, 64, 1e6};
    const pm::context plain{pm::null_device{described}};
    CHECK(!plain.device().measured.known());
    const pm::context told(pm::null_device{described}, pm::measured_rates{slow});
    CHECK(told.device().rates().bandwidth == 1e9);
    described.measured = fast;
    const pm::context kept{pm::null_device{described}};
    CHECK(kept.device().rates().bandwidth == 1e12);
}
