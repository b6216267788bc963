// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Submits command buffers; each submit raises the queue's timeline by one.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/span.hpp>
#include <pumice/vk/exit_wait.hpp>
#include <pumice/vk/timeline.hpp>

#include <mutex>
#include <thread>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// A point on some timeline that a submit waits for or reaches besides its own: another device's
/// work in this process goes through the host, so these are semaphores of the same device.
struct semaphore_point {
    vk::Semaphore semaphore{};
    std::uint64_t value = 0;  // ignored by binary semaphores
};

/// Work that has a value of a queue's timeline already and is not submitted yet.
class unsubmitted {
public:
    /// Somebody is about to wait for that value: submits what has it, unless another thread has.
    /// If it throws, it can be tried again.
    virtual void before_wait(std::uint64_t value) = 0;

protected:
    ~unsubmitted() = default;
};

/// Any thread may submit and wait. Destroying it waits for what was submitted.
class queue final : exit_wait {
public:
    /// The device's queue that computes.
    explicit queue(const std::shared_ptr<const vulkan::device>& owner)
        : queue(owner, owner->queue()) {}
    /// One of the device's queues.
    queue(std::shared_ptr<const vulkan::device> owner, const device_queue& submits_to)
        : device_(std::move(owner)), to_(submits_to), timeline_(device_) {
        enter();
        arm();
    }
    queue(const queue&) = delete;
    queue& operator=(const queue&) = delete;
    ~queue() {
        leave();
        wait_idle();
    }

    const std::shared_ptr<const vulkan::device>& device() const noexcept { return device_; }
    const vulkan::timeline& timeline() const noexcept { return timeline_; }
    std::uint32_t family() const noexcept { return to_.family; }
    std::uint32_t timestamp_bits() const noexcept { return to_.timestamp_bits; }
    /// As timeline::poll_for.
    void poll_for(std::chrono::microseconds least, std::chrono::microseconds most) noexcept {
        timeline_.poll_for(least, most);
    }

    /// Returns the value that the timeline has once these command buffers are done. They run after
    /// `waits`, in order with earlier submits only as far as barriers say. If it throws, nothing
    /// was submitted: errc::device_lost (from then on always), errc::out_of_memory,
    /// errc::vulkan_failed.
    std::uint64_t submit(span<const vk::CommandBuffer> buffers,
                         span<const semaphore_point> waits = {},
                         span<const semaphore_point> signals = {}) {
        device_->check_alive("vkQueueSubmit2");
        arm();
        few<vk::CommandBufferSubmitInfo> commands(buffers.size());
        for (std::size_t i = 0; i < buffers.size(); ++i) commands[i].commandBuffer = buffers[i];
        few<vk::SemaphoreSubmitInfo> before(waits.size()), after(signals.size() + 1);
        for (std::size_t i = 0; i < waits.size(); ++i) before[i] = point(waits[i]);
        for (std::size_t i = 0; i < signals.size(); ++i) after[i + 1] = point(signals[i]);

        vk::SubmitInfo2 info{};
        info.waitSemaphoreInfoCount = static_cast<std::uint32_t>(before.size());
        info.pWaitSemaphoreInfos = before.data();
        info.commandBufferInfoCount = static_cast<std::uint32_t>(commands.size());
        info.pCommandBufferInfos = commands.data();
        info.signalSemaphoreInfoCount = static_cast<std::uint32_t>(after.size());
        info.pSignalSemaphoreInfos = after.data();

        const std::lock_guard lock(*to_.mutex);
        const std::uint64_t value = submitted() + 1;
        after[0] = point({timeline_.handle(), value});
        device_->stats().submits += 1;
        device_->check(to_.handle.submit2(1, &info, vk::Fence(), device_->table()),
                       "vkQueueSubmit2");
        submitted_.store(value, std::memory_order_release);
        if (promised_.load(std::memory_order_relaxed) < value)
            promised_.store(value, std::memory_order_release);
        return value;
    }
    std::uint64_t submit(vk::CommandBuffer buffer, span<const semaphore_point> waits = {}) {
        return submit({&buffer, 1}, waits);
    }

