// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Runs that somebody else waits for: a handle of each, and the threads that see to them.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/callback.hpp>
#include <pumice/base/log.hpp>
#include <pumice/base/thread_pool.hpp>
#include <pumice/runner/options.hpp>
#include <pumice/runner/ring.hpp>
#include <pumice/runner/status.hpp>
#include <pumice/runner/tensor.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace pumice { inline namespace PUMICE_ABI {

/// Called once with what became of a run, on a thread of the runner's.
using run_callback = callback<void(run_status)>;

namespace detail {

class job_pool;

/// One asynchronous run. It comes back to the pool when no handle and no thread has it.
struct job_state {
    enum class step : int { waiting, running, stopped, over };

    std::atomic<int> holders{0};
    std::atomic<step> at{step::waiting};
    std::atomic<bool> stop{false};
    std::atomic<bool> done{false};
    run_status status = run_status::ok;  // once it is done
    short_text text;
    std::vector<runner_tensor_view> inputs, outputs;
    run_callback call;
    static constexpr std::uint64_t unordered = ~std::uint64_t{0};
    std::uint64_t number = unordered;  // among those whose callbacks come as they were submitted
    void* room = nullptr;              // of the run, from its begin to its end
    submission work;
    job_state* next = nullptr;  // in the list of a thread, or of those whose callback waits
    std::mutex mutex;
    std::condition_variable changed;

    bool stop_requested() const noexcept { return stop.load(std::memory_order_relaxed); }
    static constexpr bool stop_possible() noexcept { return true; }
};

/// What a pool does with a job: the runner.
class job_runner {
public:
    virtual ~job_runner() = default;
    /// Submits it; throws where it cannot.
    virtual void begin(job_state& job) = 0;
    /// Waits for it, and copies what is to be copied. Throws.
    virtual void end(job_state& job) = 0;
    /// Lets go of what a run has, whatever became of it.
    virtual void drop(job_state& job) noexcept = 0;
};

/// What keeps a pool keeps what its threads work for. Threads that take jobs in order, submit them,
/// and wait for those that they have submitted when no other is there. No lock is taken from a call
/// to the submit; who has nothing to do sleeps.
class job_pool {
public:
    explicit job_pool(const runner_options& o)
        : threads_wanted_(o.async_threads), most_(o.max_in_flight),
          blocks_(o.full == when_full::block), in_order_(o.order == callback_order::as_submitted),
          queue_(static_cast<std::size_t>(o.max_in_flight)) {}
    job_pool(const job_pool&) = delete;
    job_pool& operator=(const job_pool&) = delete;
    ~job_pool() {
        for (job_state* j : all_) delete j;
    }

