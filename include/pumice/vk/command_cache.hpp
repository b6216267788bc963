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
            // A call of the driver's takes longer than to look, so what is known comes first.
            std::size_t i = find(queue_->timeline().known());
            if (i == used_.size() && i > 0) i = find(queue_->completed());
            if (i < used_.size()) {
                commands found = std::move(used_[i].buffer);
                used_[i] = std::move(used_.back());
                used_.pop_back();
                next_ = i + 1;
                return found;
            }
            used_.make_room(++made_ - used_.size());  // so that `give` needs no memory
        }
        return commands(queue_->device(), queue_->family());
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
    /// One that is reached, or the end. Behind the one that went last are those given longest ago.
    std::size_t find(std::uint64_t reached) const noexcept {
        for (std::size_t n = 0; n < used_.size(); ++n) {
            const std::size_t i = (next_ + n) % used_.size();
            if (used_[i].value <= reached) return i;
        }
        return used_.size();
    }

    std::shared_ptr<vulkan::queue> queue_;
    std::mutex mutex_;
    std::size_t made_ = 0, next_ = 0;
    array_list<entry> used_;
};

}}}  // namespace pumice::PUMICE_ABI::vulkan
