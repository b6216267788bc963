// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A count that any thread may raise.
#pragma once

#include <pumice/base/config.hpp>

#include <atomic>
#include <cstdint>
#if __has_include(<sys/single_threaded.h>)  // glibc 2.32
#include <sys/single_threaded.h>
#endif

namespace pumice { inline namespace PUMICE_ABI {

/// It orders nothing. Without the bus lock as long as the process has one thread, as
/// std::shared_ptr counts.
class counter {
public:
    [[gnu::always_inline]] void operator+=(std::uint64_t n) noexcept {
#if __has_include(<sys/single_threaded.h>)
        if (__libc_single_threaded) return count_.store(*this + n, std::memory_order_relaxed);
#endif
        count_.fetch_add(n, std::memory_order_relaxed);
    }
    void operator++() noexcept { *this += 1; }
    operator std::uint64_t() const noexcept { return count_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> count_{0};
};

}}  // namespace pumice::PUMICE_ABI
