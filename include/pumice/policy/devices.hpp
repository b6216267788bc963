// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Several devices in one context: which, and in which order. For programs that have some;
// <pumice.hpp> does not include it.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/policy/policies.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// What each device of a context is made from, beside the context's policies.
using device_list = array_list<callback<void(policy_set&)>>;

/// The engine of `devices`: asked for by name, so that a file compiles it only where it is named.
template <int = 0>
PUMICE_OF_ENGINE std::shared_ptr<engine> make_devices_engine(const device_list& each,
                                                             const policy_set& policies);

/// The devices of a context, in order, each by a policy that names one: `device_named`, a policy of
/// the user's that sets `device` or brings a backend. None: all Vulkan devices that can be used,
/// discrete GPUs first. The host is the last of them, unless it is named. Steps run on the first,
/// but where a placement policy sends them (policy/placement.hpp): its places are the devices, with
/// each lane that a backend has. The other policies of the context hold for each device; a memory
/// limit too. Throws errc::no_device where one is not there.
class devices {
public:
    template <policy... Each>
    explicit devices(const Each&... each) {
        (list_.push_back([each](policy_set& set) { each.apply(set); }), ...);
    }
    template <int = 0>
    void apply(policy_set& set) const {
        set.backend = [make = detail::of_engine(&make_devices_engine<>),
                       list = list_](const policy_set& own) { return make(list, own); };
    }

private:
    device_list list_;
};

}}  // namespace pumice::PUMICE_ABI
