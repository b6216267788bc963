// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How fast a device is: what the expected seconds of kernels are made of.
#pragma once

#include <pumice/base/config.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// What a device does in a second where everything suits it. Kernels reach shares of these.
struct device_rates {
    double bandwidth = 0;   // bytes that a large copy reads and writes
    double arithmetic = 0;  // f32 operations of a large product, a multiplication and an addition
    double matrix = 0;      // the same by cooperative matrices of 16-bit floats
    double launch = 0;      // seconds of a dispatch that waits for the one before it
    double latency = 0;     // seconds of a read from memory
    double groups = 0;      // workgroups of a product at work at a time
    double cache = 0;       // bytes that caches hold, where memory is read twice as fast

    constexpr bool known() const noexcept { return bandwidth > 0; }
};

/// Those of a usual device of a kind that has so many bytes of memory, where nothing was measured.
/// Cards are built to read all of their memory some thirty times a second, small ones and large.
constexpr device_rates usual_rates(bool discrete, double memory) noexcept {
    if (!discrete) return {60e9, 1e12, 7e12, 5e-6, 0.6e-6, 256, 4e6};
    const double bandwidth = memory > 0 ? 30 * memory : 700e9,
                 arithmetic = bandwidth > 1e12 ? 10 * bandwidth : 10e12;
    return {bandwidth, arithmetic, 7 * arithmetic, 3e-6, 0.6e-6, 256, 32e6};
}

/// Those of the host's native loops on a usual processor, where a dispatch is a call.
constexpr device_rates usual_host_rates() noexcept {
    return {8e9, 20e9, 20e9, 0.5e-6, 0.1e-6, 1, 1e6};
}

}}  // namespace pumice::PUMICE_ABI
