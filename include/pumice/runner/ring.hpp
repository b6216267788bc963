// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A bounded queue that any number of threads fill and empty without a lock.
#pragma once

#include <pumice/base/config.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Of pointers, first in, first out. Each cell has a number that says whose turn it is, as in
/// D. Vyukov's bounded MPMC queue.
template <class T>
class ring {
public:
    explicit ring(std::size_t least)
        : mask_(std::bit_ceil(least < 2 ? std::size_t{2} : least) - 1),
          cells_(new cell[mask_ + 1]) {
        for (std::size_t i = 0; i <= mask_; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
    }

    /// False where it is full.
    bool push(T* value) noexcept {
        std::size_t at = in_.load(std::memory_order_relaxed);
        for (;;) {
            cell& c = cells_[at & mask_];
            const std::size_t turn = c.turn.load(std::memory_order_acquire);
            if (turn == at) {
                if (!in_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
                c.value = value;
                c.turn.store(at + 1, std::memory_order_release);
                return true;
            }
            if (static_cast<std::ptrdiff_t>(turn - at) < 0) return false;
            at = in_.load(std::memory_order_relaxed);
        }
    }
    /// Null where it is empty.
    T* pop() noexcept {
        std::size_t at = out_.load(std::memory_order_relaxed);
        for (;;) {
            cell& c = cells_[at & mask_];
            const std::size_t turn = c.turn.load(std::memory_order_acquire);
            if (turn == at + 1) {
                if (!out_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
                T* const value = c.value;
                c.turn.store(at + mask_ + 1, std::memory_order_release);
                return value;
            }
            if (static_cast<std::ptrdiff_t>(turn - (at + 1)) < 0) return nullptr;
            at = out_.load(std::memory_order_relaxed);
        }
    }

private:
    struct cell {
        std::atomic<std::size_t> turn{0};
        T* value = nullptr;
    };
    std::size_t mask_;
    std::unique_ptr<cell[]> cells_;
    alignas(64) std::atomic<std::size_t> in_{0};
    alignas(64) std::atomic<std::size_t> out_{0};
};

}}}  // namespace pumice::PUMICE_ABI::detail
