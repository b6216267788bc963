// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Memory of a tensor that knows where it is valid: host, device or both.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/key_map.hpp>
#include <pumice/base/thread_cache.hpp>
#include <pumice/base/unique_ptr.hpp>
#include <pumice/exec/vulkan/runtime.hpp>
#include <pumice/host/memory.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Bytes up to which the host reads mapped memory across the bus sooner than the device copies it.
inline constexpr std::int64_t most_read_in_place = 512;

/// Fields are guarded by the lane's lock, but for destruction, which any thread may do.
class vulkan_storage final : public storage {
public:
    /// A copy of the label's name is kept where `names`.
    static std::shared_ptr<vulkan_storage> make(const std::shared_ptr<vulkan_runtime>& runtime,
                                                std::int64_t size, const memory_label& held_by,
                                                bool names = false) {
        return std::allocate_shared<vulkan_storage>(
            detail::thread_cache_allocator<vulkan_storage>(), runtime, size, held_by, names);
    }
    vulkan_storage(const std::shared_ptr<vulkan_runtime>& runtime, std::int64_t size,
                   const memory_label& held_by = {}, bool names = false)
        : bytes(size), name(names ? held_by.name : std::string_view()), label(held_by),
          runtime_(runtime) {
        if (names) label.name = name;
    }
    vulkan_storage(const vulkan_storage&) = delete;
    vulkan_storage& operator=(const vulkan_storage&) = delete;
    ~vulkan_storage() override {
        if (piece) runtime_->memory().free(piece, last_use, !untracked);
    }

    /// Gets device memory if there is none yet. Throws errc::out_of_memory.
    void allocate() {
        if (!piece.buffer)
            piece = runtime_->memory().allocate(static_cast<std::uint64_t>(bytes),
                                                vulkan::memory_usage::device, label);
    }
    /// The same for what a kernel writes before anybody else touches it.
    void allocate_result() {
        piece = runtime_->memory().allocate_in_order(static_cast<std::uint64_t>(bytes),
                                                     vulkan::memory_usage::device, label);
    }
    /// The memory is held for another role from now on. A new name in the same role is not told:
    /// it would take the pool's lock in each evaluation.
    void becomes(const memory_label& now) noexcept {
        if (label.role == now.role) return;
        label = now;
        runtime_->memory().relabel(piece, now);
    }

    /// The memory is the user's.
    bool borrowed() const noexcept { return piece.device_address != 0 && !piece.block; }

    std::int64_t bytes;
    const std::string name;        // the label's, where it is nobody else's
    memory_label label;            // who holds it
    vulkan::allocation piece;      // device memory, or nothing; the user's has no block
    unique_ptr<host_memory> host;  // a copy on the host, or nothing
    bool on_device = false;        // `piece` holds the values (once `written` is reached)
    bool host_sees = false;        // what wrote `piece` made it visible to a host that maps it
    bool was_read = false;         // by the host, in place
    bool untracked = false;        // somebody reads it of whom no hazard tells
    std::uint64_t written = 0;     // timeline value of the last device write
    std::uint64_t last_use = 0;    // of the last submit that touches `piece`

private:
    std::shared_ptr<vulkan_runtime> runtime_;
};

/// Device memory that goes back when the scope ends, whatever happens.
struct temporary_memory {
    vulkan::memory& pool;
    array_list<vulkan::allocation> pieces;
    std::uint64_t value = 0;
    key_set<const vulkan_storage*> staged = {};  // what pieces were taken to upload
    vulkan::allocation get(std::uint64_t size, vulkan::memory_usage usage) {
        pieces.make_room(1);  // so that no piece is had and then lost
        pieces.push_back(pool.allocate(size, usage));
        return pieces.back();
    }
    void let_go() noexcept {
        for (const vulkan::allocation& p : pieces) pool.free(p, value);
        pieces.clear();
    }
    ~temporary_memory() { let_go(); }
};

}}  // namespace pumice::PUMICE_ABI
