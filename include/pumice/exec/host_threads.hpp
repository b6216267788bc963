// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The host device's threads: parts of one job, each done once by whichever thread comes first.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/config.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace pumice { inline namespace PUMICE_ABI {

/// Elements that one thread takes at a time.
inline constexpr std::int64_t least_part = 1 << 17;

class host_threads {
public:
    /// As many as the machine runs at once, or as many as are asked for.
    explicit host_threads(unsigned count = std::thread::hardware_concurrency())
        : count_(std::max(count, 1u)) {}

    unsigned count() const noexcept { return count_; }

    /// Calls `f(i)` for each i in [0, parts), in any order; `worth` parts pay for a thread of their
    /// own. Returns when all are done. Throws what one of the calls threw.
    template <class F>
    void run(std::int64_t parts, std::int64_t worth, F&& f) const {
        const std::int64_t threads = std::min<std::int64_t>(parts / worth, count_);
        if (threads <= 1) {
            for (std::int64_t i = 0; i < parts; ++i) f(i);
            return;
        }
        std::atomic<std::int64_t> next{0};
        std::exception_ptr fault;
        std::mutex mutex;
        const auto work = [&] {
            try {
                for (std::int64_t i; (i = next.fetch_add(1)) < parts;) f(i);
            } catch (...) {
                const std::lock_guard lock(mutex);
                fault = std::current_exception();
                next = parts;
            }
        };
        {
            array_list<std::jthread> helpers;
            try {
                for (std::int64_t i = 1; i < threads; ++i) helpers.emplace_back(work);
            } catch (const std::system_error&) {  // those that could be had do it
            }
            work();
        }
        if (fault) std::rethrow_exception(fault);
    }

private:
    unsigned count_;
};

}}  // namespace pumice::PUMICE_ABI
