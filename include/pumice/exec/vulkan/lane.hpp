// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A lane: one device's queue at work, with what is known of the work that was submitted to it.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/counter.hpp>
#include <pumice/base/unique_ptr.hpp>
#include <pumice/exec/process_mutex.hpp>
#include <pumice/exec/vulkan/profiler.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// What a run lists. A lane keeps the memory of one for the next.
struct run_lists {
    array_list<vulkan_storage*> memory;        // of each value
    array_list<vulkan_storage*> written_over;  // of those that take over another's
    array_list<storage*> taken_over;           // of each value
    array_list<vulkan_storage*> touched, made;
    array_list<command> items;
    ordered_items accesses;  // of the items
    array_list<vulkan::allocation> pieces;

    void clear() noexcept {
        memory.clear();
        written_over.clear();
        taken_over.clear();
        touched.clear();
        made.clear();
        items.clear();
        accesses.clear();
        pieces.clear();
    }
};

/// Submits, waits and uploads. What it holds, and the memory of tensors, is guarded by its lock.
///
/// Order of locks: the engine's (of plans), then lanes by number. Planning, choosing and compiling
/// hold no lane's lock; whoever waits for the device holds none at all.
class vulkan_lane {
public:
    using lock_type = std::unique_lock<process_mutex>;

    /// `one_by_one`: each command of an evaluation is a submit of its own.
    vulkan_lane(std::shared_ptr<vulkan_runtime>&& runtime, bool one_by_one)
        : runtime_(std::move(runtime)), one_by_one_(one_by_one) {}

    const std::shared_ptr<vulkan_runtime>& runtime() const noexcept { return runtime_; }
    const device_info& device() const noexcept { return runtime_->device().info(); }
    lock_type lock() const { return lock_type(mutex_); }
    /// True in a child of the process that opened the device.
    bool left_behind() const noexcept { return mutex_.left_behind(); }
    /// Throws errc::forked there.
    void refuse_child() const { mutex_.refuse_child(); }

    /// What was done in this lane. Takes no lock.
    struct {
        counter evals, host_kernels, dispatches, data_graphs, written_bytes, uploads,
            uploaded_bytes, downloads, downloaded_bytes;
    } counted;
    void count(statistics& s) const {
        runtime_->count(s);
        s.evals = counted.evals;
        s.host_kernels = counted.host_kernels;
        s.dispatches = counted.dispatches;
        s.data_graphs = counted.data_graphs;
        s.written_bytes = counted.written_bytes;
        s.uploads = counted.uploads;
        s.uploaded_bytes = counted.uploaded_bytes;
        s.downloads = counted.downloads;
        s.downloaded_bytes = counted.downloaded_bytes;
    }

    /// Waits while more is queued than keeps a device busy, and while what is queued holds more
    /// memory than it may. Pre: the caller has no lock.
    void make_way() const {
        if (left_behind()) return;
        runtime_->release_compiler(std::chrono::seconds(10));
        // Submits: fewer where each holds several evaluations.
        const std::uint64_t most_ahead = runtime_->submitter().holds() ? 256 : 1024;
        const std::uint64_t last = runtime_->queue().submitted();
        const std::uint64_t until =
            std::max(last > most_ahead ? last - most_ahead : 0, runtime_->memory().far_ahead());
        if (until == 0 || runtime_->queue().reached(until)) return;
        lock_type held = lock();
        wait(until, held);
    }
    /// Waits without the lock. False if `stop` was asked for before.
    bool wait(std::uint64_t value, lock_type& held, stop_view stop = {}) const {
        const auto begin = profile_recorder::now_if(profiling_);
        bool reached = false;
        {
            struct opened {
                lock_type& held;
                explicit opened(lock_type& l) : held(l) { held.unlock(); }
                ~opened() { held.lock(); }
            } const meanwhile(held);
            reached = runtime_->queue().wait(value, stop);
        }
        if (profiling_) profiling_->add_since(begin, profile_recorder::on_host, "waiting");
        return reached;
    }

    // The rest: pre: the caller has the lock.

    /// The next submit, and so all later ones, runs after this point.
    void wait_before(const vulkan::semaphore_point& point) {
        runtime_->submitter().submit();  // what was asked for before does not wait
        waits_.push_back(point);
    }

