// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A VkDevice and its queues: what everything else in vk/ holds by std::shared_ptr.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/span.hpp>
#include <pumice/vk/counters.hpp>
#include <pumice/vk/instance.hpp>

#include <mutex>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

struct device_options {
    bool robust = false;              // robustBufferAccess, where offered
    std::uint32_t queue_index = 0;    // of the family's queues
    bool transfer_queues = false;     // beside it, where there are any
    dispatcher_hook edit_dispatcher;  // once the device's functions are loaded
};

/// A device and queue of the user's. He destroys them, after the last shared_ptr<device> is gone.
struct adopted_device {
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    std::uint32_t family = 0;
    std::mutex* queue_mutex = nullptr;  // taken for each submit; null if nobody else submits
    dispatcher_hook edit_dispatcher{};
};

/// One of a device's queues.
struct device_queue {
    vk::Queue handle{};
    std::uint32_t family = 0;
    std::uint32_t timestamp_bits = 0;  // valid bits of its timestamps; 0: it has none
    std::mutex* mutex = nullptr;       // taken for each submit
};

/// Immutable after it was made, but for the loss of the device; any thread may use it.
class device {
public:
    /// Switches on every feature that `chosen.info` reports. Throws errc::no_device for a refused
    /// candidate, errc::invalid_argument for a queue that its family does not have.
    static std::shared_ptr<device> create(std::shared_ptr<const instance> parent,
                                          const candidate& chosen,
                                          const device_options& options = {}) {
        if (!chosen.refusals.empty())
            throw error(errc::no_device, "vulkan", cat({chosen.info.name, " cannot be used"}),
                        chosen.refusals);
        drivers::check();
        std::shared_ptr<device> made(new device(std::move(parent), chosen));
        made->open(options);
        drivers::watch_exit();
        return made;
    }

    /// `chosen` says what the user enabled: he takes it from instance::candidates and clears the
    /// rest, in `info` as well as in `extensions`.
    static std::shared_ptr<device> adopt(std::shared_ptr<const instance> parent,
                                         const candidate& chosen, const adopted_device& theirs) {
        std::shared_ptr<device> made(new device(std::move(parent), chosen));
        made->owned_ = false;
        made->handle_ = vk::Device(theirs.device);
        made->chosen_.family = theirs.family;
        made->load(theirs.edit_dispatcher);
        made->queue_ = {vk::Queue(theirs.queue), theirs.family, chosen.timestamp_bits,
                        theirs.queue_mutex ? theirs.queue_mutex : &made->mutex_};
        return made;
    }

    device(const device&) = delete;
    device& operator=(const device&) = delete;
    ~device() {
        if (owned_ && handle_) handle_.destroy(nullptr, table());
    }

    vk::Device handle() const noexcept { return handle_; }
    vk::PhysicalDevice physical() const noexcept { return chosen_.handle; }
    /// Its functions. Where the driver is left behind they do nothing and report the loss of the
    /// device, so nothing is destroyed and nothing waited for.
    const dispatcher& table() const noexcept {
        return left_behind() ? dispatcher::without_driver() : table_;
    }
    const device_info& info() const noexcept { return chosen_.info; }
    /// What it was made from, with the extensions that are switched on.
    const candidate& made_from() const noexcept { return chosen_; }
    const instance& parent() const noexcept { return *parent_; }
    const VkPhysicalDeviceMemoryProperties& memory_properties() const noexcept { return memory_; }
    const VkPhysicalDeviceLimits& limits() const noexcept { return limits_; }
    bool has(std::string_view extension) const noexcept {
        return chosen_.extensions.has(extension);
    }

    /// The queue that computes.
    const device_queue& queue() const noexcept { return queue_; }
    /// Queues that only copy, as the options ask for: two at most, none of an adopted device.
    span<const device_queue> transfer_queues() const noexcept {
        return {transfers_, transfer_count_};
    }
    std::uint32_t timestamp_bits() const noexcept { return queue_.timestamp_bits; }

    counters& stats() const noexcept { return counters_; }

    /// True in a child of fork() if its parent made the device.
    bool forked() const noexcept { return process_ != pumice::detail::process_number(); }
    /// True where the driver must not be called: its threads and locks are not there in a forked
    /// child, nor at exit once it has ended.
    bool left_behind() const noexcept { return forked() || drivers::ended(); }
    /// True once any call reported a loss, and where the driver is left behind; it stays so.
    bool lost() const noexcept { return lost_.load(std::memory_order_acquire) || left_behind(); }

    /// Remembers that the device is gone, without an exception.
    void note(vk::Result result) const noexcept {
        if (result == vk::Result::eErrorDeviceLost) lost_.store(true, std::memory_order_release);
    }

    /// Throws what a failed call means, and remembers a loss.
    void check(vk::Result result, std::string_view call, std::string_view about = {}) const {
        if (result == vk::Result::eSuccess) return;
        if (left_behind()) check_alive(call);
        note(result);
        throw call_error(result, call, std::string(about));
    }

    /// Throws errc::device_lost if the device was lost before, errc::forked where forked() is,
    /// errc::exiting where the drivers have ended.
    void check_alive(std::string_view call) const {
        if (forked())
            pumice::detail::throw_forked("vulkan", chosen_.info.name + " was opened before fork()");
        if (drivers::ended()) drivers::check();
        if (lost())
            throw call_error(vk::Result::eErrorDeviceLost, call,
                             chosen_.info.name + " was lost before");
    }

