// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A timeline semaphore: how the host knows what the device has done.
#pragma once

#include <pumice/base/stop_view.hpp>
#include <pumice/vk/device.hpp>

#include <algorithm>
#include <chrono>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// When, after its beginning, a wait polls: before `first`, and from one time to another. Otherwise
/// it blocks.
struct polling {
    std::chrono::microseconds first, from, to;

    constexpr bool at(std::chrono::microseconds t) const noexcept {
        return t < first || (t >= from && t < to);
    }
    /// How long a wait may block at time `t` before it polls again.
    constexpr std::chrono::microseconds blocks(std::chrono::microseconds t) const noexcept {
        return t < from ? from - t : std::chrono::microseconds::max();
    }
};

/// Of a wait that follows one which took so long. After one of at most `most` it is polled from its
/// beginning on for as long again and a quarter more; after others for `least`, and about when a
/// long one, of a millisecond or more, would end, for no more than `most`.
constexpr polling polling_after(std::chrono::microseconds took, std::chrono::microseconds least,
                                std::chrono::microseconds most) noexcept {
    constexpr std::chrono::microseconds none{0}, is_long{1000};
    if (took <= most) return {std::max(least, std::min(most, took * 5 / 4)), none, none};
    if (took < is_long) return {least, none, none};
    const std::chrono::microseconds from = took * 7 / 8;
    return {least, from, from + std::min(most, took / 4)};
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

    /// How long `wait` asks again and again: polling_after of these and of the wait before. Before
    /// the first wait.
    void poll_for(std::chrono::microseconds least, std::chrono::microseconds most) noexcept {
        least_ = least, most_ = most;
    }

    /// Returns once `value` is reached. Asks again and again while that is expected (on an H200
    /// that answers after 12 us where a blocking wait takes 31, and after a longer run 57 to 130),
    /// and blocks before and after. Throws errc::device_lost, also when another thread meets the
    /// loss and nothing will ever signal. False if `stop` was asked for before.
    bool wait(std::uint64_t value, stop_view stop = {}) const {
        using std::chrono::microseconds;
        if (reached(value)) return true;
        device_->stats().host_waits += 1;
        const auto start = std::chrono::steady_clock::now();
        const polling polled =
            polling_after(waited_.load(std::memory_order_relaxed), least_, most_);
        // After which the loss and the stop are looked at.
        const microseconds slice{stop.stop_possible() ? 1000 : 100'000};
        for (bool there = false; !there;) {
            const auto so_far =
                std::chrono::duration_cast<microseconds>(std::chrono::steady_clock::now() - start);
            if (polled.at(so_far)) {
                there = reached(value);
            } else {
                if (stop.stop_requested()) return false;
                there = block(value, std::min(slice, polled.blocks(so_far)));
            }
            if (there)
                waited_.store(std::chrono::duration_cast<microseconds>(
                                  std::chrono::steady_clock::now() - start),
                              std::memory_order_relaxed);
        }
        return true;
    }

private:
    /// Whether `value` is reached within that time.
    bool block(std::uint64_t value, std::chrono::nanoseconds most) const {
        device_->check_alive("vkWaitSemaphores");
        vk::SemaphoreWaitInfo info{};
        info.semaphoreCount = 1;
        info.pSemaphores = &semaphore_;
        info.pValues = &value;
        const vk::Result result =
            device_->handle().waitSemaphores(&info, std::uint64_t(most.count()), device_->table());
        if (result == vk::Result::eTimeout) return false;
        device_->check(result, "vkWaitSemaphores");
        device_->check_alive("vkWaitSemaphores");
        remember(value);
        return true;
    }
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
