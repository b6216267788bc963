// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The host device's memory: aligned, and large blocks are kept for the next tensor of their size.
#pragma once

#include <pumice/base/error.hpp>
#include <pumice/base/huge_pages.hpp>
#include <pumice/base/lock.hpp>
#include <pumice/base/memory_holders.hpp>
#include <pumice/base/thread_cache.hpp>
#include <pumice/graph/node.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace pumice { inline namespace PUMICE_ABI {

/// Large blocks: those that were let go last, since fresh pages cost more time than most loops over
/// them, and who holds the others. Thread-safe.
class host_pool {
public:
    static constexpr std::int64_t least = 128 << 10;  // smaller blocks are left to the C++ library
    static constexpr std::int64_t most_kept = 256 << 20;

    struct block {
        void* data = nullptr;
        std::int64_t size = 0;
        std::size_t holder = 0;  // its number
    };

    host_pool() = default;
    host_pool(const host_pool&) = delete;
    host_pool& operator=(const host_pool&) = delete;
    ~host_pool() {
        for (std::size_t i = 0; i < count_; ++i) ::operator delete(kept_[i].data);
    }

    /// At least `bytes`; no data where the host has none left.
    block take(std::int64_t bytes, const memory_label& label = {}) noexcept try {
        block b;
        {
            const small_lock lock(mutex_);
            for (std::size_t i = count_; i-- > 0;) {
                if (kept_[i].size < bytes || kept_[i].size > bytes + bytes / 4) continue;
                b = kept_[i];
                hold(b, label);
                take_out(i);
                return b;
            }
        }
        b = {detail::new_block(static_cast<std::size_t>(bytes)), bytes};
        if (!b.data) return b;
        struct undone {
            void* data;
            ~undone() { ::operator delete(data); }
        } undo{b.data};
        const small_lock lock(mutex_);
        hold(b, label);
        undo.data = nullptr;
        return b;
    } catch (const std::bad_alloc&) {
        return {};
    }
    /// Those that were kept longest make room.
    void give(const block& b) noexcept {
        std::array<void*, most_blocks> gone;
        std::size_t n = 0;
        {
            const small_lock lock(mutex_);
            holders_[b.holder] = {{}, 0, {}, free_holder_};
            free_holder_ = b.holder;
            if (b.size > most_kept) {
                gone[n++] = b.data;
            } else {
                for (; count_ == most_blocks || pooled_ + b.size > most_kept; take_out(0))
                    gone[n++] = kept_[0].data;
                kept_[count_++] = b;
                pooled_ += b.size;
            }
        }
        while (n > 0) ::operator delete(gone[--n]);
    }

    /// Gives back what is kept: so many bytes.
    std::uint64_t trim() noexcept {
        const small_lock lock(mutex_);
        while (count_ > 0) ::operator delete(kept_[--count_].data);
        return static_cast<std::uint64_t>(std::exchange(pooled_, 0));
    }
    memory_bytes held() const {
        const small_lock lock(mutex_);
        memory_bytes bytes;
        for (const holder& h : holders_) bytes[h.role] += static_cast<std::uint64_t>(h.bytes);
        bytes.pooled = static_cast<std::uint64_t>(pooled_);
        return bytes;
    }
    /// Who holds most, a line each.
    std::vector<std::string> describe() const {
        const small_lock lock(mutex_);
        memory_holders list;
        for (const holder& h : holders_)
            if (h.bytes > 0) list.add({h.role, h.name}, static_cast<std::uint64_t>(h.bytes));
        std::vector<std::string> lines;
        list.describe(lines);
        return lines;
    }

private:
    static constexpr std::size_t none = ~std::size_t{0};
    struct holder {
        memory_role role;
        std::int64_t bytes;  // 0: nobody
        std::string name;
        std::size_t next_free;
    };
    /// Of what is kept. Pre: the mutex is held.
    void take_out(std::size_t i) noexcept {
        pooled_ -= kept_[i].size;
        std::copy(kept_.begin() + i + 1, kept_.begin() + count_--, kept_.begin() + i);
    }
    /// Pre: the mutex is held. Throws std::bad_alloc and has changed nothing then.
    void hold(block& b, const memory_label& label) {
        holder fresh{label.role, b.size, std::string(label.name), none};
        if (free_holder_ == none) {
            b.holder = holders_.size();
            holders_.push_back(std::move(fresh));
            return;
        }
        b.holder = std::exchange(free_holder_, holders_[free_holder_].next_free);
        holders_[b.holder] = std::move(fresh);
    }

