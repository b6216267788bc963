// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A mutex of one byte for short sections of the front, which <mutex> would make slower to compile.
#pragma once

#include <pumice/base/config.hpp>

#include <atomic>
#include <cstdint>
#if __has_include(<sys/single_threaded.h>)  // glibc 2.32
#include <sys/single_threaded.h>
#define PUMICE_KNOWS_THREADS 1
#endif

namespace pumice::inline PUMICE_ABI {

/// Meets BasicLockable. Waiting threads sleep.
class small_mutex {
public:
    void lock() noexcept {
        while (taken_.test_and_set(std::memory_order_acquire))
            taken_.wait(true, std::memory_order_relaxed);
    }
    void unlock() noexcept {
        taken_.clear(std::memory_order_release);
        taken_.notify_one();
    }

private:
    std::atomic_flag taken_;
};

/// Holds a small_mutex for its own lifetime.
class [[nodiscard]] small_lock {
public:
    explicit small_lock(small_mutex& m) noexcept : mutex_(m) { mutex_.lock(); }
    small_lock(const small_lock&) = delete;
    small_lock& operator=(const small_lock&) = delete;
    ~small_lock() { mutex_.unlock(); }

private:
    small_mutex& mutex_;
};

/// One more: without the bus lock, as std::shared_ptr does it, as long as the process has one thread.
inline void count_up(std::atomic<std::uint64_t>& counter) noexcept {
#ifdef PUMICE_KNOWS_THREADS
    if (__libc_single_threaded)
        return counter.store(counter.load(std::memory_order_relaxed) + 1,
                             std::memory_order_relaxed);
#endif
    counter.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace pumice::inline PUMICE_ABI