    /// Nothing throws once the work is with the device, so whoever has pieces in it learns the
    /// value. `seen`: the host is to see what it writes into mapped memory.
    std::uint64_t submit(const vulkan::commands& buffer, bool seen = false) {
        const profile_scope submitting(profiling_, "submitting");
        const std::uint64_t value = runtime_->submitter().submit(buffer.handle(), waits_, seen);
        waits_.clear();
        counted.dispatches += buffer.dispatches();
        counted.data_graphs += buffer.data_graphs();
        return value;
    }
    /// Submits what was recorded for this once, with `times`.
    std::uint64_t submit_once(vulkan::commands&& buffer) {
        const std::uint64_t value = submit(buffer);
        if (timing_) timing_->submitted();
        runtime_->commands().give(std::move(buffer), value);
        return value;
    }

    /// The same to a queue that only copies, after what computes has reached `after`; its value
    /// there. What computes has to be told to wait for it (wait_before).
    std::uint64_t submit_once(vulkan_runtime::transfer& to, vulkan::commands&& buffer,
                              std::uint64_t after) {
        const vulkan::semaphore_point before{runtime_->queue().timeline().handle(), after};
        const span<const vulkan::semaphore_point> waits(&before, after > 0 ? 1 : 0);
        const std::uint64_t value = to.queue->submit(buffer.handle(), waits);
        if (timing_) timing_->submitted();
        to.commands.give(std::move(buffer), value);
        return value;
    }

    run_lists take_lists() noexcept { return std::move(lists_); }
    void give_lists(run_lists&& list) noexcept {
        list.clear();
        lists_ = std::move(list);
    }

    /// Orders commands by their hazards, with a barrier where one asks for it, and submits them, or
    /// has them submitted with what follows (vulkan_submitter). What is written over is lost from
    /// the submit on that begins to (storage::lost).
    std::uint64_t record(const array_list<command>& items, span<const ordered_item> accesses,
                         span<vulkan_storage* const> written_over = {}) {
        try {
            const std::uint64_t value = record_all(items, accesses, written_over);
            for (const command& i : items)
                if (i.upload_to) i.upload_to->on_device = true;
            return value;
        } catch (...) {
            open_.lose();
            throw;
        }
    }

    /// After it `all_is_seen` of so many accesses does not throw.
    void make_room(std::size_t accesses) { open_.make_room(accesses); }
    /// What was submitted last began with a barrier, and may have left these accesses open.
    void all_is_seen(const array_list<byte_range>& but = {}) {
        open_.clear();
        open_.add(but);
    }

    /// Brings a tensor to the device if it is only on the host: by a direct write where device
    /// memory is mapped, through staging otherwise.
    void upload(vulkan_storage& s, temporary_memory& temp, array_list<command>& items,
                ordered_items& accesses) {
        if (s.on_device || !s.host) return;
        s.allocate();
        if (s.piece.mapped) {
            std::memcpy(s.piece.mapped, s.host->data(), static_cast<std::size_t>(s.bytes));
            runtime_->memory().flush(s.piece, 0, static_cast<std::uint64_t>(s.bytes));
            s.on_device = true;
        } else {
            if (!temp.staged.insert(&s)) return;
            const vulkan::allocation staging =
                temp.get(static_cast<std::uint64_t>(s.bytes), vulkan::memory_usage::upload);
            std::memcpy(staging.mapped, s.host->data(), static_cast<std::size_t>(s.bytes));
            runtime_->memory().flush(staging, 0, static_cast<std::uint64_t>(s.bytes));
            items.push_back({nullptr, nullptr, 0, &s, staging});
            accesses.add().accesses.push_back(range_in(s.piece, 0, s.bytes, true));
        }
        ++counted.uploads;
        counted.uploaded_bytes += static_cast<std::uint64_t>(s.bytes);
    }
    /// Brings what is only on the host to the device. Others use the lane while it waits.
    void bring(const array_list<vulkan_storage*>& list, lock_type& held) {
        for (std::size_t i = 0; i < list.size();) {
            temporary_memory temp{runtime_->memory(), {}, 0};
            array_list<command> items;
            ordered_items accesses;
            // No more staging at a time than a copy needs to run at full speed.
            for (std::int64_t staged = 0; i < list.size() && staged < std::int64_t{64} << 20; ++i) {
                const std::size_t before = items.size();
                upload(*list[i], temp, items, accesses);
                if (items.size() != before) staged += list[i]->bytes;
            }
            if (items.empty()) continue;
            temp.value = record(items, accesses);
            for (const command& one : items)
                one.upload_to->last_use = one.upload_to->written = temp.value;
            if (i < list.size()) wait(temp.value, held);
        }
    }