    /// A job to fill, which the caller holds. Throws std::bad_alloc.
    job_state* fresh() {
        const small_lock lock(free_mutex_);
        job_state* found = nullptr;
        if (free_.empty()) {
            all_.make_room(1);
            free_.make_room(all_.size() + 1);  // so that giving back needs no memory
            found = new job_state;
            all_.push_back(found);
        } else {
            found = free_.back();
            free_.pop_back();
        }
        found->holders = 1;
        found->at = job_state::step::waiting;
        found->stop = found->done = false;
        found->status = run_status::ok;
        found->number = job_state::unordered;
        found->text.set("");
        return found;
    }
    void hold(job_state& j) noexcept { j.holders.fetch_add(1, std::memory_order_relaxed); }
    /// (Inlined, g++ 12 warns of the null pool of a moved job, which has no state to let go.)
    [[gnu::noinline]] void let_go(job_state& j) noexcept {
        if (j.holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        const small_lock lock(free_mutex_);
        free_.push_back(&j);
    }

    /// Hands the job to a thread. `ok`, or why not: then nobody but the caller has it.
    run_status submit(job_state& j, const std::shared_ptr<job_runner>& by) {
        if (run_status s = start(by); s != run_status::ok) return s;
        for (int now = in_flight_.load();;) {
            if (over_) return tell(run_status::cancelled, "the runner is going");
            if (now >= most_) {
                if (!blocks_ || own_thread())
                    return tell(run_status::busy,
                                "as many runs are in flight as max_in_flight says");
                in_flight_.wait(now);
                now = in_flight_.load();
            } else if (in_flight_.compare_exchange_weak(now, now + 1)) {
                break;
            }
        }
        hold(j);
        if (j.call && in_order_) j.number = numbers_.fetch_add(1);
        // It has room for all that are in flight, as soon as a thread that has just taken one is
        // through with its cell.
        while (!queue_.push(&j)) std::this_thread::yield();
        ++queued_;
        queued_.notify_one();
        if (over_)  // the threads may have ended before they saw it
            while (job_state* const late = queue_.pop()) begin(*late, *by);
        return run_status::ok;
    }

    /// `ok` where it has not begun and never will, or is asked to stop; `busy` where it goes on.
    run_status cancel(job_state& j, bool running_too) noexcept {
        auto expected = job_state::step::waiting;
        if (j.at.compare_exchange_strong(expected, job_state::step::stopped)) return run_status::ok;
        if (expected == job_state::step::stopped) return run_status::ok;
        if (j.done.load(std::memory_order_acquire))
            return tell(run_status::invalid_argument, "the run is done");
        if (!running_too)
            return tell(run_status::busy,
                        "the run has begun, which the option cancel_running would stop");
        j.stop.store(true, std::memory_order_relaxed);
        return run_status::ok;
    }

    /// In a callback the pool's thread sees to other runs until this one is done, so it may come
    /// back later than `most`; a run that ends only after that callback gives `busy`.
    run_status wait(job_state& j, std::chrono::nanoseconds most) noexcept {
        const auto is_done = [&] { return j.done.load(std::memory_order_acquire); };
        if (!is_done()) {
            constexpr std::chrono::nanoseconds poll = std::chrono::milliseconds(1);
            const auto begin = std::chrono::steady_clock::now();
            worker* const own = own_thread();
            if (ends_behind_a_callback(j))
                return tell(run_status::busy, "the run is done only after the callback that waits");
            if (most < std::chrono::nanoseconds(0)) most = std::chrono::nanoseconds(0);
            while (!is_done()) {
                const std::chrono::nanoseconds left =
                    most - (std::chrono::steady_clock::now() - begin);
                if (left <= std::chrono::nanoseconds(0))
                    return tell(run_status::timeout, "not done yet");
                if (own && step(*own)) continue;
                std::unique_lock lock(j.mutex);
                // A time point beyond what the clock can hold would lie in the past.
                if (own) j.changed.wait_for(lock, left < poll ? left : poll, is_done);
                else if (left > std::chrono::hours(24 * 365)) j.changed.wait(lock, is_done);
                else j.changed.wait_for(lock, left, is_done);
            }
        }
        return j.status == run_status::ok ? run_status::ok : tell(j.status, j.text.c_str());
    }

    /// No job begins any more, those that have begun are waited for, but by a thread of the pool's
    /// own that comes here in a callback: that one goes on by itself.
    void close() noexcept {
        over_ = true;
        ++queued_;
        queued_.notify_all();
        ++in_flight_;  // whoever waits for room looks again
        in_flight_.notify_all();
        const std::lock_guard lock(start_mutex_);
        for (std::thread& t : threads_) {
            if (t.get_id() == std::this_thread::get_id()) t.detach();
            else t.join();
        }
        threads_.clear();
    }
    std::size_t threads() const noexcept { return started_.load(); }

private:
    run_status start(const std::shared_ptr<job_runner>& by) {
        if (started_.load(std::memory_order_acquire) > 0) return run_status::ok;
        const std::lock_guard lock(start_mutex_);
        if (over_) return tell(run_status::cancelled, "the runner is going");
        while (threads_.size() < static_cast<std::size_t>(threads_wanted_)) {
            try {
                threads_.push_back(start_thread([this, keep = by] { work(*keep); }));
            } catch (const std::system_error& e) {
                if (!threads_.empty()) break;  // with fewer it goes too
                return tell(
                    run_status::failed,
                    cat({"[runner] no thread can be started for execute_async: ", e.what(),
                         "\n  - let the process have more (ulimit -u, pids.max of its cgroup)"
                         "\n  - or use execute, which needs none"}));
            }
        }
        started_.store(threads_.size(), std::memory_order_release);
        return run_status::ok;
    }

    struct worker {  // one of the pool's threads
        job_pool& pool;
        job_runner& by;
        job_state *first = nullptr, **last = &first;  // submitted, not waited for
    };
    worker* own_thread() const noexcept {
        return worker_ && &worker_->pool == this ? worker_ : nullptr;
    }
    void work(job_runner& by) noexcept {
        worker w{*this, by};
        worker_ = &w;
        for (;;) {
            const std::uint32_t seen = queued_.load(std::memory_order_acquire);
            const bool over = over_;
            if (step(w)) continue;
            if (over) break;
            queued_.wait(seen, std::memory_order_acquire);
        }
        worker_ = nullptr;
    }
    /// Submits a job of the queue, or ends one that was submitted; false where there is none.
    bool step(worker& w) noexcept {
        if (job_state* const next = queue_.pop()) {
            if (!begin(*next, w.by)) return true;
            next->next = nullptr;
            *w.last = next;
            w.last = &next->next;
            return true;
        }
        if (!w.first) return false;
        job_state& done = *std::exchange(w.first, w.first->next);
        if (!w.first) w.last = &w.first;
        end(done, w.by);
        return true;
    }
    /// True where it is submitted; else it is over.
    bool begin(job_state& j, job_runner& by) noexcept {
        auto expected = job_state::step::waiting;
        if (over_ || !j.at.compare_exchange_strong(expected, job_state::step::running)) {
            j.text.set("the run was cancelled before it began");
            finish(j, run_status::cancelled);
            return false;
        }
        try {
            by.begin(j);
            return true;
        } catch (...) {
            const run_status s = status_of_exception(j.text);
            by.drop(j);
            finish(j, s);
            return false;
        }
    }
    void end(job_state& j, job_runner& by) noexcept {
        run_status s = run_status::ok;
        try {
            by.end(j);
        } catch (...) {
            s = status_of_exception(j.text);
        }
        by.drop(j);
        finish(j, s);
    }

    void finish(job_state& j, run_status s) noexcept {
        j.status = s;
        j.inputs.clear();
        j.outputs.clear();
        --in_flight_;
        in_flight_.notify_one();
        if (!j.call || !in_order_) return conclude(j);
        // Those with a callback: each when all before it have been called, by one thread at a time.
        std::unique_lock lock(order_mutex_);
        job_state** place = &late_;
        while (*place && (*place)->number < j.number) place = &(*place)->next;
        j.next = std::exchange(*place, &j);
        if (calling_) return;
        calling_ = true;
        while (late_ && late_->number == called_) {
            job_state& first = *std::exchange(late_, late_->next);
            lock.unlock();
            conclude(first);
            lock.lock();
            ++called_;
        }
        calling_ = false;
    }
    /// A callback at work on this thread; one that waits may have others above it.
    struct calling {
        const job_pool& pool;
        const job_state& job;
        const calling* const outer = std::exchange(calling_now_, this);
        ~calling() { calling_now_ = outer; }
    };
    /// Whether a run is done only when a callback of this thread has returned: its own, or one that
    /// comes before its own.
    bool ends_behind_a_callback(const job_state& j) const noexcept {
        for (const calling* c = calling_now_; c; c = c->outer)
            if (&c->pool == this &&
                (&c->job == &j || (j.number != job_state::unordered && j.number > c->job.number)))
                return true;
        return false;
    }
    /// Calls back, and tells who waits.
    void conclude(job_state& j) noexcept {
        if (j.call) {
            const calling mine{*this, j};
            try {
                j.call(j.status);
            } catch (...) {
                log_callback_fault("a run");
            }
            j.call = nullptr;
        }
        {
            const std::lock_guard lock(j.mutex);
            j.done.store(true, std::memory_order_release);
            j.changed.notify_all();
        }
        let_go(j);
    }

    static inline thread_local constinit worker* worker_ = nullptr;              // this thread
    static inline thread_local constinit const calling* calling_now_ = nullptr;  // the innermost

    const int threads_wanted_, most_;
    const bool blocks_, in_order_;
    ring<job_state> queue_;
    std::atomic<std::uint32_t> queued_{0};  // how often something was put there
    std::atomic<int> in_flight_{0};
    std::atomic<bool> over_{false};
    std::atomic<std::size_t> started_{0};
    std::mutex start_mutex_;
    std::vector<std::thread> threads_;

    small_mutex free_mutex_;
    array_list<job_state*> all_, free_;

    std::atomic<std::uint64_t> numbers_{0};
    std::mutex order_mutex_;
    job_state* late_ = nullptr;  // done, but for their callbacks, the earliest first
    std::uint64_t called_ = 0;
    bool calling_ = false;
};

}  // namespace detail

/// A handle to an asynchronous run. Copies speak of the same run, any thread may use them, and they
/// may outlive the runner. To let go of one changes nothing about the run.
class job {
public:
    /// Of nothing: `ok`, and done.
    job() = default;
    job(const job& other) noexcept
        : pool_(other.pool_), state_(other.state_), status_(other.status_),
          running_too_(other.running_too_) {
        if (state_) pool_->hold(*state_);
    }
    job(job&& other) noexcept
        : pool_(std::move(other.pool_)), state_(std::exchange(other.state_, nullptr)),
          status_(other.status_), running_too_(other.running_too_) {}
    job& operator=(job other) noexcept {
        std::swap(pool_, other.pool_);
        std::swap(state_, other.state_);
        std::swap(status_, other.status_);
        std::swap(running_too_, other.running_too_);
        return *this;
    }
    ~job() {
        if (state_) pool_->let_go(*state_);
    }

