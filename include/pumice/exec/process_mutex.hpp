// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The lock of an engine, which knows the process that made the engine.
#pragma once

#include <pumice/base/lock.hpp>

#include <mutex>
#include <thread>

namespace pumice { inline namespace PUMICE_ABI {

/// Meets Lockable. In a child of fork() it is refused for good, by errc::forked, where what it
/// guards stays with the parent, or where one of the parent's threads held it at the fork.
class process_mutex {
public:
    /// `stays`: what it guards serves the process alone that makes it.
    explicit process_mutex(bool stays = false) noexcept : stays_(stays) {}

    /// True where a lock would be refused because of `stays`.
    bool left_behind() const noexcept { return stays_ && made_in_ != detail::process_number(); }

    /// What a lock would throw of that, for those who need none.
    void refuse_child() const {
        if (left_behind())
            detail::throw_forked("context", "the device of this context was opened before fork()");
    }

    /// Throws errc::invalid_argument in a thread that has the lock: a function of the user's that
    /// an evaluation calls would wait for that evaluation.
    void lock() {
        if (!try_lock()) {
            if (owner_.load(std::memory_order_relaxed) == std::this_thread::get_id())
                throw_locked_twice();
            ++waiting_;
            mutex_.lock();
            --waiting_;
            ++turns_;
            own();
        }
    }
    bool try_lock() {
        look();
        if (!mutex_.try_lock()) return false;
        own();
        return true;
    }
    void unlock() noexcept {
        owner_.store({}, std::memory_order_relaxed);
        mutex_.unlock();
    }

    /// Of a thread that will lock again soon: lets one that waits have its turn first, since a
    /// mutex goes to whoever comes. Returns after a while in any case. Pre: the thread has no lock.
    void give_way() const noexcept {
        const std::uint32_t before = turns_.load(std::memory_order_relaxed);
        for (int i = 0; i < 1000 && waiting_.load(std::memory_order_relaxed) > 0 &&
                        turns_.load(std::memory_order_relaxed) == before;
             ++i)
            std::this_thread::yield();
    }

private:
    void own() noexcept { owner_.store(std::this_thread::get_id(), std::memory_order_relaxed); }
    [[noreturn, gnu::cold]] static void throw_locked_twice() {
        fail(errc::invalid_argument, "context",
             {"a function that this context calls as it evaluates (a policy's, a pass, a kernel's "
              "host) asks the context to compute, read or count; give it a context of its own, or "
              "let it use what it is given"});
    }
    void look() {
        if (seen_in_.load(std::memory_order_acquire) != detail::process_number()) enter_child();
    }
    [[gnu::cold]] void enter_child() {
        refuse_child();
        // The child's threads come here one by one until one has looked, so whoever holds the lock
        // then is none of them.
        const small_lock lock(turn_);
        if (seen_in_.load(std::memory_order_relaxed) == detail::process_number()) return;
        if (!mutex_.try_lock())
            detail::throw_forked(
                "context", "another thread was using this context at the fork; make a new one");
        mutex_.unlock();
        waiting_ = 0;
        seen_in_.store(detail::process_number(), std::memory_order_release);
    }

    std::mutex mutex_;
    std::atomic<std::thread::id> owner_{};
    std::atomic<std::uint32_t> waiting_{0}, turns_{0};  // threads that wait, and that have waited
    small_mutex turn_;
    std::atomic<std::uint32_t> seen_in_{detail::process_number()};
    std::uint32_t made_in_ = detail::process_number();
    bool stays_;
};

}}  // namespace pumice::PUMICE_ABI
