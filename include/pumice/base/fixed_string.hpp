// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Text and lists of bounded length that work in constant expressions on every compiler.
#pragma once

#include <pumice/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pumice { inline namespace PUMICE_ABI {

/// A vector of at most `Capacity` elements; `T` is default constructible.
template <class T, std::size_t Capacity>
class fixed_vector {
public:
    constexpr void push_back(const T& value) {
        PUMICE_ASSERT(size_ < Capacity);
        items_[size_++] = value;
    }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr void clear() noexcept { size_ = 0; }
    constexpr T& operator[](std::size_t i) { return items_[i]; }
    constexpr const T& operator[](std::size_t i) const { return items_[i]; }
    constexpr const T* data() const noexcept { return items_; }
    constexpr T* begin() noexcept { return items_; }
    constexpr T* end() noexcept { return items_ + size_; }
    constexpr const T* begin() const noexcept { return items_; }
    constexpr const T* end() const noexcept { return items_ + size_; }

private:
    T items_[Capacity == 0 ? 1 : Capacity] = {};
    std::size_t size_ = 0;
};

/// A text buffer with the interface that `emit` needs; the run-time counterpart is std::string.
template <std::size_t Capacity>
class fixed_string {
public:
    constexpr fixed_string& append(std::string_view text) {
        for (char c : text) push_back(c);
        return *this;
    }
    constexpr void push_back(char c) {
        PUMICE_ASSERT(size_ < Capacity);
        chars_[size_++] = c;
    }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr operator std::string_view() const noexcept { return {chars_, size_}; }

private:
    char chars_[Capacity] = {};
    std::size_t size_ = 0;
};

/// Appends a number in decimal to any text buffer.
template <class Text>
constexpr void append_number(Text& out, std::uint64_t value) {
    char digits[20] = {};
    int n = 0;
    do digits[n++] = static_cast<char>('0' + value % 10);
    while (value /= 10);
    while (n > 0) out.push_back(digits[--n]);
}

/// Appends a number as 16 hexadecimal digits.
template <class Text>
constexpr void append_hex(Text& out, std::uint64_t value) {
    for (int shift = 60; shift >= 0; shift -= 4)
        out.push_back("0123456789abcdef"[(value >> shift) & 15]);
}

}}  // namespace pumice::PUMICE_ABI
