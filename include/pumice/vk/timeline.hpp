// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A timeline semaphore: how the host knows what the device has done.
#pragma once

#include <pumice/base/stop_view.hpp>
#include <pumice/vk/device.hpp>

#include <algorithm>
#include <chrono>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// How long a wait polls after one that took so long: as long again, and a quarter more, where that
/// is no more than `most`.
constexpr std::chrono::microseconds polling_after(std::chrono::microseconds took,
                                                  std::chrono::microseconds least,
                                                  std::chrono::microseconds most) noexcept {
    return took > most ? least : std::max(least, std::min(most, took * 5 / 4));
}

/// Values only rise. Any thread may ask and wait.
class timeline {
public:
    explicit timeline(std::shared_ptr<const device> owner) : device_(std::move(owner)) {
        vk::SemaphoreTypeCreateInfo type{};
        type.semaphoreType = vk::SemaphoreType::eTimeline;
        vk::SemaphoreCreateInfo info{};
        info.pNext = &type;
        device_->check(device_->handle().createSemaphore(&info, nullptr, &semaphore_,
                                                         device_->table()),
                       "vkCreateSemaphore");
    }
    timeline(const timeline&) = delete;
    timeline& operator=(const timeline&) = delete;
    ~timeline() { device_->handle().destroySemaphore(semaphore_, nullptr, device_->table()); }

    vk::Semaphore handle() const noexcept { return semaphore_; }

    /// The highest value known to be reached, without a call.
    std::uint64_t known() const noexcept { return known_.load(std::memory_order_acquire); }

    /// Asks the device. Throws errc::device_lost.
    std::uint64_t completed() const {
        std::uint64_t value = 0;
        device_->check(device_->handle().getSemaphoreCounterValue(semaphore_, &value,
                                                                  device_->table()),
                       "vkGetSemaphoreCounterValue");
        // Some drivers answer with the highest value when the device is lost (the specification
        // allows it).
        if (value == ~std::uint64_t{0})
            device_->check(vk::Result::eErrorDeviceLost, "vkGetSemaphoreCounterValue");
        return remember(value);
    }

    bool reached(std::uint64_t value) const { return value <= known() || value <= completed(); }

    /// How long `wait` asks again and again before it blocks: `least`, or up to `most` where the
    /// wait before took no longer. Before the first wait.
    void poll_for(std::chrono::microseconds least, std::chrono::microseconds most) noexcept {
        least_ = least, most_ = most;
    }

    /// Returns once `value` is reached. Asks again and again at first (on an H200 that answers
    /// after 12 us where a blocking wait takes 31, and after a longer run 57), then blocks. Throws
    /// errc::device_lost, also when another thread meets the loss and nothing will ever signal.
    /// False if `stop` was asked for before.
    bool wait(std::uint64_t value, stop_view stop = {}) const {
        if (reached(value)) return true;
        device_->stats().host_waits += 1;
        const auto start = std::chrono::steady_clock::now();
        const auto took = [&] {
            return std::chrono::duration_cast<std::chrono::microseconds>(
                std::chrono::steady_clock::now() - start);
        };
        const auto polled = polling_after(waited_.load(std::memory_order_relaxed), least_, most_);
        for (auto so_far = took(); so_far < polled; so_far = took())
            if (reached(value)) {
                waited_.store(so_far, std::memory_order_relaxed);
                return true;
            }
        vk::SemaphoreWaitInfo info{};
        info.semaphoreCount = 1;
        info.pSemaphores = &semaphore_;
        info.pValues = &value;
        // ns, after which the loss and the stop are looked at
        const std::uint64_t slice = stop.stop_possible() ? 1'000'000 : 100'000'000;
        for (;;) {
            if (stop.stop_requested()) return false;
            device_->check_alive("vkWaitSemaphores");
            const vk::Result result =
                device_->handle().waitSemaphores(&info, slice, device_->table());
            if (result == vk::Result::eTimeout) continue;
            device_->check(result, "vkWaitSemaphores");
            device_->check_alive("vkWaitSemaphores");
            waited_.store(took(), std::memory_order_relaxed);
            remember(value);
            return true;
        }
    }

private:
    std::uint64_t remember(std::uint64_t value) const noexcept {
        std::uint64_t old = known_.load(std::memory_order_relaxed);
        while (old < value &&
               !known_.compare_exchange_weak(old, value, std::memory_order_acq_rel)) {
        }
        return old < value ? value : old;
    }

    std::shared_ptr<const device> device_;
    vk::Semaphore semaphore_{};
    std::chrono::microseconds least_{80}, most_{80};
    mutable std::atomic<std::chrono::microseconds> waited_{std::chrono::microseconds{0}};
    mutable std::atomic<std::uint64_t> known_{0};
};

}}}  // namespace pumice::PUMICE_ABI::vulkan
