// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What an engine measures by while it is profiled.
#pragma once

#include <pumice/base/lock.hpp>
#include <pumice/tensor/profile.hpp>

#include <chrono>

namespace pumice { inline namespace PUMICE_ABI {

/// Gathers the events of one profile, up to a bound. Any thread may add some.
class profile_recorder {
public:
    using clock = std::chrono::steady_clock;
    static constexpr std::size_t most = std::size_t{1} << 16;
    enum track { on_host, on_device };

    explicit profile_recorder(const std::string& name) { profile_.tracks = {"host", name}; }

    double microseconds(clock::time_point t) const noexcept {
        return std::chrono::duration<double, std::micro>(t - begin_).count();
    }
    /// The time where there is a recorder, else one before any.
    static clock::time_point now_if(const profile_recorder* r) noexcept {
        return r ? clock::now() : clock::time_point();
    }
    bool full() const noexcept { return profile_.events.size() >= most; }
    /// Beyond the bound, and without memory, an event is only counted.
    void add(track on, std::string_view name, double begin_us, double duration_us,
             std::int64_t bytes = 0, std::string_view origin = {}) noexcept {
        const small_lock lock(mutex_);
        try {
            if (!full()) {
                profile_.events.push_back({std::string(name), begin_us, duration_us, bytes, on,
                                           std::string(origin)});
                return;
            }
        } catch (const std::bad_alloc&) {
        }
        ++profile_.dropped;
    }
    /// From then to now; nothing where then is before the start.
    void add_since(clock::time_point then, track on, std::string_view name, std::int64_t bytes = 0,
                   std::string_view origin = {}) noexcept {
        if (then < begin_) return;
        const double begin = microseconds(then);
        add(on, name, begin, microseconds(clock::now()) - begin, bytes, origin);
    }
    void drop(std::size_t events) noexcept {
        profile_.dropped += static_cast<std::int64_t>(events);
    }
    /// Says something about a track, in its name.
    void remark(track on, std::string_view what) {
        append_text(profile_.tracks[on], {" (", what, ")"});
    }
    /// Adds what another recorder took, which began `offset` microseconds after this one: its
    /// host's events to the host's, its device as a track of its own.
    void join(const profile& other, double offset) {
        const int device = static_cast<int>(profile_.tracks.size());
        profile_.tracks.push_back(other.tracks[on_device]);
        profile_.dropped += other.dropped;
        for (const profile_event& e : other.events) {
            if (full())
                return drop(static_cast<std::size_t>(other.events.data() + other.events.size() -
                                                     &e));
            profile_.events.push_back(e);
            profile_.events.back().begin_us += offset;
            profile_.events.back().track = e.track == on_host ? on_host : device;
        }
    }
    profile take() && { return std::move(profile_); }

private:
    clock::time_point begin_ = clock::now();
    small_mutex mutex_;
    profile profile_;
};

/// Times a stretch of work, to the end of its scope or to `end()`, where there is a recorder.
class profile_scope {
public:
    profile_scope(profile_recorder* to, std::string_view name,
                  profile_recorder::track on = profile_recorder::on_host, std::int64_t bytes = 0,
                  std::string_view origin = {}) noexcept
        : to_(to), name_(name), origin_(origin), where_(on), bytes_(bytes),
          begin_(profile_recorder::now_if(to)) {}
    profile_scope(const profile_scope&) = delete;
    profile_scope& operator=(const profile_scope&) = delete;
    ~profile_scope() { end(); }
    void end() noexcept {
        if (to_) to_->add_since(begin_, where_, name_, bytes_, origin_);
        to_ = nullptr;
    }

private:
    profile_recorder* to_;
    std::string_view name_, origin_;
    profile_recorder::track where_;
    std::int64_t bytes_;
    profile_recorder::clock::time_point begin_;
};

/// A kernel's name with the ops that it does.
inline std::string profile_name(const kernel_record& r) {
    return cat({r.kernel, r.fused.empty() ? "" : ": ", r.fused});
}

}}  // namespace pumice::PUMICE_ABI
