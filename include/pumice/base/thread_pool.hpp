// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Threads that wait for the next job: parts of it, each done once by whichever thread comes first.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/callback.hpp>
#include <pumice/base/fork.hpp>
#include <pumice/base/unique_ptr.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace pumice { inline namespace PUMICE_ABI {

/// How many threads the process may run at once: those of the processors it is bound to, less where
/// a control group (cgroup v2) gives it the time of fewer.
inline unsigned usable_processors() noexcept {
    unsigned count = std::max(std::thread::hardware_concurrency(), 1u);
#if defined(__linux__)
    if (std::FILE* const file = std::fopen("/sys/fs/cgroup/cpu.max", "re")) {
        long quota = 0, period = 0;
        if (std::fscanf(file, "%ld %ld", &quota, &period) == 2 && quota > 0 && period > 0)
            count = static_cast<unsigned>(std::clamp<long>((quota + period - 1) / period, 1,
                                                           static_cast<long>(count)));
        std::fclose(file);
    }
#endif
    return count;
}

/// One way for all threads, which the compiler has to make once.
inline std::thread start_thread(callback<void()> f) { return std::thread(std::move(f)); }

/// Threads are started when a job first wants them, and end with the pool. A job that finds another
/// one at work is done by the thread that brings it, and so is any in a child of the process that
/// made the pool.
class thread_pool {
public:
    explicit thread_pool(unsigned count = usable_processors())
        : count_(std::max(count, 1u)), made_by_(detail::process_number()), team_(new team) {
        detail::watch_forks();
    }
    thread_pool(const thread_pool&) = delete;
    thread_pool& operator=(const thread_pool&) = delete;
    ~thread_pool() {
        // The threads are the parent's, and what they wait at cannot be destroyed.
        if (made_by_ != detail::process_number()) static_cast<void>(team_.release());
    }

    /// The threads that do a job at most, the one that brings it among them.
    unsigned count() const noexcept { return count_; }

    /// Calls `f(i)` for each i in [0, parts), in any order; `worth` parts pay for a thread of their
    /// own. Returns when all are done. Throws what one of the calls threw; no part is begun after
    /// that.
    template <class F>
    void run(std::int64_t parts, std::int64_t worth, F&& f) const {
        job work{parts, const_cast<void*>(static_cast<const volatile void*>(std::addressof(f))),
                 [](void* held, std::int64_t i) {
                     (*static_cast<std::remove_reference_t<F>*>(held))(i);
                 }};
        const std::int64_t threads = std::min<std::int64_t>(parts / worth, count_);
        if (threads <= 1 || made_by_ != detail::process_number() ||
            !team_->begin(work, threads - 1))
            work.help();
        else team_->finish(work);
        if (work.fault) std::rethrow_exception(work.fault);
    }

private:
    struct job {
        std::int64_t parts;
        void* function;
        void (*call)(void*, std::int64_t);
        std::atomic<std::int64_t> next{0};
        std::atomic_flag failed{};
        std::exception_ptr fault{};

        void help() noexcept {
            try {
                for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < parts;)
                    call(function, i);
            } catch (...) {
                next.store(parts, std::memory_order_relaxed);
                if (!failed.test_and_set()) fault = std::current_exception();
            }
        }
    };

    class team {
    public:
        team() = default;
        ~team() {
            {
                const std::lock_guard lock(mutex_);
                ended_ = true;
            }
            begun_.notify_all();
            for (std::thread& t : threads_) t.join();
        }

        /// Offers the job to so many threads; false where there is one already.
        bool begin(job& work, std::int64_t seats) {
            {
                const std::lock_guard lock(mutex_);
                if (job_) return false;
                job_ = &work;
                seats_ = seats;
                try {
                    const auto wanted = static_cast<std::size_t>(seats);
                    threads_.reserve(wanted);
                    while (threads_.size() < wanted)
                        threads_.push_back(start_thread([this] { live(); }));
                } catch (const std::exception&) {  // those that could be had do it
                }
            }
            for (std::int64_t i = 0; i < seats; ++i) begun_.notify_one();
            return true;
        }
        void finish(job& work) noexcept {
            work.help();
            std::unique_lock lock(mutex_);
            seats_ = 0;
            finished_.wait(lock, [this] { return helping_ == 0; });
            job_ = nullptr;
        }

    private:
        void live() {
            std::unique_lock lock(mutex_);
            for (;;) {
                begun_.wait(lock, [this] { return ended_ || seats_ > 0; });
                if (ended_) return;
                --seats_;
                ++helping_;
                job& work = *job_;
                lock.unlock();
                work.help();
                lock.lock();
                if (--helping_ == 0) finished_.notify_one();
            }
        }

        std::mutex mutex_;
        std::condition_variable begun_, finished_;
        array_list<std::thread> threads_;
        job* job_ = nullptr;
        std::int64_t seats_ = 0;  // of the job, for threads that would join
        int helping_ = 0;
        bool ended_ = false;
    };

    unsigned count_;
    std::uint32_t made_by_;
    unique_ptr<team> team_;
};

}}  // namespace pumice::PUMICE_ABI
