// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Runs a graph of chunks without a coordinator: whoever finishes a chunk goes on with those that it
// frees.
#pragma once

#include <pumice/base/error.hpp>
#include <pumice/base/stop_view.hpp>
#include <pumice/exec/chunks.hpp>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>

namespace pumice { inline namespace PUMICE_ABI {

[[noreturn]] inline void throw_cancelled() {
    fail(errc::cancelled, "executable", {"its run was stopped"});
}

/// The state of one run after another of the same chunks: a run needs no memory.
class scheduler {
public:
    /// Pre: `chunks` has no cycle, and stays where it is.
    explicit scheduler(span<const chunk> chunks)
        : chunks_(chunks), waits_for_(new std::atomic<std::uint32_t>[chunks.size()]) {}

    /// Calls `work(i)` for every chunk, after all of its predecessors; for a chunk that becomes
    /// free beside another one by `spawn(f)`, which may call f on another thread. Returns when all
    /// is done. Once one throws, or `stop` is asked for, no further chunk is begun, and the first
    /// fault (errc::cancelled) is thrown when those at work are done.
    template <class Work, class Spawn>
    void run(stop_view stop, Work&& work, Spawn&& spawn) {
        fault_ = nullptr;
        halted_.store(false, std::memory_order_relaxed);
        left_ = chunks_.size();
        for (std::size_t i = 0; i < chunks_.size(); ++i)
            waits_for_[i].store(chunks_[i].predecessors, std::memory_order_relaxed);
        const auto each = [&](auto&& self, std::size_t i) -> void {
            constexpr std::size_t none = ~std::size_t{0};
            while (i != none) {
                attempt(stop, work, i);
                std::size_t next = none;
                for (const std::uint32_t d : chunks_[i].dependents) {
                    if (waits_for_[d].fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
                    if (next == none) next = d;
                    else pass_on(spawn, [&self, d] { self(self, d); });
                }
                finish_one();
                i = next;
            }
        };
        std::size_t first = chunks_.size();
        for (std::size_t i = 0; i < chunks_.size(); ++i) {
            if (chunks_[i].predecessors != 0) continue;
            if (first == chunks_.size()) first = i;
            else pass_on(spawn, [&each, i] { each(each, i); });
        }
        if (first < chunks_.size()) each(each, first);
        std::unique_lock lock(mutex_);
        all_done_.wait(lock, [this] { return left_ == 0; });
        if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
    }

private:
    /// Here where there is no other thread to be had.
    template <class Spawn, class F>
    static void pass_on(Spawn& spawn, F&& f) {
        try {
            spawn(f);
        } catch (...) {
            f();
        }
    }
    template <class Work>
    void attempt(stop_view stop, Work& work, std::size_t i) {
        if (halted_.load(std::memory_order_relaxed)) return;
        try {
            if (stop.stop_requested()) throw_cancelled();
            work(i);
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!fault_) fault_ = std::current_exception();
            halted_.store(true, std::memory_order_relaxed);
        }
    }
    /// Under the lock to its end, so that `run` returns only when nobody touches its state any
    /// more.
    void finish_one() {
        const std::lock_guard lock(mutex_);
        if (--left_ == 0) all_done_.notify_all();
    }

    span<const chunk> chunks_;
    std::unique_ptr<std::atomic<std::uint32_t>[]> waits_for_;
    std::atomic<bool> halted_{false};
    std::mutex mutex_;
    std::condition_variable all_done_;
    std::size_t left_ = 0;
    std::exception_ptr fault_;
};

}}  // namespace pumice::PUMICE_ABI
