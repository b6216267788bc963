// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The rates of a device: those that were measured, or the usual ones of its kind.
#include <pumice/core/device_info.hpp>

#include <doctest/doctest.h>

using namespace pumice;

TEST_CASE("device_rates: the usual ones, until they are measured") {
    device_info d;
    d.type = device_type::discrete_gpu;
    const device_rates usual = d.rates();
    CHECK(usual.known());
    d.type = device_type::integrated_gpu;
    CHECK(d.rates().known());
    CHECK(d.rates().bandwidth < usual.bandwidth);
    d.measured = usual;
    d.measured.bandwidth = 5e12;
    CHECK(d.rates().bandwidth == 5e12);
}
