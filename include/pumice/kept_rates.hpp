// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How fast a device is, measured once for each driver and kept in the cache folder. <pumice.hpp>
// does not include it.
#pragma once

#include <pumice/exec/kernel_requests.hpp>
#include <pumice/measure_rates.hpp>

#include <cmath>
#include <cstring>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// Under which rates are kept: what another device, driver or meaning of rates differs in.
inline std::string key_of_rates(const device_info& d) {
    std::string key = cat({"device rates, version 1\n", d.name, "\n", d.driver, "\n"});
    key.append(reinterpret_cast<const char*>(d.device_uuid.data()), d.device_uuid.size());
    key.append(reinterpret_cast<const char*>(d.driver_uuid.data()), d.driver_uuid.size());
    append_text(key, {d.driver_version});
    return key;
}

/// The rates in a kept payload; all 0 where it is none.
inline device_rates rates_from(const std::optional<std::string>& payload) {
    static_assert(sizeof(device_rates) == 7 * sizeof(double));
    double values[7];
    if (!payload || payload->size() != sizeof values) return {};
    std::memcpy(values, payload->data(), sizeof values);
    for (const double v : values)
        if (!std::isfinite(v) || v < 0) return {};
    device_rates r;
    std::memcpy(&r, values, sizeof r);
    return r.known() && r.arithmetic > 0 && r.launch > 0 ? r : device_rates{};
}

inline bool keeps_rates(const context& home) {
    const policy_set& policies = home.get()->policies();
    return home.device().type != device_type::host && !policies.kernel && !policies.rates.known();
}

}  // namespace detail

/// What `measure_rates` found for the context's device and driver before, in this process or
/// another that had the same cache folder; measured now, and kept, where nothing was, and `again`
/// on request. Of the host, and of a context that chooses its kernels by a policy or was told
/// rates, nothing is kept. Throws errc::unsupported where the device has no clock.
inline device_rates kept_rates(const context& home = default_context(), bool again = false) {
    const device_info& device = home.device();
    if (!detail::keeps_rates(home)) return measure_rates(home);
    disk_cache cache(cache_folder_of(home.get()->policies()));
    const std::string key = detail::key_of_rates(device);
    if (!again)
        if (const device_rates kept = detail::rates_from(cache.read(key, device.driver));
            kept.known())
            return kept;
    const device_rates measured = measure_rates(home);
    std::string payload(sizeof measured, '\0');
    std::memcpy(payload.data(), &measured, sizeof measured);
    cache.write(key, device.driver, payload);
    return measured;
}

}}  // namespace pumice::PUMICE_ABI
