// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Device memory: pieces of large blocks, given back when the queue's timeline has passed their last
// use.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/memory_holders.hpp>
#include <pumice/base/unique_ptr.hpp>
#include <pumice/vk/allocation.hpp>
#include <pumice/vk/queue.hpp>

#include <algorithm>
#include <mutex>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// Thread-safe. Destroying it waits for the queue and destroys all blocks.
class memory {
public:
    explicit memory(std::shared_ptr<vulkan::queue> queue, const memory_options& options = {})
        : queue_(std::move(queue)), options_(options) {
        const device_info& info = queue_->device()->info();
        if (options_.keep == ~std::uint64_t{0})
            options_.keep = static_cast<std::uint64_t>(info.memory) / 4;
        if (options_.ahead == 0) {
            const std::uint64_t has =
                info.memory > 0 ? static_cast<std::uint64_t>(info.memory) : options_.limit;
            options_.ahead = std::min(std::min(options_.limit, has) / 8, std::uint64_t{1} << 30);
        }
        largest_ = options_.largest;
        for (const std::int64_t limit : {info.max_allocation, info.max_buffer})
            if (limit > 0) largest_ = std::min(largest_, static_cast<std::uint64_t>(limit));
        // `ranges` counts in 32 bits, so a block ends below 1 TiB.
        largest_ = std::min(largest_, std::uint64_t{ranges::none} * unit) / unit * unit;
        // no block takes so much of the limit that other usages have none
        const std::uint64_t most = std::min(largest_, options_.limit / 8);
        for (std::uint64_t& size : options_.block_size)
            size = std::max(std::min(size, most) / unit * unit, unit);
    }
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;
    ~memory() { queue_->wait_idle(); }

    /// At least 256 bytes, also for a size of 0; the contents are arbitrary. Throws
    /// errc::size_overflow above a device limit, errc::out_of_memory when the heap, the budget or
    /// the driver has no more (after everything that can be given back was), with those who hold
    /// most; errc::device_lost. `label` says for whom it is.
    allocation allocate(std::uint64_t size, memory_usage usage, const memory_label& label) {
        queue_->device()->check_alive("vkAllocateMemory");
        check_limits(size, usage, label);
        const std::uint64_t bytes = rounded(size);
        std::unique_lock lock(mutex_);
        make_room_to_wait();
        // A call of the driver's takes longer than all else here, so what is known comes first.
        collect(queue_->timeline().known());
        if (const allocation found = take(size, bytes, usage, label)) return found;
        collect();
        std::vector<std::string> why;
        for (int attempt = 0;; ++attempt) {
            if (const allocation found = take(size, bytes, usage, label)) return found;
            why.clear();
            if (add_block(bytes, usage, attempt > 0, why)) continue;
            if (attempt == 0) {
                trim_unused(0);
            } else if (attempt == 1 && !waiting_.empty()) {
                // Work in flight still holds memory: that of everything so far will come back.
                const std::uint64_t until = queue_->promised();
                lock.unlock();
                queue_->wait(until);
                lock.lock();
                make_room_to_wait();
                collect();
                trim_unused(0);
            } else {
                break;
            }
        }
        why.push_back(cat({"Pumice holds ", total_.reserved, " bytes in ", total_.blocks,
                           " blocks, ", total_.in_use, " of them in use"}));
        memory_holders holders;
        for (const auto& blocks : blocks_)
            for (const auto& block : blocks)
                block->room.each_used([&](const memory_label& by, std::uint32_t units) {
                    if (by.role != given_back) holders.add(by, std::uint64_t{units} * unit);
                });
        holders.describe(why);
        throw error(errc::out_of_memory, "memory",
                    cat({"no room for ", size, " bytes of ", to_string(usage), " memory on ",
                         queue_->device()->info().name, ", for ", to_string(label)}),
                    std::move(why));
    }
    allocation allocate(std::uint64_t size, memory_usage usage) {
        return allocate(size, usage, usual_label(usage));
    }

    /// The same for memory that later submits use first, with a barrier after what earlier ones did
    /// to it: a large piece may be one that was given back `in_order` while they are at work, so
    /// that a queue full of large results takes no more memory than one after the other.
    allocation allocate_in_order(std::uint64_t size, memory_usage usage,
                                 const memory_label& label) {
        const std::uint64_t bytes = rounded(size);
        if (is_large(bytes, usage)) {
            const std::lock_guard lock(mutex_);
            make_room_to_wait();
            collect();
            if (const allocation found = take(size, bytes, usage, label)) return found;
            if (const allocation found = take_waiting(size, bytes, usage, label)) return found;
        }
        return allocate(size, usage, label);
    }
    allocation allocate_in_order(std::uint64_t size, memory_usage usage) {
        return allocate_in_order(size, usage, usual_label(usage));
    }

