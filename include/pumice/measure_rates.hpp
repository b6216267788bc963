// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How fast a device is, measured. <pumice.hpp> does not include it.
#pragma once

#include <pumice/front.hpp>
#include <pumice/tensor/profile.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

/// Seconds that the kernels of evaluating `make()` take: the least of six evaluations. Throws
/// errc::unsupported where the device has no clock.
template <class F>
double kernel_seconds(const context& home, F&& make) {
    double least = 0;
    for (int i = 0; i < 6; ++i) {
        profiler watch(home);
        const any_tensor t = make();
        eval(std::span(&t, 1));
        double total = 0;
        for (const profile_event& e : watch.finish().events)
            if (e.track != 0) total += e.duration_us * 1e-6;
        if (i == 0 || total < least) least = total;
    }
    return least;
}

/// Measures the context's device, which should have nothing else to do: some hundred milliseconds
/// and 1 GiB of its memory. For the policy measured_rates. Throws errc::unsupported where the
/// device has no clock.
inline device_rates measure_rates(const context& home = default_context()) {
    device_rates r = home.device().rates();
    const auto ready = [&](dtype type, const shape& s) {
        const any_tensor t = random::normal(type, s, random::key(1), 0, 1, home);
        eval(std::span(&t, 1));
        return t;
    };
    {
        const any_tensor x = ready(dtype::f32, {std::int64_t{1} << 26}), y = ready(dtype::f32, {1});
        r.launch = std::max(kernel_seconds(home, [&] { return y * 2.0; }) - r.latency, 1e-7);
        // A clock that ticks slowly, or a machine that does other things, may tell of less than
        // none.
        const double copy = kernel_seconds(home, [&] { return x * 2.0; });
        r.bandwidth = 2.0 * 4 * (1 << 26) / std::max({copy - r.launch, copy / 2, 1e-9});
    }
    const auto product_rate = [&](dtype type, std::int64_t n) {
        const any_tensor a = ready(type, {n, n});
        const double side = static_cast<double>(n);
        return 2 * side * side * side /
               std::max(kernel_seconds(home, [&] { return matmul(a, a); }), 1e-9);
    };
    const device_type type = home.device().type;
    const bool slow = type == device_type::cpu || type == device_type::host;
    r.arithmetic = product_rate(dtype::f32, slow ? 256 : 4096);
    if (home.device().cooperative_matrix) r.matrix = product_rate(dtype::f16, slow ? 256 : 4096);
    return r;
}

}}  // namespace pumice::PUMICE_ABI
