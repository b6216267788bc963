// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A stop token as the library takes it: <stop_token> would cost each file that includes the front
// a sixteenth of its compile time.
#pragma once

#include <pumice/base/config.hpp>

#include <concepts>

namespace pumice { inline namespace PUMICE_ABI {

/// What std::stop_token has, or a token of the user's.
template <class Token>
concept stop_token_like = requires(const Token& t) {
    { t.stop_requested() } -> std::convertible_to<bool>;
    { t.stop_possible() } -> std::convertible_to<bool>;
};

/// Sees a token, which must outlive it: a parameter for the length of one call. By default no token
/// at all, so nobody can ask.
class stop_view {
public:
    constexpr stop_view() = default;
    template <stop_token_like Token>
        requires(!std::same_as<Token, stop_view>)
    stop_view(const Token& token)
        : token_(&token), requested_([](const void* t) -> bool {
              return static_cast<const Token*>(t)->stop_requested();
          }),
          possible_(token.stop_possible()) {}

    bool stop_requested() const { return possible_ && requested_(token_); }
    bool stop_possible() const { return possible_; }

private:
    const void* token_ = nullptr;
    bool (*requested_)(const void*) = nullptr;
    bool possible_ = false;
};

}}  // namespace pumice::PUMICE_ABI
