// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The host as a device: what it can do, as policies read it.
#pragma once

#include <pumice/core/device_info.hpp>

namespace pumice { inline namespace PUMICE_ABI {

inline const device_info& host_device() {
    static const device_info host = [] {
        device_info d;
        d.name = "host";
        d.type = device_type::host;
        d.driver = "native C++";
        d.float64_arithmetic = d.int64_arithmetic = d.float16_arithmetic = true;
        d.int8_arithmetic = d.int16_arithmetic = d.storage8 = d.storage16 = true;
        d.max_workgroup_count = {1 << 30, 1 << 16, 1 << 16};
        d.shared_memory = 1 << 20;
        return d;
    }();
    return host;
}

}}  // namespace pumice::PUMICE_ABI