    /// A piece is held for another from now on.
    void relabel(const allocation& piece, const memory_label& label) noexcept {
        if (!piece) return;
        const std::lock_guard lock(mutex_);
        const std::uint64_t bytes = bytes_of(piece);
        total_.held[piece.block->room.label(piece.node).role] -= bytes;
        total_.held[label.role] += bytes;
        piece.block->room.set_label(piece.node, label);
    }

    /// Gives a piece back once the queue's timeline has reached `value`; 0: if it was idle when it
    /// was handed out, at once. `in_order`: who submits knows of all uses of it that have no
    /// barrier behind.
    void free(const allocation& piece, std::uint64_t value = 0, bool in_order = false) noexcept {
        if (!piece || queue_->device()->left_behind()) return;
        const std::lock_guard lock(mutex_);
        value = std::max(value, piece.busy);
        ranges& room = piece.block->room;
        total_.held[room.label(piece.node).role] -= bytes_of(piece);
        room.set_label(piece.node, {given_back, {}});
        if (value <= queue_->timeline().known() || queue_->device()->lost())
            return release(piece.block, piece.node, bytes_of(piece));
        const waiting given{value, piece.block, piece.node, in_order, bytes_of(piece)};
        waiting_.push_back(given);
        std::push_heap(waiting_.begin(), waiting_.end());
        total_.waiting += given.bytes;
        if (!waits_in_order(given)) ahead_ += given.bytes;
    }

    /// Bytes of what was given back that may wait for the device.
    std::uint64_t most_ahead() const noexcept { return options_.ahead; }
    /// Where more waits: the timeline's value after which it is half of that, else 0. What can be
    /// handed out again meanwhile does not count.
    std::uint64_t far_ahead() {
        const std::lock_guard lock(mutex_);
        if (ahead_ <= options_.ahead) return 0;
        collect();
        if (ahead_ <= options_.ahead) return 0;
        array_list<waiting> list = waiting_;
        std::uint64_t left = ahead_, value = 0;
        while (!list.empty() && left > options_.ahead / 2) {
            std::pop_heap(list.begin(), list.end());
            if (!waits_in_order(list.back())) left -= list.back().bytes;
            value = list.back().value;
            list.pop_back();
        }
        return value;
    }

    /// Makes host writes visible to the device, or device writes to the host; nothing to do on
    /// coherent memory.
    void flush(const allocation& piece, std::uint64_t offset, std::uint64_t size) const {
        if (piece.coherent || size == 0) return;
        const vk::MappedMemoryRange range = range_of(piece, offset, size);
        const device& d = *queue_->device();
        d.check(d.handle().flushMappedMemoryRanges(1, &range, d.table()),
                "vkFlushMappedMemoryRanges");
    }
    void invalidate(const allocation& piece, std::uint64_t offset, std::uint64_t size) const {
        if (piece.coherent || size == 0) return;
        const vk::MappedMemoryRange range = range_of(piece, offset, size);
        const device& d = *queue_->device();
        d.check(d.handle().invalidateMappedMemoryRanges(1, &range, d.table()),
                "vkInvalidateMappedMemoryRanges");
    }

    /// Takes back what the device has finished with, and returns unused blocks beyond `keep` bytes
    /// to the driver: so many bytes.
    std::uint64_t trim(std::uint64_t keep = 0) {
        const std::lock_guard lock(mutex_);
        const std::uint64_t before = total_.reserved;
        collect();
        trim_unused(keep);
        return before - total_.reserved;
    }

    memory_stats stats() const {
        const std::lock_guard lock(mutex_);
        memory_stats now = total_;
        now.held.pooled = now.reserved - (now.in_use - now.waiting);
        return now;
    }

    /// The largest size that `allocate` can give.
    std::uint64_t largest() const noexcept { return largest_; }

    const std::shared_ptr<vulkan::queue>& queue() const noexcept { return queue_; }

private:
    static constexpr std::uint64_t unit = detail::memory_block::unit;
    /// Of pieces that wait for the device; counted nowhere.
    static constexpr memory_role given_back{memory_roles};

    struct waiting {
        std::uint64_t value;
        detail::memory_block* block;
        std::uint32_t node;
        bool in_order;
        std::uint64_t bytes;
        friend bool operator<(const waiting& a, const waiting& b) noexcept {
            return a.value > b.value;
        }
    };

