// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a Vulkan device measures while its engine is profiled: two timestamps around each command.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/unique_ptr.hpp>
#include <pumice/exec/profiler.hpp>
#include <pumice/exec/vulkan/recorder.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// One thread at a time: the lane's lock.
class vulkan_profiler {
public:
    struct timed {
        std::string name;
        std::int64_t bytes = 0;
        std::string origin = {};
    };

    static timed about(const command& c) {
        if (c.upload_to) return {"upload", c.upload_to->bytes};
        std::int64_t bytes = 0;
        for (const access& a : c.what->accesses) bytes += a.end - a.begin;
        return {profile_name(*c.record), bytes, c.record->origin};
    }

    /// Throws errc::unsupported where the queue has no timestamps.
    explicit vulkan_profiler(std::shared_ptr<const vulkan::queue> measured)
        : queue_(std::move(measured)), device_(queue_->device()),
          start_(vulkan::calibrate(*device_)) {
        pools_.push_back(make_owned<vulkan::timestamp_pool>(device_, pool_size));
    }
    vulkan_profiler(const vulkan_profiler&) = delete;
    vulkan_profiler& operator=(const vulkan_profiler&) = delete;
    /// Work in flight may still write times.
    ~vulkan_profiler() { queue_->wait_idle(); }

    /// Timestamps for commands that are about to be recorded; for the first ones only where a
    /// profile holds no more. `describe(i)` says what the i-th is. A submit follows, and then
    /// `submitted`; without it they are free again.
    template <class Describe>
    timestamps reserve(std::size_t commands, Describe&& describe) {
        const timestamps made = reserve(commands);
        for (std::uint32_t i = 0; i < made.count; ++i) events_[kept_ + i].what = describe(i);
        return made;
    }
    /// The commands of the last `reserve` were handed to the device.
    void submitted() noexcept {
        used_ += static_cast<std::uint32_t>(2 * (events_.size() - kept_));
        kept_ = events_.size();
        dropped_ += std::exchange(beyond_, 0);
    }

    /// pre: all that was submitted is done.
    void give(profile_recorder& to) {
        events_.resize(kept_);
        to.drop(dropped_);
        if (events_.empty()) return;
        const auto end = start_ ? vulkan::calibrate(*device_) : std::nullopt;
        std::uint64_t last = 0, ticks[2] = {};
        double now = 0, scale = 1;  // microseconds of `last`; how much faster the host's clock is
        if (end) {
            last = start_->ticks;
            now = host(*start_, to);
            const double device = between(start_->ticks, end->ticks);
            if (device > 0) scale = (host(*end, to) - now) / device;
        } else {
            to.remark(profile_recorder::on_device, "its clock is set by the first submit");
            events_[0].pool->read(events_[0].first, ticks);
            last = ticks[0];
            now = to.microseconds(first_);
        }
        for (const event& e : events_) {
            e.pool->read(e.first, ticks);
            now += between(last, ticks[0]) * scale;
            last = ticks[0];
            to.add(profile_recorder::on_device, e.what.name, now,
                   std::max(0.0, between(ticks[0], ticks[1])), e.what.bytes, e.what.origin);
        }
    }

private:
    static constexpr std::uint32_t pool_size = 4096;
    struct event {
        timed what;
        const vulkan::timestamp_pool* pool;
        std::uint32_t first;
    };

    timestamps reserve(std::size_t commands) {
        events_.resize(kept_);
        if (kept_ == 0) first_ = profile_recorder::clock::now();
        const auto count =
            static_cast<std::uint32_t>(std::min(commands, profile_recorder::most - events_.size()));
        beyond_ = commands - count;
        if (count == 0) return {};
        if (pools_.back()->size() - used_ < 2 * count) {
            pools_.push_back(make_owned<vulkan::timestamp_pool>(device_,
                                                                std::max(pool_size, 2 * count)));
            used_ = 0;
        }
        const vulkan::timestamp_pool* pool = pools_.back().get();
        for (std::uint32_t i = 0; i < count; ++i) events_.push_back({{}, pool, used_ + 2 * i});
        return {pool, used_, count};
    }
    static double host(const vulkan::clock_pair& at, const profile_recorder& to) noexcept {
        return to.microseconds(profile_recorder::clock::time_point(
            std::chrono::nanoseconds(static_cast<std::int64_t>(at.nanoseconds))));
    }
    /// Microseconds from one tick to another, which may lie a little before it.
    double between(std::uint64_t from, std::uint64_t to) const noexcept {
        const vulkan::timestamp_pool& pool = *pools_.front();
        const double wrap = pool.nanoseconds(0, ~std::uint64_t{0}), ns = pool.nanoseconds(from, to);
        return (ns > wrap / 2 ? ns - wrap : ns) / 1000;
    }

    std::shared_ptr<const vulkan::queue> queue_;
    std::shared_ptr<const vulkan::device> device_;
    std::optional<vulkan::clock_pair> start_;
    array_list<unique_ptr<vulkan::timestamp_pool>> pools_;
    std::uint32_t used_ = 0;  // of the last pool
    array_list<event> events_;
    std::size_t kept_ = 0;  // events that were submitted
    std::size_t beyond_ = 0, dropped_ = 0;
    profile_recorder::clock::time_point first_;  // when the first commands were recorded
};

}}  // namespace pumice::PUMICE_ABI