    /// The value of the last submit; 0 before the first.
    std::uint64_t submitted() const noexcept { return submitted_.load(std::memory_order_acquire); }

    /// Who holds work back, of which `wait` makes a submit; null: nobody. One thread at a time, and
    /// all submits are his.
    void set_unsubmitted(unsubmitted* held) noexcept { unsubmitted_ = held; }
    /// The value of the next submit, for work that it will hold: one can wait for it from now on.
    std::uint64_t promise() noexcept {
        const std::uint64_t value = submitted() + 1;
        promised_.store(value, std::memory_order_release);
        return value;
    }
    /// The highest value that one can wait for.
    std::uint64_t promised() const noexcept { return promised_.load(std::memory_order_acquire); }

    std::uint64_t completed() const { return timeline_.completed(); }
    bool reached(std::uint64_t value) const { return timeline_.reached(value); }

    /// Waits for a value that `submit` or `promise` returned; one that was never submitted is
    /// refused, since nobody would ever signal it. False if `stop` was asked for before.
    bool wait(std::uint64_t value, stop_view stop = {}) const {
        if (device_->left_behind()) device_->check_alive("vkWaitSemaphores");
        if (unsubmitted_) unsubmitted_->before_wait(value);
        if (value > submitted())
            fail(errc::invalid_argument, "vulkan",
                 {"wait for value ", value, ", but the last submit has ", submitted()});
        return timeline_.wait(value, stop);
    }

    /// Waits until the device has finished with everything that was submitted, so that its objects
    /// can be destroyed. A lost device has, and so counts one that cannot tell for 5 s.
    void wait_idle() const noexcept {
        if (device_->left_behind()) return;
        for (int tries = 0; !is_idle(); ++tries) {
            if (tries == 500) return device_->note(vk::Result::eErrorDeviceLost);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }

private:
    /// Also for what is held back.
    void wait_at_exit() noexcept override {
        if (device_->left_behind()) return;
        try {
            if (unsubmitted_) unsubmitted_->before_wait(promised());
        } catch (...) {
            return;  // what was not submitted, no driver has to do
        }
        wait_idle();
    }
    /// Waits; false where neither call could, as for want of memory.
    bool is_idle() const noexcept {
        try {
            return timeline_.wait(submitted());
        } catch (...) {
        }
        const std::lock_guard lock(*to_.mutex);
        const auto result =
            vk::Result(device_->table().vkQueueWaitIdle(static_cast<VkQueue>(to_.handle)));
        device_->note(result);
        return result == vk::Result::eSuccess || device_->lost();
    }

    /// A list that needs memory only when it is long.
    template <class T>
    class few {
    public:
        explicit few(std::size_t size) : size_(size), many_(size > inside ? size : 0) {}
        T& operator[](std::size_t i) { return data()[i]; }
        T* data() { return size_ > inside ? many_.data() : here_; }
        std::size_t size() const noexcept { return size_; }

    private:
        static constexpr std::size_t inside = 4;
        std::size_t size_;
        T here_[inside] = {};
        array_list<T> many_;
    };

    static vk::SemaphoreSubmitInfo point(const semaphore_point& p) noexcept {
        vk::SemaphoreSubmitInfo info{};
        info.semaphore = p.semaphore;
        info.value = p.value;
        info.stageMask = vk::PipelineStageFlags2(vk::PipelineStageFlagBits2::eAllCommands);
        return info;
    }

    std::shared_ptr<const vulkan::device> device_;
    device_queue to_;
    vulkan::timeline timeline_;
    std::atomic<std::uint64_t> submitted_{0}, promised_{0};
    unsubmitted* unsubmitted_ = nullptr;
};

}}}  // namespace pumice::PUMICE_ABI::vulkan
