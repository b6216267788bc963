// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A small mutex for short sections of the front, which <mutex> would make slower to compile.
#pragma once

#include <pumice/base/fork.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Meets BasicLockable. Waiting threads sleep. What a thread holds that fork() did not copy, a
/// child's thread takes over: whatever that thread was about to write is not there.
class small_mutex {
public:
    void lock() noexcept {
        const std::uint32_t mine = detail::process_number() + 1;
        std::uint32_t holder = 0;
        while (!holder_.compare_exchange_strong(holder, mine, std::memory_order_acquire,
                                                std::memory_order_relaxed)) {
            if (holder != mine) continue;  // of the parent's
            holder_.wait(mine, std::memory_order_relaxed);
            holder = 0;
        }
    }
    void unlock() noexcept {
        holder_.store(0);  // in order with the question whether anybody waits
        holder_.notify_one();
    }

private:
    std::atomic<std::uint32_t> holder_{0};  // 0, or the process of the thread that holds it
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

}}  // namespace pumice::PUMICE_ABI
