// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// GPU timestamps: a query pool, and its ticks as nanoseconds.
#pragma once

#include <pumice/base/span.hpp>
#include <pumice/vk/device.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// `commands::reset` it, write with `commands::timestamp`, read after the submit is done.
class timestamp_pool {
public:
    /// Throws errc::unsupported where the queue has no timestamps.
    timestamp_pool(std::shared_ptr<const device> owner, std::uint32_t count)
        : device_(std::move(owner)), count_(count) {
        if (device_->timestamp_bits() == 0)
            fail(errc::unsupported, "vulkan",
                 {device_->info().name, " has no timestamps on this queue"});
        vk::QueryPoolCreateInfo info{};
        info.queryType = vk::QueryType::eTimestamp;
        info.queryCount = count;
        device_->check(device_->handle().createQueryPool(&info, nullptr, &pool_, device_->table()),
                       "vkCreateQueryPool");
    }
    timestamp_pool(const timestamp_pool&) = delete;
    timestamp_pool& operator=(const timestamp_pool&) = delete;
    ~timestamp_pool() { device_->handle().destroyQueryPool(pool_, nullptr, device_->table()); }

    vk::QueryPool handle() const noexcept { return pool_; }
    std::uint32_t size() const noexcept { return count_; }

    /// By the host; in a command buffer of a queue that only copies it cannot be. pre: no work uses
    /// them.
    void reset(std::uint32_t first, std::uint32_t count) const noexcept {
        device_->table().vkResetQueryPool(static_cast<VkDevice>(device_->handle()),
                                          static_cast<VkQueryPool>(pool_), first, count);
    }

    /// The ticks of `first` onwards. pre: all of them were written, and their submit is done.
    void read(std::uint32_t first, span<std::uint64_t> ticks) const {
        PUMICE_ASSERT(first + ticks.size() <= count_);
        if (ticks.empty()) return;
        device_->check(device_->handle().getQueryPoolResults(
                           pool_, first, static_cast<std::uint32_t>(ticks.size()),
                           ticks.size_bytes(), ticks.data(), sizeof(std::uint64_t),
                           vk::QueryResultFlags(vk::QueryResultFlagBits::e64), device_->table()),
                       "vkGetQueryPoolResults");
    }

    /// Nanoseconds from one tick to another, across one wrap of the counter.
    double nanoseconds(std::uint64_t from, std::uint64_t to) const noexcept {
        const std::uint32_t bits = device_->timestamp_bits();
        const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
        return static_cast<double>((to - from) & mask) *
               static_cast<double>(device_->info().timestamp_period);
    }

private:
    std::shared_ptr<const device> device_;
    std::uint32_t count_ = 0;
    vk::QueryPool pool_{};
};

/// The device's clock and the host's steady clock at one moment.
struct clock_pair {
    std::uint64_t ticks = 0;        // as timestamp_pool::read gives them
    std::uint64_t nanoseconds = 0;  // CLOCK_MONOTONIC, which is std::chrono::steady_clock on Linux
};

/// Nothing where the device cannot tell (VK_KHR_calibrated_timestamps, or its older EXT form).
inline std::optional<clock_pair> calibrate(const device& d) {
    const dispatcher &own = d.table(), &parent = d.parent().table();
    const bool khr = d.has(VK_KHR_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
    if (!khr && !d.has(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME)) return std::nullopt;
    const auto list = khr ? parent.vkGetPhysicalDeviceCalibrateableTimeDomainsKHR
                          : parent.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT;
    const auto ask = khr ? own.vkGetCalibratedTimestampsKHR : own.vkGetCalibratedTimestampsEXT;
    if (!list || !ask) return std::nullopt;
    constexpr VkTimeDomainKHR wanted[] = {VK_TIME_DOMAIN_DEVICE_KHR,
                                          VK_TIME_DOMAIN_CLOCK_MONOTONIC_KHR};
    VkTimeDomainKHR domains[16] = {};
    std::uint32_t count = 16;
    if (list(d.physical(), &count, domains) < 0) return std::nullopt;
    VkCalibratedTimestampInfoKHR info[2] = {};
    for (int i = 0; i < 2; ++i) {
        if (std::find(domains, domains + count, wanted[i]) == domains + count) return std::nullopt;
        info[i].sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_KHR;
        info[i].timeDomain = wanted[i];
    }
    std::uint64_t found[2] = {}, deviation = 0;
    d.check(vk::Result(ask(d.handle(), 2, info, found, &deviation)),
            "vkGetCalibratedTimestampsKHR");
    return clock_pair{found[0], found[1]};
}

}}}  // namespace pumice::PUMICE_ABI::vulkan