    /// Null but for while a profile is at work.
    profile_recorder* profiling() const noexcept { return profiling_; }
    bool timed() const noexcept { return timing_ != nullptr; }
    /// Timestamps for the commands of the next submit, while the lane is profiled.
    template <class Describe>
    timestamps times(std::size_t commands, Describe&& what) {
        return timing_ ? timing_->reserve(commands, what) : timestamps{};
    }
    void begin_profile(profile_recorder& to) {
        runtime_->submitter().submit();  // what was asked for before is not timed
        timing_ = make_owned<vulkan_profiler>(runtime_->memory().queue());
        profiling_ = &to;
    }
    /// Returns without the lock, when all that was timed is done.
    void end_profile(profile_recorder& recorder, lock_type held) {
        const unique_ptr<vulkan_profiler> timing = std::move(timing_);
        const std::uint64_t last = runtime_->queue().submitted();
        profiling_ = nullptr;
        held.unlock();
        runtime_->queue().wait(last);
        for (const auto& t : runtime_->transfers()) t->queue->wait(t->queue->submitted());
        timing->give(recorder);
    }

private:
    std::uint64_t record_all(const array_list<command>& items, span<const ordered_item> accesses,
                             span<vulkan_storage* const> written_over) {
        profile_scope recording(profiling_, "recording");
        const array_list<placed_item>& order = arranger_.arrange(accesses, open_);
        const auto begin_to_write = [&](span<const placed_item> part) {
            for (vulkan_storage* const s : written_over)
                for (const placed_item& i : part)
                    s->lost |= !items[i.index].upload_to && writes(accesses[i.index], *s);
        };
        std::uint64_t value = 0;
        if (order.empty()) return value;
        if (runtime_->submitter().holds() && !timing_ && waits_.empty()) {
            held_.clear();
            held_.make_room(order.size());
            for (const placed_item& i : order) held_.push_back(to_hold(items[i.index], i.barrier));
            value = runtime_->submitter().hold(held_);
            for (const held_command& c : held_) {
                counted.dispatches += c.dispatches();
                counted.data_graphs += c.is_graph();
            }
            begin_to_write(order);
        } else {
            const std::size_t most = one_by_one_ ? 1 : order.size();
            try {
                for (std::size_t at = 0; at < order.size(); at += most) {
                    const auto part = span(order).subspan(at, most);
                    vulkan::commands buffer = runtime_->commands().take();
                    buffer.begin();
                    record_commands(buffer, items, part, times(part.size(), [&](std::size_t i) {
                                        return vulkan_profiler::about(items[part[i].index]);
                                    }));
                    buffer.end();
                    if (at + most >= order.size()) recording.end();
                    value = submit_once(std::move(buffer));
                    begin_to_write(part);
                }
            } catch (...) {
                if (value != 0) runtime_->queue().wait_idle();  // nobody else knows what is in use
                throw;
            }
        }
        return value;
    }
    static bool writes(const ordered_item& item, const vulkan_storage& s) noexcept {
        const byte_range whole = range_in(s.piece, 0, s.bytes, true);
        for (const byte_range& a : item.accesses)
            if (a.write && overlaps(a, whole)) return true;
        return false;
    }

    mutable process_mutex mutex_{true};
    std::shared_ptr<vulkan_runtime> runtime_;
    bool one_by_one_;
    hazard_tracker open_;  // what was recorded without a barrier behind
    arranger arranger_;
    run_lists lists_;
    array_list<held_command> held_;              // of the commands at hand
    array_list<vulkan::semaphore_point> waits_;  // of the next submit
    profile_recorder* profiling_ = nullptr;
    unique_ptr<vulkan_profiler> timing_;
};

}}  // namespace pumice::PUMICE_ABI