    /// Names an object for validation messages and debuggers. Free of effect without
    /// VK_EXT_debug_utils.
    void name(VkObjectType type, std::uint64_t handle, const char* text) const noexcept {
        if (!parent_->debug_utils() || !table_.vkSetDebugUtilsObjectNameEXT) return;
        vk::DebugUtilsObjectNameInfoEXT info{};
        info.objectType = static_cast<vk::ObjectType>(type);
        info.objectHandle = handle;
        info.pObjectName = text;
        static_cast<void>(handle_.setDebugUtilsObjectNameEXT(&info, table_));
    }

private:
    device(std::shared_ptr<const instance> parent, const candidate& chosen)
        : parent_(std::move(parent)), chosen_(chosen) {
        vk::PhysicalDeviceMemoryProperties memory{};
        chosen_.handle.getMemoryProperties(&memory, parent_->table());
        memory_ = static_cast<const VkPhysicalDeviceMemoryProperties&>(memory);
        vk::PhysicalDeviceProperties properties{};
        chosen_.handle.getProperties(&properties, parent_->table());
        limits_ = static_cast<const VkPhysicalDeviceProperties&>(properties).limits;
    }

    void open(const device_options& options) {
        extension_list on;
        for (const char* wanted : wanted_extensions)
            if (chosen_.extensions.has(wanted)) on.names.push_back(std::string(wanted));
        for (const char* each : data_graph_extensions)
            if (chosen_.info.data_graphs && chosen_.extensions.has(each))
                on.names.push_back(std::string(each));
        chosen_.extensions = std::move(on);  // from here on: the enabled ones
        array_list<const char*> extensions;
        for (const std::string& each : chosen_.extensions.names) extensions.push_back(each.c_str());

        features offered;
        chosen_.handle.getFeatures2(offered.link(chosen_.extensions), parent_->table());
        features enabled = wanted_features(offered, options.robust);

        const std::uint32_t count = checked_index(options.queue_index) + 1;
        const std::uint32_t transfers = options.transfer_queues && chosen_.transfer_family
                                            ? std::min(chosen_.transfer_queues, most_transfers)
                                            : 0;
        const array_list<float> priorities(std::max(count, transfers), 1.0f);
        vk::DeviceQueueCreateInfo queues[2];
        queues[0].queueFamilyIndex = chosen_.family;
        queues[0].queueCount = count;
        queues[0].pQueuePriorities = priorities.data();
        queues[1].queueFamilyIndex = chosen_.transfer_family.value_or(0);
        queues[1].queueCount = transfers;
        queues[1].pQueuePriorities = priorities.data();
        vk::DeviceCreateInfo info{};
        info.pNext = enabled.link(chosen_.extensions);
        info.queueCreateInfoCount = transfers > 0 ? 2 : 1;
        info.pQueueCreateInfos = queues;
        info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
        info.ppEnabledExtensionNames = extensions.data();
        check(chosen_.handle.createDevice(&info, nullptr, &handle_, parent_->table()),
              "vkCreateDevice", chosen_.info.name);
        load(options.edit_dispatcher);
        queue_ = {{}, chosen_.family, chosen_.timestamp_bits, &mutex_};
        handle_.getQueue(chosen_.family, options.queue_index, &queue_.handle, table_);
        for (std::uint32_t i = 0; i < transfers; ++i) {
            transfers_[i] = {{},
                             *chosen_.transfer_family,
                             chosen_.transfer_timestamp_bits,
                             &transfer_mutexes_[i]};
            handle_.getQueue(*chosen_.transfer_family, i, &transfers_[i].handle, table_);
        }
        transfer_count_ = transfers;
    }

    std::uint32_t checked_index(std::uint32_t index) const {
        if (index == 0) return index;
        std::uint32_t families = 0;
        chosen_.handle.getQueueFamilyProperties(&families, nullptr, parent_->table());
        array_list<vk::QueueFamilyProperties> list(families);
        chosen_.handle.getQueueFamilyProperties(&families, list.data(), parent_->table());
        const std::uint32_t count = list[chosen_.family].queueCount;
        if (index >= count)
            fail(errc::invalid_argument, "vulkan",
                 {chosen_.info.name, " has ", count,
                  " queues of its compute family, so none of index ", index});
        return index;
    }

    void load(const dispatcher_hook& edit) {
        table_ = parent_->table();
        table_.init(handle_);
        if (edit) edit(table_);
    }

    std::shared_ptr<const instance> parent_;
    candidate chosen_;
    bool owned_ = true;
    vk::Device handle_{};
    static constexpr std::uint32_t most_transfers = 2;
    device_queue queue_, transfers_[most_transfers];
    std::size_t transfer_count_ = 0;
    dispatcher table_;
    VkPhysicalDeviceMemoryProperties memory_{};
    VkPhysicalDeviceLimits limits_{};
    std::mutex mutex_, transfer_mutexes_[most_transfers];
    mutable std::atomic<bool> lost_{false};
    const std::uint32_t process_ = pumice::detail::process_number();
    mutable counters counters_;
};

}}}  // namespace pumice::PUMICE_ABI::vulkan
