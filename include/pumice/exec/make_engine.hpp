// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// From policies to an engine: which device, and why; registers itself with the front.
#pragma once

#include <pumice/exec/check_finite.hpp>
#include <pumice/exec/each_op.hpp>
#include <pumice/exec/host_engine.hpp>
#include <pumice/exec/record_pack.hpp>
#include <pumice/exec/vulkan/executable.hpp>
#include <pumice/policy/check_policies.hpp>

#include <cstdlib>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

inline std::shared_ptr<engine> host_fallback(policy_set&& policies,
                                             const std::vector<std::string>& reasons) {
    std::string report = "device  host (native C++)\n";
    for (const std::string& r : reasons) append_text(report, {"  ", r, "\n"});
    return std::make_shared<host_engine>(std::move(policies), std::move(report));
}

/// PUMICE_DEVICE: "host", "cpu" (a CPU driver), or a part of a device's name; empty: by policy.
/// Throws where the host is wished for a program that names a Vulkan device.
inline void apply_environment(policy_set& policies) {
    const std::string wish = environment("PUMICE_DEVICE");
    if (wish.empty() || policies.device) return;
    if (wish == "host" && policies.device_named)
        throw error(errc::no_device, "context",
                    "PUMICE_DEVICE=host asks for the host, the program's device policy for " +
                        policies.device_wish,
                    {"unset PUMICE_DEVICE, or set it to \"cpu\" or to a part of a device's name",
                     "or make the context without that policy"});
    if (wish == "host") host_only{}.apply(policies);
    else if (wish == "cpu") {
        policies.device = [](const device_candidate& d) {
            return d.info.type == device_type::cpu ? 0 : -1;
        };
        policies.device_named = true;
        policies.device_wish = "a CPU driver (PUMICE_DEVICE=cpu)";
    } else {
        device_named{wish}.apply(policies);
        policies.device_wish += " (PUMICE_DEVICE)";
    }
}

}  // namespace detail

/// The engine for a set of policies: the best-ranked Vulkan device, or the host where it ranks
/// above them all or there is none, unless the policy has to be met. Throws no_vulkan_loader or
/// no_device with what was found and why it was refused.
inline std::shared_ptr<engine> make_engine(policy_set policies) {
    detail::check_policies(policies);
    detail::apply_environment(policies);
    detail::apply_pack_environment(policies);
    if (policies.backend) return policies.backend(policies);
    const auto rank = [&](const device_candidate& d) {
        return policies.device ? policies.device(d) : detail::type_rank(d.info);
    };
    if (policies.host_wanted && !policies.device_named)
        return detail::host_fallback(std::move(policies), {"chosen by policy"});

    std::shared_ptr<vulkan::instance> instance;
    std::vector<std::string> reasons;
    errc code = errc::no_device;
    try {
        instance = vulkan::instance::shared();
        reasons = instance->reasons();
    } catch (const error& e) {
        if (policies.device_named || e.code() == errc::forked || e.code() == errc::exiting) throw;
        code = e.code();
        reasons = e.reasons();
        reasons.insert(reasons.begin(), e.message());
    }
    const vulkan::candidate* best = nullptr;
    int best_rank = -1;
    bool usable = false;
    if (instance) {
        for (const vulkan::candidate& c : instance->candidates()) {
            std::vector<std::string> why = c.refusals;
            usable |= why.empty();
            const int r = why.empty() ? rank({c.info, c.refusals}) : -1;
            if (why.empty() && r < 0) why.push_back(cat({"not ", policies.device_wish}));
            for (const std::string& w : why) reasons.push_back(cat({c.info.name, ": ", w}));
            if (r > best_rank || (r >= 0 && !best)) {
                best = &c;
                best_rank = r;
            }
        }
    }
    if (usable && policies.device && !policies.device_named) {
        if (rank({host_device(), {}}) > best_rank) {
            reasons.insert(reasons.begin(), "chosen by policy");
            return detail::host_fallback(std::move(policies), reasons);
        }
    }
    if (best) {
        std::string report =
            cat({"device  ", to_string(best->info), "\n  sought  ", policies.device_wish, "\n"});
        for (const vulkan::candidate& c : instance->candidates())
            if (&c != best && c.refusals.empty())
                reasons.push_back(cat({c.info.name, ": ranked behind"}));
        for (const std::string& r : reasons) append_text(report, {"  refused ", r, "\n"});
        write_log(severity::info, report);
        vulkan::candidate chosen = *best;
        chosen.info.measured = policies.rates;
        auto runtime = vulkan_runtime::make(instance, chosen, policies);
        return std::make_shared<vulkan_engine>(std::move(runtime), std::move(policies),
                                               std::move(report));
    }
    reasons.push_back(
        "install your GPU's Vulkan driver, or a software one (Debian, Ubuntu: "
        "mesa-vulkan-drivers)");
    if (policies.device_named)
        throw error(code, "context", "no usable Vulkan device; sought: " + policies.device_wish,
                    reasons);
    std::string warning = "no usable Vulkan device: the host device computes";
    for (const std::string& r : reasons) warning += "\n  - " + r;
    write_log(severity::warning, warning);
    return detail::host_fallback(std::move(policies), reasons);
}

template <int>
std::shared_ptr<prepared_graph> prepare_graph(engine& home, const traced_graph& g) {
    auto& maker = static_cast<graph_engine&>(home);  // which alone calls this
    return prepare_plan(maker, maker.plan_of(g));
}

/// The engine's one act at start-up: it makes itself known to the front.
inline const bool engine_registered =
    (detail::watch_forks(), engine_hook.store(&make_engine, std::memory_order_release), true);

}}  // namespace pumice::PUMICE_ABI
