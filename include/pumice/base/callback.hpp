// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A callable by signature. Policies hold these: <functional> costs a tenth of the front's compile
// time.
#pragma once

#include <pumice/base/error.hpp>

#include <atomic>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace pumice { inline namespace PUMICE_ABI {

template <class Signature>
class callback;

/// Holds anything that can be called as const with these arguments, or nothing. Copies share it.
template <class Result, class... Arguments>
class callback<Result(Arguments...)> {
public:
    callback() = default;
    callback(std::nullptr_t) noexcept {}
    template <class F>
        requires(!std::is_same_v<F, callback> &&
                 requires(const F& f, Arguments&&... arguments) {
                     static_cast<Result>(f(static_cast<Arguments&&>(arguments)...));
                 })
    callback(F f) : held_(new holder<F>(std::move(f))) {}
    callback(const callback& other) noexcept : held_(other.held_) {
        if (held_) held_->owners.fetch_add(1, std::memory_order_relaxed);
    }
    callback(callback&& other) noexcept : held_(other.held_) { other.held_ = nullptr; }
    callback& operator=(callback other) noexcept {
        const base* const before = held_;
        held_ = other.held_;
        other.held_ = before;
        return *this;
    }
    ~callback() {
        if (held_ && held_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete held_;
    }

    explicit operator bool() const noexcept { return held_ != nullptr; }
    /// Throws errc::invalid_argument where it holds nothing.
    Result operator()(Arguments... arguments) const {
        if (!held_) fail(errc::invalid_argument, "callback", {"an empty function is called"});
        return held_->call(std::forward<Arguments>(arguments)...);
    }

private:
    struct base {
        mutable std::atomic<int> owners{1};
        virtual ~base() = default;
        virtual Result call(Arguments...) const = 0;
    };
    template <class F>
    struct holder final : base {
        explicit holder(F f) : function(std::move(f)) {}
        Result call(Arguments... arguments) const override {
            return static_cast<Result>(function(std::forward<Arguments>(arguments)...));
        }
        F function;
    };
    const base* held_ = nullptr;
};

}}  // namespace pumice::PUMICE_ABI
