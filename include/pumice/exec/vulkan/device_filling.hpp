// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Bytes of files on their way to device memory: to where it is mapped, else through a ring of
// staging memory, where threads fill one piece while the device copies those before.
#pragma once

#include <pumice/exec/vulkan/host_access.hpp>
#include <pumice/host/read_parts.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Pre: nobody else uses the tensors, and they have their memory. Others use the lane meanwhile.
class device_filling {
public:
    explicit device_filling(vulkan_lane& lane)
        : lane_(lane), runtime_(*lane.runtime()), staging_{runtime_.memory(), {}, 0} {}

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
        std::uint64_t value = 0;  // of the submit that copies from it
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
            p.memory =
                staging_.get(static_cast<std::uint64_t>(piece_bytes_), vulkan::memory_kind::upload);
        runtime_.queue().wait(p.value);
        used_ = 0;
    }
    /// Fills the piece at hand and hands it to the device.
    void submit() {
        if (moves_.empty()) return;
        parts_.read(runtime_.threads());
        ring_piece& p = ring_[now_];
        runtime_.memory().flush(p.memory, 0, static_cast<std::uint64_t>(used_));
        const vulkan_lane::lock_type lock = lane_.lock();
        vulkan::commands buffer = runtime_.commands().take();
        buffer.begin();
        const timestamps times =
            lane_.times(1, [&](auto) { return vulkan_profiler::timed{"upload", used_}; });
        if (times.count > 0) {
            buffer.reset(*times.pool, times.first, 2);
            buffer.timestamp(*times.pool, times.first);
        }
        for (const move& m : moves_) buffer.copy(p.memory, m.to->piece, m.what);
        if (times.count > 0) buffer.timestamp(*times.pool, times.first + 1);
        buffer.barrier(vulkan::scope::transfer, any_access);
        buffer.end();
        p.value = staging_.value = lane_.submit_once(std::move(buffer));
        for (const move& m : moves_) m.to->written = m.to->last_use = p.value;
        moves_.clear();
        used_ = 0;
    }

    vulkan_lane& lane_;
    vulkan_runtime& runtime_;
    temporary_memory staging_;
    ring_piece ring_[4];
    std::size_t now_ = 0;
    std::int64_t piece_bytes_ = 0, used_ = 0;  // of a piece of the ring; of that at hand
    array_list<move> moves_;
    read_parts parts_;
};

}}  // namespace pumice::PUMICE_ABI
