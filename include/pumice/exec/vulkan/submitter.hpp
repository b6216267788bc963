// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// All submits of a lane: command buffers that are ready, and commands of evaluations, which are
// held back while the device has work and then share a submit.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/thread_pool.hpp>
#include <pumice/vk/command_cache.hpp>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <optional>

namespace pumice { inline namespace PUMICE_ABI {

/// Whatever the commands of a graph may have written or read.
inline constexpr vulkan::scope any_access = vulkan::scope::compute | vulkan::scope::transfer;

/// A dispatch or a copy, with all that recording it takes: whoever asked for it may be gone then.
struct held_command {
    const vulkan::pipeline* pipeline = nullptr;  // of a dispatch; it lives as long as the runtime
    std::uint64_t parameters = 0;                // address of its block
    std::shared_ptr<const vulkan::pushed_buffers> pushed;  // in its place, where there are any
    std::array<std::uint32_t, 3> grid{};
    bool barrier = false;         // before it
    vulkan::allocation from, to;  // of a copy of `bytes`
    std::uint64_t bytes = 0;

    /// 1, or 0 of a copy and of a grid without a group.
    unsigned dispatches() const noexcept {
        return pipeline && grid[0] != 0 && grid[1] != 0 && grid[2] != 0;
    }
    /// Whether it is one of a data graph.
    bool is_graph() const noexcept { return pipeline && pipeline->is_graph(); }
    void record(vulkan::commands& buffer) const {
        if (pushed && pushed->has_constants)  // which no other command makes visible
            buffer.barrier(any_access, any_access | vulkan::scope::constants);
        else if (barrier) buffer.barrier(any_access, any_access);
        if (!pipeline) return buffer.copy(from, to, {0, 0, bytes});
        buffer.bind(*pipeline);
        if (pushed) return pushed->dispatch(buffer, pushed, grid);
        buffer.push(parameters);
        buffer.dispatch(grid[0], grid[1], grid[2]);
    }
};

/// Commands that are held back have the value of the next submit. They are submitted when `most`
/// are held, when something else is submitted, and when somebody waits for that value or the memory
/// that they keep; when the device has nothing to do, at once behind a wait, and in larger and
/// larger parts while evaluations come without one, since then a submit costs more than it brings;
/// and when no evaluation has come for `longest`, by a thread that sleeps in between. A submit that
/// fails leaves them held, and is tried again. Any thread may call.
class vulkan_submitter final : public vulkan::unsubmitted {
public:
    /// `most` 0: nothing is held back. `shows`: makes what was written visible to the host, or null
    /// where it maps nothing; submitted last, `always` or where it is asked for.
    vulkan_submitter(std::shared_ptr<vulkan::queue> queue, vulkan::command_cache& buffers,
                     vk::CommandBuffer shows, bool always, std::size_t most,
                     std::chrono::microseconds longest)
        : queue_(std::move(queue)), buffers_(buffers), shows_(shows), always_(always), most_(most),
          longest_(longest) {
        if (most_ > 0) queue_->set_unsubmitted(this);
    }
    vulkan_submitter(const vulkan_submitter&) = delete;
    vulkan_submitter& operator=(const vulkan_submitter&) = delete;
    /// What is held is not submitted any more: pre: nobody can see what it would have computed.
    ~vulkan_submitter() {
        queue_->set_unsubmitted(nullptr);
        if (!watch_.joinable()) return;
        {
            const std::lock_guard lock(mutex_);
            over_ = true;
        }
        changed_.notify_all();
        watch_.join();
    }

    bool holds() const noexcept { return most_ > 0; }
    /// Barriers among what is held.
    std::uint64_t held_barriers() const noexcept { return held_barriers_; }

    /// Submits a recorded command buffer behind what is held. If it throws, nothing was submitted,
    /// as of vulkan::queue::submit. `seen`: the host, which maps it, is to see what it writes.
    std::uint64_t submit(vk::CommandBuffer recorded, span<const vulkan::semaphore_point> waits,
                         bool seen = false) {
        const std::lock_guard lock(mutex_);
        return submit_all(recorded, waits, seen);
    }
    void submit() {
        const std::lock_guard lock(mutex_);
        if (!held_.empty()) submit_all({}, {});
    }
    void before_wait(std::uint64_t value) override {
        patience_ = 1;
        if (value > queue_->submitted()) submit();
    }

    /// Takes commands that follow each other, and gives the value that the timeline has when they
    /// are done. If it throws, they were not taken.
    std::uint64_t hold(span<const held_command> list) {
        std::unique_lock lock(mutex_);
        const std::size_t before = held_.size();
        held_.append(list.begin(), list.end());
        try {
            const std::size_t patience = patience_;
            if (held_.size() >= most_ ||
                (held_.size() >= patience && queue_->reached(queue_->submitted())) ||
                (before == 0 && !watched())) {
                const std::uint64_t value = submit_all({}, {});
                patience_ = std::min(2 * patience, most_patience);
                return value;
            }
        } catch (...) {
            held_.resize(before);
            throw;
        }
        for (const held_command& c : list) held_barriers_ += c.barrier;
        ++held_lists_;
        const std::uint64_t value = queue_->promise();
        const bool wake = asleep_;
        lock.unlock();
        if (wake) changed_.notify_all();
        return value;
    }

private:
    static constexpr std::size_t most_patience = 16;

    std::uint64_t submit_all(vk::CommandBuffer recorded, span<const vulkan::semaphore_point> waits,
                             bool seen = false) {
        vk::CommandBuffer list[3];
        std::size_t count = 0;
        std::optional<vulkan::commands> made;
        if (!held_.empty()) {
            made.emplace(buffers_.take());
            made->begin();
            for (const held_command& c : held_) c.record(*made);
            made->end();
            list[count++] = made->handle();
        }
        if (recorded) list[count++] = recorded;
        if (shows_ && (always_ || seen)) list[count++] = shows_;
        const std::uint64_t value = queue_->submit(span(list, count), waits);
        held_.clear();
        held_barriers_ = 0;
        if (made) buffers_.give(std::move(*made), value);
        return value;
    }

    /// True where a thread sees to it that nothing is held too long.
    bool watched() {
        if (watch_.joinable()) return true;
        try {
            watch_ = start_thread([this] { watch(); });
        } catch (const std::system_error&) {
            return false;
        }
        return true;
    }
    void watch() {
        std::unique_lock lock(mutex_);
        for (std::uint64_t seen = 0; !over_;) {
            if (held_.empty() || queue_->device()->lost()) {
                asleep_ = true;
                changed_.wait(lock);
                asleep_ = false;
            } else if (seen != held_lists_) {
                seen = held_lists_;
                changed_.wait_for(lock, longest_);
            } else {
                try {
                    submit_all({}, {});
                    patience_ = 1;
                } catch (...) {  // whoever waits for the work is told
                    changed_.wait_for(lock, std::chrono::milliseconds(10));
                }
            }
        }
    }

    std::shared_ptr<vulkan::queue> queue_;
    vulkan::command_cache& buffers_;
    vk::CommandBuffer shows_;
    const bool always_;
    std::size_t most_;
    std::chrono::microseconds longest_;
    std::mutex mutex_;
    std::condition_variable changed_;
    array_list<held_command> held_;
    std::atomic<std::uint64_t> held_barriers_{0};
    std::uint64_t held_lists_ = 0;          // so far
    std::atomic<std::size_t> patience_{1};  // held commands that an idle device is given
    bool asleep_ = false, over_ = false;
    std::thread watch_;
};

}}  // namespace pumice::PUMICE_ABI
