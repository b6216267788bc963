// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// GPU timestamps: a query pool, and its ticks as nanoseconds.
#pragma once

#include <pumice/vk/device.hpp>

#include <span>

namespace pumice::inline PUMICE_ABI::vulkan {

/// `commands::reset` it, write with `commands::timestamp`, read after the submit is done.
class timestamp_pool {
public:
    /// Throws errc::unsupported where the queue has no timestamps.
    timestamp_pool(std::shared_ptr<const device> owner, std::uint32_t count)
        : device_(std::move(owner)), count_(count) {
        if (device_->timestamp_bits() == 0)
            throw error(errc::unsupported, "vulkan",
                        device_->info().name + " has no timestamps on this queue");
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

    /// The ticks of `first` onwards. pre: all of them were written, and their submit is done.
    void read(std::uint32_t first, std::span<std::uint64_t> ticks) const {
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

}  // namespace pumice::inline PUMICE_ABI::vulkan
