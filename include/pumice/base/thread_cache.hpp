// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Small blocks of memory that a thread has just given back, for what it makes next.
#pragma once

#include <pumice/base/config.hpp>
#include <pumice/base/huge_pages.hpp>

#include <cstddef>
#include <new>
#include <utility>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// A few blocks of one thread. Whoever computes the same again asks for the same sizes again, and
/// the C++ library takes ten times longer to find them. AddressSanitizer sees every block come and
/// go.
class thread_cache {
public:
    static constexpr std::size_t largest = 256 << 10;

    /// Memory for `size` bytes, or null where there is none.
    static void* take(std::size_t size) noexcept {
        thread_cache& r = mine;
        for (std::size_t i = r.count_; i-- > 0;)
            if (r.kept_[i].size == size) {
                void* const found = r.kept_[i].data;
                if (i != --r.count_) r.kept_[i] = r.kept_[r.count_];
                return found;
            }
        return new_block(size);
    }
    /// What take gave for the same size, by whichever thread.
    static void give(void* data, std::size_t size) noexcept {
        thread_cache& r = mine;
        if (size <= largest && r.state_ == state::watched && r.count_ < most)
            r.kept_[r.count_++] = {data, size};
        else r.give_rarely({data, size});
    }

    /// Gives back what this thread keeps: so many bytes.
    static std::size_t trim() noexcept {
        std::size_t bytes = 0;
        for (thread_cache& r = mine; r.count_ > 0;) {
            const block& last = r.kept_[--r.count_];
            bytes += last.size;
            ::operator delete(last.data);
        }
        return bytes;
    }

private:
#if defined(__SANITIZE_ADDRESS__)
    static constexpr bool watched_by_sanitizer = true;
#elif defined(__has_feature)
    static constexpr bool watched_by_sanitizer = __has_feature(address_sanitizer);
#else
    static constexpr bool watched_by_sanitizer = false;
#endif
    enum class state : unsigned char { fresh, watched, closed };
    struct block {
        void* data;
        std::size_t size;
    };
    struct closer {
        ~closer() {
            while (mine.count_ > 0) ::operator delete(mine.kept_[--mine.count_].data);
            mine.state_ = state::closed;
        }
    };

    /// The first block of a thread, one that is too large, and one for which another has to go.
    [[gnu::noinline]] void give_rarely(block fresh) noexcept {
        if (fresh.size > largest || (state_ != state::watched && !watch()))
            return ::operator delete(fresh.data);
        if (count_ < most) kept_[count_++] = fresh;
        else ::operator delete(std::exchange(kept_[next_++ % most], fresh).data);
    }
    /// Sees to it that nothing is left when the thread ends; false when it has ended, or nothing is
    /// to be kept.
    bool watch() noexcept {
        if (state_ == state::closed || watched_by_sanitizer) return false;
        static thread_local closer at_end;
        static_cast<void>(&at_end);
        state_ = state::watched;
        return true;
    }

    static constexpr std::size_t most = 8;
    static thread_local constinit thread_cache mine;  // nothing to destroy: it outlives its closer

    block kept_[most] = {};
    std::size_t count_ = 0, next_ = 0;  // next_: whose turn it is to go
    state state_ = state::fresh;
};

inline thread_local constinit thread_cache thread_cache::mine{};

/// Memory for a while, not zeroed. Throws std::bad_alloc.
class thread_room {
public:
    explicit thread_room(std::size_t size) : data_(thread_cache::take(size)), size_(size) {
        if (!data_) throw std::bad_alloc();
    }
    thread_room(const thread_room&) = delete;
    thread_room& operator=(const thread_room&) = delete;
    ~thread_room() { thread_cache::give(data_, size_); }
    void* data() const noexcept { return data_; }

private:
    void* data_;
    std::size_t size_;
};

/// For objects that come and go one by one, such as nodes.
template <class T>
struct thread_cache_allocator {
    using value_type = T;

    thread_cache_allocator() = default;
    template <class U>
    thread_cache_allocator(const thread_cache_allocator<U>&) noexcept {}

    T* allocate(std::size_t n) {
        void* const p = thread_cache::take(n * sizeof(T));
        if (!p) throw std::bad_alloc();
        return static_cast<T*>(p);
    }
    void deallocate(T* p, std::size_t n) noexcept { thread_cache::give(p, n * sizeof(T)); }
    friend bool operator==(const thread_cache_allocator&, const thread_cache_allocator&) noexcept {
        return true;
    }
};

}}}  // namespace pumice::PUMICE_ABI::detail
