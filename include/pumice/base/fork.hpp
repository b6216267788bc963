// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Whether what is at hand was made by this process, or copied by fork() from the one that made it.
#pragma once

#include <pumice/base/error.hpp>

#include <atomic>
#include <cstdint>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

inline constinit std::atomic<std::uint32_t> forks{0};

/// How many forks lie between the first process and this one: what remembers another number was
/// made before the last of them. A load, where getpid() is a system call.
inline std::uint32_t process_number() noexcept { return forks.load(std::memory_order_relaxed); }

/// From the first call on forks are counted, by whatever calls fork(); by vfork() and posix_spawn()
/// no code of ours runs in the child.
inline void watch_forks() noexcept {
#if defined(__unix__) || defined(__APPLE__)
    static const int watched =
        ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
    static_cast<void>(watched);
#endif
}

/// What was made before a fork and cannot be used after it.
[[noreturn, gnu::cold]] inline void throw_forked(std::string_view place, std::string_view why) {
    throw error(errc::forked, place, why,
                {"compute on the host device in the child: context{host_only{}}",
                 "or start a program in it (exec, or posix_spawn in the parent)",
                 "or fork before the first use of a device"});
}

}}}  // namespace pumice::PUMICE_ABI::detail
