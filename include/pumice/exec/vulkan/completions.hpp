// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What is to be called when a device is done with something: one thread of a lane's, from the first
// such wish on.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/callback.hpp>
#include <pumice/base/log.hpp>
#include <pumice/base/thread_pool.hpp>
#include <pumice/exec/vulkan/runtime.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Thread-safe. Destroying it waits until all was called, unless that thread itself destroys it.
class completions {
public:
    explicit completions(std::shared_ptr<vulkan_runtime> runtime)
        : shared_(new shared(std::move(runtime))) {}
    completions(const completions&) = delete;
    completions& operator=(const completions&) = delete;
    ~completions() {
        std::thread& caller = shared_->caller;
        // The thread is the parent's, and so is its share in what it works on, which stays here.
        if (!caller.joinable() || shared_->runtime->device().left_behind()) return;
        {
            const std::lock_guard lock(shared_->mutex);
            shared_->over = true;
        }
        shared_->changed.notify_all();
        if (caller.get_id() == std::this_thread::get_id()) caller.detach();
        else caller.join();
    }

    /// Calls f when the timeline has reached `value` or never will; in the order of values, among
    /// those that wait. Where no thread can be had the call is made here.
    void add(std::uint64_t value, callback<void()> f) {
        {
            const std::lock_guard lock(shared_->mutex);
            try {
                if (!shared_->caller.joinable())
                    shared_->caller = start_thread([with = shared_] { with->work(); });
                shared_->waiting.push_back({value, f});
                shared_->changed.notify_all();
                return;
            } catch (const std::system_error&) {
            }
        }
        shared_->call({value, std::move(f)});
    }

private:
    struct entry {
        std::uint64_t value = 0;
        callback<void()> call;
    };
    /// The thread's too, which may be the last to let go of it.
    struct shared {
        explicit shared(std::shared_ptr<vulkan_runtime>&& r) : runtime(std::move(r)) {}
        void work() {
            for (;;) {
                entry next;
                {
                    std::unique_lock lock(mutex);
                    while (!over && waiting.empty()) changed.wait(lock);
                    if (waiting.empty()) return;
                    std::size_t first = 0;
                    for (std::size_t i = 1; i < waiting.size(); ++i)
                        if (waiting[i].value < waiting[first].value) first = i;
                    next = std::move(waiting[first]);
                    for (std::size_t i = first + 1; i < waiting.size(); ++i)
                        waiting[i - 1] = std::move(waiting[i]);
                    waiting.pop_back();
                }
                call(std::move(next));
            }
        }
        void call(entry e) const noexcept {
            try {
                runtime->queue().wait(e.value);
            } catch (...) {  // whoever waits for the work is told
            }
            try {
                e.call();
            } catch (...) {
                log_callback_fault("a submission");
            }
        }

        std::shared_ptr<vulkan_runtime> runtime;
        std::mutex mutex;
        std::condition_variable changed;
        array_list<entry> waiting;
        bool over = false;
        std::thread caller;
    };

    std::shared_ptr<shared> shared_;
};

}}  // namespace pumice::PUMICE_ABI
