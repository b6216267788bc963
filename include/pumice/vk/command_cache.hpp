// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Command buffers that come back by timeline value.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/vk/commands.hpp>

#include <mutex>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// Command buffers of one queue, used again when the timeline has passed their last submit.
/// Thread-safe.
class command_cache {
public:
    explicit command_cache(std::shared_ptr<vulkan::queue> queue) : queue_(std::move(queue)) {}
    command_cache(const command_cache&) = delete;
    command_cache& operator=(const command_cache&) = delete;
    ~command_cache() { queue_->wait_idle(); }

    /// One that the device does not use; `begin` it.
    commands take() {
        {
            const std::lock_guard lock(mutex_);
            const std::uint64_t reached = used_.empty() ? 0 : queue_->completed();
            for (std::size_t i = 0; i < used_.size(); ++i)
                if (used_[i].value <= reached) {
                    commands found = std::move(used_[i].buffer);
                    used_[i] = std::move(used_.back());
                    used_.pop_back();
                    return found;
                }
            used_.make_room(++made_ - used_.size());  // so that `give` needs no memory
        }
        return commands(queue_->device());
    }

    /// Gives one of its own back, last submitted with `value` (0: never).
    void give(commands buffer, std::uint64_t value) noexcept {
        const std::lock_guard lock(mutex_);
        used_.push_back({std::move(buffer), value});
    }

private:
    struct entry {
        commands buffer;
        std::uint64_t value;
    };
    std::shared_ptr<vulkan::queue> queue_;
    std::mutex mutex_;
    std::size_t made_ = 0;
    array_list<entry> used_;
};

}}}  // namespace pumice::PUMICE_ABI::vulkan
