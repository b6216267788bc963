// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Elements that lie one behind another in somebody else's memory, quick to compile.
#pragma once

#include <pumice/base/config.hpp>

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <span>  // for callers, who may have had it from here
#include <type_traits>
#include <utility>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// What std::data of a list points at.
template <class List>
using element_of = std::remove_pointer_t<decltype(std::data(std::declval<List&>()))>;

}  // namespace detail

/// std::span's names and meanings, without a fixed extent: each element type of std::span takes
/// g++ 24 ms, most of them to see that its iterators are contiguous, and 3 of this one's. Whatever
/// std::data and std::size take converts to it, std::span too, and it converts to std::span.
template <class T>
class span {
public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using size_type = std::size_t;
    using iterator = T*;

    constexpr span() noexcept = default;
    constexpr span(T* data, std::size_t size) noexcept : data_(data), size_(size) {}
    /// Of a list in braces, which lives as long as the statement: an argument. Not of what pointers
    /// convert to, for a place and a size would be a list.
    constexpr span(std::initializer_list<value_type> list) noexcept
        requires(std::is_const_v<T> && !std::is_convertible_v<T*, value_type> &&
                 !std::is_convertible_v<std::nullptr_t, value_type>)
        : span(list.begin(), list.size()) {}
    /// 0 is a number, and no place.
    span(std::nullptr_t, std::size_t) = delete;
    template <std::size_t N>
    constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
    /// Of elements of T, const or not, and of no other class: pointers to arrays convert so.
    template <class List, class Element = detail::element_of<List>,
              class = decltype(static_cast<T (*)[]>(static_cast<Element (*)[]>(nullptr)))>
    constexpr span(List&& list) noexcept : data_(std::data(list)), size_(std::size(list)) {}

    [[nodiscard]] constexpr T* data() const noexcept { return data_; }
    [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
    [[nodiscard]] constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] constexpr T* begin() const noexcept { return data_; }
    [[nodiscard]] constexpr T* end() const noexcept { return data_ + size_; }
    [[nodiscard]] constexpr T& operator[](std::size_t k) const noexcept { return data_[k]; }
    [[nodiscard]] constexpr T& front() const noexcept { return data_[0]; }
    [[nodiscard]] constexpr T& back() const noexcept { return data_[size_ - 1]; }
    [[nodiscard]] constexpr span first(std::size_t n) const noexcept { return {data_, n}; }
    [[nodiscard]] constexpr span last(std::size_t n) const noexcept {
        return {data_ + (size_ - n), n};
    }
    [[nodiscard]] constexpr span subspan(std::size_t from) const noexcept {
        return {data_ + from, size_ - from};
    }
    [[nodiscard]] constexpr span subspan(std::size_t from, std::size_t n) const noexcept {
        return {data_ + from, n};
    }

private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};
template <class T>
span(T*, std::size_t) -> span<T>;
template <class T, std::size_t N>
span(T (&)[N]) -> span<T>;
template <class List>
span(List&&) -> span<detail::element_of<List>>;

/// The bytes of the elements, as std::as_bytes.
template <class T>
[[nodiscard]] span<const std::byte> as_bytes(span<T> values) noexcept {
    return {reinterpret_cast<const std::byte*>(values.data()), values.size_bytes()};
}
/// The bytes of the elements, to be written, as std::as_writable_bytes.
template <class T>
[[nodiscard]] span<std::byte> as_writable_bytes(span<T> values) noexcept {
    return {reinterpret_cast<std::byte*>(values.data()), values.size_bytes()};
}

}}  // namespace pumice::PUMICE_ABI
