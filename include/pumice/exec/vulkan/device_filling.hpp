// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Bytes of files on their way to device memory: to where it is mapped, else through a ring of
// staging memory, where threads fill one piece while the device copies those before. Where the
// device has queues that only copy, they do, by turns, and what it computes goes on.
#pragma once

#include <pumice/exec/vulkan/host_access.hpp>
#include <pumice/host/read_parts.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Pre: nobody else uses the tensors, and they have their memory. Others use the lane meanwhile.
class device_filling {
public:
    explicit device_filling(vulkan_lane& lane)
        : lane_(lane), runtime_(*lane.runtime()), staging_{runtime_.memory(), {}, 0},
          copied_(runtime_.transfers().size()) {}
    device_filling(const device_filling&) = delete;
    device_filling& operator=(const device_filling&) = delete;
    /// Where it failed half way, nothing else knows what copies are in flight.
    ~device_filling() {
        for (const copies& c : copied_)
            if (c.to) c.to->queue->wait_idle();
    }

    void run(const array_list<filling>& list) {
        std::int64_t staged = 0;
        for (const filling& f : list)
            if (const vulkan_storage& s = memory_of(*f.to); s.piece.buffer && !s.piece.mapped)
                staged += (s.bytes + alignment - 1) / alignment * alignment;
        piece_bytes_ = std::min(staged, most_staged);
        for (const filling& f : list) {
            vulkan_storage& s = memory_of(*f.to);
            if (s.piece.mapped)
                parts_.add(*f.from, 0, s.bytes, static_cast<std::byte*>(s.piece.mapped));
        }
        parts_.read(runtime_.threads(), !lane_.device().unified_memory);
        for (const filling& f : list) {
            vulkan_storage& s = memory_of(*f.to);
            if (!s.piece.buffer) continue;  // of no bytes
            if (s.piece.mapped)
                runtime_.memory().flush(s.piece, 0, static_cast<std::uint64_t>(s.bytes));
            else stage(s, *f.from);
        }
        submit();
        const vulkan_lane::lock_type lock = lane_.lock();
        hand_over(list);
        for (const filling& f : list) {
            vulkan_storage& s = memory_of(*f.to);
            if (!s.piece.buffer) continue;
            s.on_device = true;
            s.lost = false;
            ++lane_.counted.uploads;
            lane_.counted.uploaded_bytes += static_cast<std::uint64_t>(s.bytes);
        }
    }

private:
    static constexpr std::int64_t alignment = 64, most_staged = 8 << 20;

    struct ring_piece {
        vulkan::allocation memory;
        const vulkan::queue* queue = nullptr;
        std::uint64_t value = 0;  // of the queue's submit that copies from it
    };
    /// Of a queue that only copies.
    struct copies {
        vulkan_runtime::transfer* to = nullptr;  // null: it was given none
        std::uint64_t value = 0;                 // of the last submit
    };
    struct move {
        vulkan_storage* to;
        vulkan::copy_region what;
    };

    void stage(vulkan_storage& s, const byte_source& from) {
        for (std::int64_t at = 0; at < s.bytes;) {
            if (used_ == piece_bytes_) submit();
            if (moves_.empty()) open();
            const std::int64_t n = std::min(s.bytes - at, piece_bytes_ - used_);
            parts_.add(from, at, n, static_cast<std::byte*>(ring_[now_].memory.mapped) + used_);
            moves_.push_back({&s,
                              {static_cast<std::uint64_t>(used_), static_cast<std::uint64_t>(at),
                               static_cast<std::uint64_t>(n)}});
            at += n;
            used_ += (n + alignment - 1) / alignment * alignment;
        }
    }
    /// Takes the next piece of the ring, when the device has copied what was in it.
    void open() {
        now_ = (now_ + 1) % std::size(ring_);
        ring_piece& p = ring_[now_];
        if (!p.memory)
            p.memory = staging_.get(static_cast<std::uint64_t>(piece_bytes_),
                                    vulkan::memory_usage::upload);
        if (p.queue) p.queue->wait(p.value);
        used_ = 0;
    }
    /// Fills the piece at hand and hands it to the device.
    void submit() {
        if (moves_.empty()) return;
        parts_.read(runtime_.threads());
        ring_piece& p = ring_[now_];
        runtime_.memory().flush(p.memory, 0, static_cast<std::uint64_t>(used_));
        const vulkan_lane::lock_type lock = lane_.lock();
        if (copied_.empty()) {
            vulkan::commands buffer = runtime_.commands().take();
            record(buffer, runtime_.queue(), p);
            p.queue = &runtime_.queue();
            p.value = staging_.value = lane_.submit_once(std::move(buffer));
            for (const move& m : moves_) m.to->written = m.to->last_use = p.value;
        } else {
            turn_ = (turn_ + 1) % copied_.size();
            vulkan_runtime::transfer& to = *runtime_.transfers()[turn_];
            vulkan::commands buffer = to.commands.take();
            record(buffer, *to.queue, p);
            std::uint64_t busy = 0;
            for (const move& m : moves_) busy = std::max(busy, m.to->piece.busy);
            copied_[turn_].to = &to;
            p.queue = to.queue.get();
            p.value = copied_[turn_].value = lane_.submit_once(to, std::move(buffer), busy);
        }
        moves_.clear();
        used_ = 0;
    }
    void record(vulkan::commands& buffer, const vulkan::queue& on, const ring_piece& from) {
        buffer.begin();
        timestamps times;
        if (on.timestamp_bits() == runtime_.queue().timestamp_bits())
            times = lane_.times(1, [&](auto) { return vulkan_profiler::timed{"upload", used_}; });
        if (times.count > 0) {
            if (copied_.empty()) buffer.reset(*times.pool, times.first, 2);
            else times.pool->reset(times.first, 2);  // a queue that only copies cannot
            buffer.timestamp(*times.pool, times.first);
        }
        for (const move& m : moves_) buffer.copy(from.memory, m.to->piece, m.what);
        if (times.count > 0) buffer.timestamp(*times.pool, times.first + 1);
        if (copied_.empty()) buffer.barrier(vulkan::scope::transfer, any_access);
        buffer.end();
    }
    /// What computes waits, from now on, for what only copies. Pre: the lane's lock is held.
    void hand_over(const array_list<filling>& list) {
        bool found = false;
        for (const copies& c : copied_) {
            if (!c.to) continue;
            lane_.wait_before({c.to->queue->timeline().handle(), c.value});
            found = true;
        }
        if (!found) return;
        vulkan::commands buffer = runtime_.commands().take();
        buffer.begin();
        buffer.end();
        staging_.value = lane_.submit_once(std::move(buffer));
        for (const filling& f : list) {
            vulkan_storage& s = memory_of(*f.to);
            if (s.piece.buffer && !s.piece.mapped) s.written = s.last_use = staging_.value;
        }
        for (copies& c : copied_) c.to = nullptr;
    }

    vulkan_lane& lane_;
    vulkan_runtime& runtime_;
    temporary_memory staging_;
    array_list<copies> copied_;
    std::size_t turn_ = 0;  // the queue that copied last
    ring_piece ring_[4];
    std::size_t now_ = 0;
    std::int64_t piece_bytes_ = 0, used_ = 0;  // of a piece of the ring; of that at hand
    array_list<move> moves_;
    read_parts parts_;
};

}}  // namespace pumice::PUMICE_ABI
