// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A callable by signature. Policies hold these: <functional> costs a tenth of the front's compile time.
#pragma once

#include <pumice/base/config.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace pumice::inline PUMICE_ABI {

template <class Signature>
class callback;

/// Holds anything that can be called as const with these arguments, or nothing. Copies share it.
template <class Result, class... Arguments>
class callback<Result(Arguments...)> {
public:
    callback() = default;
    callback(std::nullptr_t) noexcept {}
    template <class F>
        requires(!std::is_same_v<F, callback> && std::is_invocable_r_v<Result, const F&, Arguments...>)
    callback(F f) : held_(std::make_shared<const holder<F>>(std::move(f))) {}

    explicit operator bool() const noexcept { return held_ != nullptr; }
    Result operator()(Arguments... arguments) const { return held_->call(std::forward<Arguments>(arguments)...); }

private:
    struct base {
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
    std::shared_ptr<const base> held_;
};

}  // namespace pumice::inline PUMICE_ABI