    /// Whether the runner has taken it: then its callback is called, once.
    bool accepted() const noexcept { return state_ != nullptr; }
    bool done() const noexcept { return !state_ || state_->done.load(std::memory_order_acquire); }
    /// What became of it, its callback's end included; `timeout` where it is not done after so
    /// long. Several threads may wait.
    run_status wait(std::chrono::nanoseconds most =
                        std::chrono::nanoseconds::max()) const noexcept {
        return state_ ? pool_->wait(*state_, most) : status_;
    }
    /// `ok` where it will not begin, or (option cancel_running) is asked to stop: its status
    /// becomes `cancelled` if it does stop, and its outputs are undefined then. `busy` where it has
    /// begun and goes on.
    run_status cancel() const noexcept {
        return state_ ? pool_->cancel(*state_, running_too_) : status_;
    }
    /// What a run that is done and failed said. Of a job that was not accepted, `run_message()` of
    /// the thread that asked for it says so.
    const char* message() const noexcept { return done() && state_ ? state_->text.c_str() : ""; }

private:
    friend class runner;
    explicit job(run_status refused) noexcept : status_(refused) {}
    /// Takes over the caller's hold.
    job(std::shared_ptr<detail::job_pool> pool, detail::job_state* state, bool running_too) noexcept
        : pool_(std::move(pool)), state_(state), running_too_(running_too) {}

    std::shared_ptr<detail::job_pool> pool_;
    detail::job_state* state_ = nullptr;
    run_status status_ = run_status::ok;
    bool running_too_ = false;
};

}}  // namespace pumice::PUMICE_ABI
