// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A mutex of one byte for short sections of the front, which <mutex> would make slower to compile.
#pragma once

#include <pumice/base/config.hpp>

#include <atomic>

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

}  // namespace pumice::inline PUMICE_ABI
