// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a device is measured to do, and that kernels are chosen by it.
#include <pumice/measure_rates.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

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
