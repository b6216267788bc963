// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How fast a device is, measured. <pumice.hpp> does not include it.
#pragma once

#include <pumice/front.hpp>
#include <pumice/tensor/profile.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

/// The least seconds that some work takes, of which `once()` gives a timing. A device may be slow
/// for a while, as one that others use, or that was idle: so timings are taken until the last eight
/// and the last 0.1 s of work have not made the least better by a hundredth; at most 200 timings
/// and, after the first six, a second of work.
template <class F>
double least_seconds(F&& once) {
    double least = 0, total = 0, since = 0;  // since: of work, after the least got better
    for (int i = 0, alike = 0; i < 200; ++i) {
        const double seconds = once();
        total += seconds;
        const bool better = i == 0 || seconds < 0.99 * least;
        alike = better ? 0 : alike + 1;
        since = better ? 0 : since + seconds;
        least = i == 0 ? seconds : std::min(least, seconds);
        if (i >= 5 && ((alike >= 8 && since >= 0.1) || total >= 1)) break;
    }
    return least;
}

/// Seconds that the kernels of evaluating `make()` take, as least_seconds has them. Throws
/// errc::unsupported where the device has no clock.
template <class F>
double kernel_seconds(const context& home, F&& make) {
    return least_seconds([&] {
        profiler watch(home);
        const any_tensor t = make();
        eval(span(&t, 1));
        double total = 0;
        for (const profile_event& e : watch.finish().events)
            if (e.track != 0) total += e.duration_us * 1e-6;
        return total;
    });
}

/// Measures the context's device, which should have nothing else to do: some seconds at
/// most, and 1 GiB of its memory. For the policy measured_rates. Throws errc::unsupported where the
/// device has no clock.
inline device_rates measure_rates(const context& home = default_context()) {
    device_rates r = home.device().rates();
    const auto ready = [&](dtype type, const shape& s) {
        const any_tensor t = random::normal(type, s, random::key(1), 0, 1, home);
        eval(span(&t, 1));
        return t;
    };
    const device_type at = home.device().type;
    const bool slow = at == device_type::cpu || at == device_type::host;
    {
        const std::int64_t many = std::int64_t{1} << (slow ? 24 : 26);  // beyond the caches
        const any_tensor x = ready(dtype::f32, {many}), y = ready(dtype::f32, {1});
        r.launch = std::max(kernel_seconds(home, [&] { return y * 2.0; }) - r.latency, 1e-7);
        // A clock that ticks slowly, or a machine that does other things, may tell of less than
        // none.
        const double copy = kernel_seconds(home, [&] { return x * 2.0; });
        r.bandwidth =
            2.0 * 4 * static_cast<double>(many) / std::max({copy - r.launch, copy / 2, 1e-9});
    }
    const auto product_rate = [&](dtype type, std::int64_t n) {
        const any_tensor a = ready(type, {n, n});
        const double side = static_cast<double>(n);
        return 2 * side * side * side /
               std::max(kernel_seconds(home, [&] { return matmul(a, a); }), 1e-9);
    };
    r.arithmetic = product_rate(dtype::f32, slow ? 256 : 4096);
    if (home.device().cooperative_matrix) r.matrix = product_rate(dtype::f16, slow ? 256 : 4096);
    return r;
}

}}  // namespace pumice::PUMICE_ABI
