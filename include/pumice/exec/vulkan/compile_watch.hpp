// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What is told while kernels become ready: each to the policy, a long first run to the log.
#pragma once

#include <pumice/base/callback.hpp>
#include <pumice/base/log.hpp>
#include <pumice/exec/kernel_requests.hpp>
#include <pumice/policy/compile_progress.hpp>

#include <chrono>
#include <mutex>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Of the kernels that one evaluation or recording waits for.
class compile_watch {
public:
    compile_watch(const callback<void(const compile_progress&)>& told, int total)
        : told_(told), total_(total) {}
    compile_watch(const compile_watch&) = delete;
    compile_watch& operator=(const compile_watch&) = delete;

    /// A kernel is; from any thread.
    void ready(const launch& l) {
        const std::lock_guard lock(mutex_);
        ++done_;
        const double seconds = std::chrono::duration<double>(clock::now() - begin_).count();
        const std::string_view name = l.shader ? l.shader->name : l.entry;
        if (told_) told_({name, done_, total_, seconds});
        if (done_ == total_ && seconds > worth_a_line)
            write_log(severity::info,
                      cat({"[device] ", total_, total_ == 1 ? " kernel" : " kernels",
                           " became ready in ", static_cast<std::int64_t>(1000 * seconds), " ms"}));
    }

private:
    using clock = std::chrono::steady_clock;
    static constexpr double worth_a_line = 0.5;  // seconds

    const callback<void(const compile_progress&)>& told_;
    const int total_;
    int done_ = 0;
    std::mutex mutex_;
    const clock::time_point begin_ = clock::now();
};

}}}  // namespace pumice::PUMICE_ABI::detail