    mutable small_mutex mutex_;
    static constexpr std::size_t most_blocks = 16;
    std::array<block, most_blocks> kept_;  // the oldest first
    std::size_t count_ = 0;
    std::int64_t pooled_ = 0;
    array_list<holder> holders_;
    std::size_t free_holder_ = none;
};

/// Memory aligned to 64 bytes. Throws errc::out_of_memory.
class host_memory {
public:
    explicit host_memory(std::int64_t bytes, const std::shared_ptr<host_pool>& pool = nullptr,
                         const memory_label& label = {})
        : size_(bytes), room_{nullptr, bytes > most ? bytes : bytes + alignment} {
        if (pool && bytes >= host_pool::least) room_ = (pool_ = pool)->take(room_.size, label);
        else room_.data = detail::new_block(static_cast<std::size_t>(room_.size));
        if (!room_.data)
            throw error(errc::out_of_memory, "host",
                        cat({"the host has no ", bytes, " bytes for ", to_string(label)}),
                        pool ? pool->describe() : std::vector<std::string>());
        data_ = aligned(room_.data);
    }
    /// In `bytes + alignment` bytes that somebody else owns.
    host_memory(std::int64_t bytes, void* room) noexcept : size_(bytes), data_(aligned(room)) {}
    /// Somebody else's bytes, as they lie.
    struct as_they_lie {
        std::byte* data;
    };
    host_memory(std::int64_t bytes, as_they_lie theirs) noexcept
        : size_(bytes), data_(theirs.data) {}
    host_memory(const host_memory&) = delete;
    host_memory& operator=(const host_memory&) = delete;
    ~host_memory() {
        if (!room_.data) return;  // somebody else's
        if (pool_) pool_->give(room_);
        else ::operator delete(room_.data);
    }
    std::byte* data() const noexcept { return data_; }
    /// Copies as many bytes from `from`, or takes zeros where it is null.
    void fill(const void* from) noexcept {
        const auto n = static_cast<std::size_t>(size_);
        from ? std::memcpy(data_, from, n) : std::memset(data_, 0, n);
    }
    std::int64_t size() const noexcept { return size_; }

    static constexpr std::int64_t alignment = 64;

private:
    static std::byte* aligned(void* room) noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(room);
        return static_cast<std::byte*>(room) + (alignment - at % alignment) % alignment;
    }
    static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() - alignment;
    std::int64_t size_;
    host_pool::block room_;
    std::byte* data_ = nullptr;
    std::shared_ptr<host_pool> pool_;
};

namespace detail {
/// Allocates an object and `extra` bytes behind it, whose place it tells.
template <class T>
struct with_room {
    using value_type = T;
    std::int64_t extra;
    void** room;

    with_room(std::int64_t bytes, void** place) noexcept : extra(bytes), room(place) {}
    template <class U>
    with_room(const with_room<U>& other) noexcept : extra(other.extra), room(other.room) {}

    T* allocate(std::size_t n) {
        void* const p = thread_cache::take(n * sizeof(T) + static_cast<std::size_t>(extra));
        if (!p) fail(errc::out_of_memory, "host", {"the host has no ", extra, " bytes"});
        *room = static_cast<T*>(p) + n;
        return static_cast<T*>(p);
    }
    void deallocate(T* p, std::size_t n) noexcept {
        thread_cache::give(p, n * sizeof(T) + static_cast<std::size_t>(extra));
    }
    friend bool operator==(const with_room&, const with_room&) noexcept { return true; }
};
}  // namespace detail

class host_storage final : public storage {
public:
    template <class... Arguments>
    explicit host_storage(const Arguments&... arguments) : memory(arguments...) {}

    /// Small memory and what counts its users lie in one block.
    static std::shared_ptr<host_storage> make(std::int64_t bytes,
                                              const std::shared_ptr<host_pool>& pool,
                                              const memory_label& label) {
        if (bytes >= host_pool::least) return std::make_shared<host_storage>(bytes, pool, label);
        void* room = nullptr;
        return std::allocate_shared<host_storage>(
            detail::with_room<host_storage>(bytes + host_memory::alignment, &room), bytes, room);
    }

    host_memory memory;
};

/// Whether an evaluated node's values are at hand: not so of a traced input, and of what a run
/// lost.
inline bool has_values(const node& n) noexcept { return n.realised() && n.data && !n.data->lost; }

/// The memory of a realised tensor of the host's, and where its values begin in it, or the first of
/// a view.
inline std::byte* bytes_on_host(const node& n) noexcept {
    return static_cast<host_storage*>(n.data.get())->memory.data();
}
inline std::byte* first_value(const node& n) noexcept {
    return bytes_on_host(n) + byte_offset(n.type, n.offset);
}

}}  // namespace pumice::PUMICE_ABI
