// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// From pm::devices to an engine: one for each device that is named, and one over all of them.
#pragma once

#include <pumice/exec/devices_engine.hpp>
#include <pumice/exec/make_engine.hpp>
#include <pumice/policy/devices.hpp>

#include <algorithm>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// All Vulkan devices that can be used, by rank.
inline device_list usable_devices() {
    std::shared_ptr<vulkan::instance> instance;
    try {
        instance = vulkan::instance::shared();
    } catch (const error& e) {
        if (e.code() == errc::forked || e.code() == errc::exiting) throw;
        return {};
    }
    device_list list;
    std::vector<device_info> usable;  // by type_rank, those of one rank as the driver lists them
    for (const vulkan::candidate& c : instance->candidates()) {
        const auto lower = [&](const device_info& d) { return type_rank(d) < type_rank(c.info); };
        if (c.refusals.empty())
            usable.insert(std::find_if(usable.begin(), usable.end(), lower), c.info);
    }
    for (const device_info& d : usable)
        list.push_back([is = d](policy_set& set) {
            set.device = [is](const device_candidate& other) {
                const bool same =
                    other.info.name == is.name && other.info.device_uuid == is.device_uuid;
                return same ? 0 : -1;
            };
            set.device_named = true;
            set.device_wish = is.name;
        });
    return list;
}

}  // namespace detail

template <int>
std::shared_ptr<engine> make_devices_engine(const device_list& each, const policy_set& policies) {
    policy_set common = policies;
    common.backend = nullptr;
    common.place = nullptr;
    common.eager = false;
    devices_engine::members list;
    std::size_t host = ~std::size_t{0};
    for (const auto& name : each.empty() ? detail::usable_devices() : each) {
        policy_set own = common;
        name(own);
        auto made = std::dynamic_pointer_cast<graph_engine>(make_engine(std::move(own)));
        if (!made) fail(errc::unsupported, "devices", {"the engine of a backend has no plans"});
        if (dynamic_cast<host_engine*>(made.get())) host = list.size();
        list.push_back(std::move(made));
    }
    if (host >= list.size()) {
        host = list.size();
        list.push_back(std::make_shared<host_engine>(std::move(common), "device  host\n"));
    }
    return std::make_shared<devices_engine>(std::move(list), host, policy_set(policies));
}

}}  // namespace pumice::PUMICE_ABI
