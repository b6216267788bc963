// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the numbers of policies have to be, asked when a context is made of them.
#pragma once

#include <pumice/base/error.hpp>
#include <pumice/policy/policies.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Throws errc::invalid_argument for numbers that mean nothing.
inline void check_policies(const policy_set& p) {
    const struct {
        const char* name;
        double number;
    } list[] = {{"memory_limit", static_cast<double>(p.memory_limit)},
                {"allocation_limit", static_cast<double>(p.allocation_limit)},
                {"run_ahead", static_cast<double>(p.run_ahead)},
                {"submit_budget", p.submit_budget},
                {"gathering", static_cast<double>(p.gather < p.gather_us ? p.gather : p.gather_us)},
                {"poll_for", static_cast<double>(p.poll_us)},
                {"measured_rates (bandwidth)", p.rates.bandwidth},
                {"measured_rates (arithmetic)", p.rates.arithmetic},
                {"measured_rates (matrix)", p.rates.matrix},
                {"measured_rates (launch)", p.rates.launch},
                {"measured_rates (latency)", p.rates.latency},
                {"measured_rates (groups)", p.rates.groups},
                {"measured_rates (cache)", p.rates.cache}};
    for (const auto& each : list)
        if (!(each.number >= 0 && each.number - each.number == 0))
            fail(errc::invalid_argument, "context",
                 {"the policy ", each.name, " is given ",
                  each.number < 0 ? "a negative number" : "no finite number"});
}

}}}  // namespace pumice::PUMICE_ABI::detail
