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

/// A part of a message: a text, which it refers to, or a whole number in decimal. Two words, since
/// each caller's code fills them in, which leaves the length of a literal for later.
class piece {
public:
    constexpr piece(std::string_view text) noexcept : text_(text.data()), length_(text.size()) {}
    constexpr piece(const char* text) noexcept : text_(text), length_(ends_with_zero) {}
    piece(const std::string& text) noexcept : text_(text.data()), length_(text.size()) {}
    template <std::integral I>
        requires(!std::same_as<I, bool> && !std::same_as<I, char>)
    constexpr piece(I number) noexcept
        : number_(static_cast<std::uint64_t>(number)),
          length_(std::signed_integral<I> ? signed_number : unsigned_number) {}

    void append_to(std::string& out) const;

private:
    static constexpr std::uint64_t signed_number = ~std::uint64_t{0},
                                   unsigned_number = signed_number - 1,
                                   ends_with_zero = signed_number - 2;
    union {
        const char* text_;
        std::uint64_t number_;
    };
    std::uint64_t length_;  // of the text, or how it ends, or which number it is
};

/// Appends the pieces.
void append_text(std::string& out, std::initializer_list<piece> pieces);
/// The pieces as one text.
std::string cat(std::initializer_list<piece> pieces);

#ifndef PUMICE_COMPILED

PUMICE_INLINE void piece::append_to(std::string& out) const {
    if (length_ == ends_with_zero) return void(out.append(text_));
    if (length_ < unsigned_number) return void(out.append(text_, length_));
    const bool minus = length_ == signed_number && static_cast<std::int64_t>(number_) < 0;
    std::uint64_t rest = minus ? 0 - number_ : number_;
    char digits[24];
    char* const end = digits + sizeof digits;
    char* first = end;
    do *--first = static_cast<char>('0' + rest % 10);
    while (rest /= 10);
    if (minus) *--first = '-';
    out.append(first, static_cast<std::size_t>(end - first));
}
[[gnu::noinline]] PUMICE_INLINE void append_text(std::string& out,
                                                 std::initializer_list<piece> pieces) {
    for (const piece& p : pieces) p.append_to(out);
}
[[gnu::noinline]] PUMICE_INLINE std::string cat(std::initializer_list<piece> pieces) {
    std::string text;
    append_text(text, pieces);
    return text;
}

#endif

}}  // namespace pumice::PUMICE_ABI