    /// It can be handed out again while the device is at work on it (take_waiting).
    static bool waits_in_order(const waiting& w) noexcept {
        return w.in_order && w.block->dedicated;
    }

    /// For one piece more than there are, so that `free` needs no memory.
    void make_room_to_wait() {
        waiting_.make_room(static_cast<std::size_t>(total_.allocations) + 1 - waiting_.size());
    }

    void check_limits(std::uint64_t size, memory_usage usage, const memory_label& label) const {
        if (size <= largest_) return;
        const device_info& info = queue_->device()->info();
        std::vector<std::string> passed;
        const auto check = [&](const char* what, std::uint64_t limit) {
            if (limit > 0 && size > limit) passed.push_back(cat({what, ": ", limit, " bytes"}));
        };
        check("largest allocation (policy allocation_limit)", options_.largest);
        check("max allocation (maxMemoryAllocationSize)",
              static_cast<std::uint64_t>(std::max<std::int64_t>(info.max_allocation, 0)));
        check("max buffer (maxBufferSize)",
              static_cast<std::uint64_t>(std::max<std::int64_t>(info.max_buffer, 0)));
        if (passed.empty()) check("largest block", largest_);
        throw error(errc::size_overflow, "memory",
                    cat({size, " bytes of ", to_string(usage), " memory, for ", to_string(label),
                         ", pass a limit of ", info.name}),
                    std::move(passed));
    }

    bool is_large(std::uint64_t bytes, memory_usage usage) const noexcept {
        return bytes > options_.block_size[static_cast<std::size_t>(usage)] / 4;
    }

    /// A piece of a block that is there; empty if none has room.
    allocation take(std::uint64_t size, std::uint64_t bytes, memory_usage usage,
                    const memory_label& label) {
        const bool large = is_large(bytes, usage);
        detail::memory_block* best = nullptr;
        for (const auto& block : blocks_[static_cast<std::size_t>(usage)]) {
            if (block->dedicated != large) continue;
            if (!large) {
                const auto found = block->room.allocate(static_cast<std::uint32_t>(bytes / unit));
                if (found.node != ranges::none) return hand_out(*block, found, size, bytes, label);
            } else if (block->room.unused() && fits(*block, bytes) &&
                       (!best || block->size < best->size)) {
                best = block.get();
            }
        }
        if (!best) return {};
        return hand_out(*best, best->room.allocate(best->room.size()), size, best->size, label);
    }

    /// A kept block may be larger by a quarter at most.
    static bool fits(const detail::memory_block& block, std::uint64_t bytes) noexcept {
        return block.size >= bytes && block.size - bytes <= bytes / 4;
    }

