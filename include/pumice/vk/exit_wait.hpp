// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Work that is under way when the process exits is waited for before any handler of exit runs: a
// driver may compile it in a thread of its own, by tables that such a handler destroys. (LLVM's,
// below Mesa's drivers on the CPU, whose thread then never ends.)
#pragma once

#include <pumice/base/lock.hpp>

#include <thread>
#include <utility>

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// Is waited for when the process's first thread ends, as by returning from main: its thread-local
/// objects go before all that exit destroys. Derived classes call `enter` when they are made and
/// `leave` before they go.
class exit_wait {
public:
    exit_wait() = default;
    exit_wait(const exit_wait&) = delete;
    exit_wait& operator=(const exit_wait&) = delete;

    /// Called by the threads that make or use such an object: one of them may be the first.
    static void arm() noexcept {
        static thread_local const at_thread_end armed;
        static_cast<void>(armed);
    }

protected:
    ~exit_wait() = default;
    void enter() noexcept {
        const small_lock lock(mutex_);
        next_ = std::exchange(first_, this);
    }
    void leave() noexcept {
        const small_lock lock(mutex_);
        for (exit_wait** at = &first_; *at; at = &(*at)->next_)
            if (*at == this) {
                *at = next_;
                return;
            }
    }
    virtual void wait_at_exit() noexcept = 0;

private:
    struct at_thread_end {
        const bool first = is_first_thread();
        const std::uint32_t process = pumice::detail::process_number();
        ~at_thread_end() {
            if (!first || process != pumice::detail::process_number()) return;
            const small_lock lock(mutex_);
            for (exit_wait* each = first_; each; each = each->next_) each->wait_at_exit();
        }
    };
    static bool is_first_thread() noexcept {
#ifdef __linux__
        return ::syscall(SYS_gettid) == ::getpid();
#else
        return std::this_thread::get_id() == loaded_by_;
#endif
    }

    exit_wait* next_ = nullptr;
    static inline constinit small_mutex mutex_;
    static inline constinit exit_wait* first_ = nullptr;
#ifndef __linux__
    static inline const std::thread::id loaded_by_ = std::this_thread::get_id();
#endif
};

}}}  // namespace pumice::PUMICE_ABI::vulkan
