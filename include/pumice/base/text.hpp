// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Messages put together in one call: in a chain of operator+ every step is inlined with its
// clean-up, and messages are a good part of what the engine costs the compiler.
#pragma once

#include <pumice/base/config.hpp>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace pumice { inline namespace PUMICE_ABI {

/// A part of a message: a text, which it refers to, or a whole number in decimal.
class piece {
public:
    constexpr piece(std::string_view text) noexcept
        : text_(text.data()), value_(text.size()), is_(what::text) {}
    constexpr piece(const char* text) noexcept : piece(std::string_view(text)) {}
    constexpr piece(const std::string& text) noexcept : piece(std::string_view(text)) {}
    template <std::integral I>
        requires(!std::same_as<I, bool> && !std::same_as<I, char>)
    constexpr piece(I number) noexcept
        : value_(static_cast<std::uint64_t>(number)),
          is_(std::signed_integral<I> ? what::number : what::unsigned_number) {}

    void append_to(std::string& out) const;

private:
    enum class what : std::uint8_t { text, number, unsigned_number };
    const char* text_ = nullptr;
    std::uint64_t value_;  // the text's length, or the number
    what is_;
};

/// Appends the pieces.
void append_text(std::string& out, std::initializer_list<piece> pieces);
/// The pieces as one text.
std::string cat(std::initializer_list<piece> pieces);

#ifndef PUMICE_COMPILED

PUMICE_INLINE void piece::append_to(std::string& out) const {
    if (is_ == what::text) return void(out.append(text_, value_));
    const bool minus = is_ == what::number && static_cast<std::int64_t>(value_) < 0;
    std::uint64_t rest = minus ? 0 - value_ : value_;
    char digits[24];
    char* const end = digits + sizeof digits;
    char* first = end;
    do *--first = static_cast<char>('0' + rest % 10);
    while (rest /= 10);
    if (minus) *--first = '-';
    out.append(first, static_cast<std::size_t>(end - first));
}
PUMICE_INLINE void append_text(std::string& out, std::initializer_list<piece> pieces) {
    for (const piece& p : pieces) p.append_to(out);
}
PUMICE_INLINE std::string cat(std::initializer_list<piece> pieces) {
    std::string text;
    append_text(text, pieces);
    return text;
}

#endif

}}  // namespace pumice::PUMICE_ABI