    /// A large piece that was given back and that submitted work still uses.
    allocation take_waiting(std::uint64_t size, std::uint64_t bytes, memory_usage usage,
                            const memory_label& label) {
        const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const waiting& w) {
            return waits_in_order(w) && w.block->usage == usage && fits(*w.block, bytes) &&
                   w.value <= queue_->promised();
        });
        if (found == waiting_.end()) return {};
        const waiting old = *found;
        *found = waiting_.back();
        waiting_.pop_back();
        std::make_heap(waiting_.begin(), waiting_.end());
        total_.waiting -= old.bytes;
        total_.in_use -= old.bytes;
        total_.allocations -= 1;
        old.block->room.release(old.node);
        unused_ += old.block->size;
        allocation piece = hand_out(*old.block, old.block->room.allocate(old.block->room.size()),
                                    size, old.bytes, label);
        piece.busy = old.value;
        return piece;
    }

    allocation hand_out(detail::memory_block& block, ranges::range found, std::uint64_t size,
                        std::uint64_t bytes, const memory_label& label) {
        block.room.set_label(found.node, label);
        total_.held[label.role] += bytes;
        if (block.room.free_units() + bytes / unit == block.room.size()) unused_ -= block.size;
        total_.in_use += bytes;
        total_.high_water = std::max(total_.high_water, total_.in_use);
        total_.allocations += 1;
        allocation piece;
        piece.buffer = static_cast<VkBuffer>(block.buffer);
        piece.offset = found.offset * unit;
        piece.size = size;
        piece.device_address = block.address + piece.offset;
        piece.mapped = block.mapped ? block.mapped + piece.offset : nullptr;
        piece.usage = block.usage;
        piece.coherent = block.coherent;
        piece.block = &block;
        piece.node = found.node;
        return piece;
    }

    bool add_block(std::uint64_t bytes, memory_usage usage, bool scarce,
                   std::vector<std::string>& why) {
        const bool large = is_large(bytes, usage);
        std::uint64_t size = options_.block_size[static_cast<std::size_t>(usage)];
        // rounded a little, so that requests of near sizes can follow each other in a kept block
        if (large) {
            const std::uint64_t step =
                std::clamp<std::uint64_t>(std::bit_floor(bytes) / 16, unit, 2u << 20);
            size = (bytes + step - 1) / step * step;
        }
        if (scarce || size > largest_) size = bytes;
        if (size > options_.limit || total_.reserved > options_.limit - size) {
            why.push_back(cat({"the limit of this memory, ", options_.limit,
                               " bytes (the device's, or pm::memory_limit), is reached"}));
            return false;
        }
        if (total_.blocks >= queue_->device()->limits().maxMemoryAllocationCount) {
            why.push_back(cat({"the device allows ", total_.blocks,
                               " allocations (limit: maxMemoryAllocationCount)"}));
            return false;
        }
        auto& blocks = blocks_[static_cast<std::size_t>(usage)];
        blocks.reserve(blocks.size() + 1);
        auto made = detail::memory_block::create(*queue_->device(), usage, size, why);
        if (!made) return false;
        made->dedicated = large;
        total_.reserved += size;
        total_.blocks += 1;
        unused_ += size;
        blocks.push_back(std::move(made));
        return true;
    }

    /// Takes back what the device has finished with: what was known, where it cannot tell. A lost
    /// device has finished with everything.
    void collect() noexcept {
        if (waiting_.empty()) return;
        std::uint64_t reached = queue_->timeline().known();
        try {
            if (!queue_->device()->lost()) reached = queue_->completed();
        } catch (...) {
        }
        if (queue_->device()->lost()) reached = ~std::uint64_t{0};
        collect(reached);
    }
    void collect(std::uint64_t reached) noexcept {
        while (!waiting_.empty() && waiting_.front().value <= reached) {
            std::pop_heap(waiting_.begin(), waiting_.end());
            const waiting done = waiting_.back();
            waiting_.pop_back();
            total_.waiting -= done.bytes;
            if (!waits_in_order(done)) ahead_ -= done.bytes;
            release(done.block, done.node, done.bytes);
        }
    }

    void release(detail::memory_block* block, std::uint32_t node, std::uint64_t bytes) noexcept {
        block->room.release(node);
        total_.in_use -= bytes;
        total_.allocations -= 1;
        if (!block->room.unused()) return;
        unused_ += block->size;
        if (unused_ > options_.keep) trim_unused(options_.keep);
    }

    /// Destroys unused blocks, the newest first, until at most `keep` bytes lie in such.
    void trim_unused(std::uint64_t keep) noexcept {
        for (auto& blocks : blocks_)
            for (std::size_t i = blocks.size(); i-- > 0 && unused_ > keep;) {
                if (!blocks[i]->room.unused()) continue;
                unused_ -= blocks[i]->size;
                total_.reserved -= blocks[i]->size;
                total_.blocks -= 1;
                blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i));
            }
    }

    static std::uint64_t rounded(std::uint64_t size) noexcept {
        return std::max((size + unit - 1) / unit * unit, unit);
    }
    static std::uint64_t bytes_of(const allocation& piece) noexcept {
        return piece.block->dedicated ? piece.block->size : rounded(piece.size);
    }

    vk::MappedMemoryRange range_of(const allocation& piece, std::uint64_t offset,
                                   std::uint64_t size) const noexcept {
        PUMICE_ASSERT(offset + size <= piece.size);
        // Whole units around the range: nonCoherentAtomSize is at most 256, and so a divisor of
        // both ends.
        const std::uint64_t first = (piece.offset + offset) / unit * unit;
        const std::uint64_t last = (piece.offset + offset + size + unit - 1) / unit * unit;
        vk::MappedMemoryRange range{};
        range.memory = piece.block->memory;
        range.offset = first;
        range.size = last - first;
        return range;
    }

    std::shared_ptr<vulkan::queue> queue_;
    memory_options options_;
    std::uint64_t largest_ = 0;
    mutable std::mutex mutex_;
    array_list<unique_ptr<detail::memory_block>> blocks_[memory_usages];
    array_list<waiting> waiting_;  // a heap, the earliest value in front
    std::uint64_t unused_ = 0;     // bytes in blocks of which nothing is handed out
    std::uint64_t ahead_ = 0;      // of what waits and cannot be handed out meanwhile
    memory_stats total_;
};

}}}  // namespace pumice::PUMICE_ABI::vulkan
