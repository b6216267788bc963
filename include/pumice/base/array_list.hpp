// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A growing array that is quick to compile.
#pragma once

#include <pumice/base/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace pumice::inline PUMICE_ABI {

namespace detail {

/// Memory for count elements of size bytes; std::length_error where no array can be that long.
[[nodiscard]] inline void* list_memory(std::size_t count, std::size_t size) {
    if (count > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / size)
        throw std::length_error("pumice: an array_list too long for any memory");
    return ::operator new(count * size);
}
inline std::size_t list_room(std::size_t wanted, std::size_t room) {
    return std::max({wanted, 2 * room, std::size_t{4}});
}
inline void list_copy(void* to, const void* from, std::size_t size) {
    if (size > 0) std::memcpy(to, from, size);
}

}  // namespace detail

/// std::vector's names and complexities, for what the engine keeps to itself. Each operation on each element type costs
/// the compiler 4 ms here and 15 to 30 with std::vector (bench/compile), and the engine has some seventy element types.
/// What the user sees is a std::vector.
template <typename T>
class array_list {
public:
    using value_type = T;
    using iterator = T*;
    using const_iterator = const T*;

    array_list() noexcept = default;
    explicit array_list(std::size_t n) : array_list() { resize(n); }
    array_list(std::size_t n, const T& value) : array_list() { resize(n, value); }
    array_list(std::initializer_list<T> values) : array_list() {
        append(values.begin(), values.end());
    }
    template <typename I>
        requires(!std::is_arithmetic_v<I>)
    array_list(I first, I last) : array_list() {
        append(first, last);
    }
    array_list(const array_list& other) : array_list() { append(other.begin(), other.end()); }
    array_list(array_list&& other) noexcept : array_list() { swap(other); }
    array_list& operator=(array_list other) noexcept {
        swap(other);
        return *this;
    }
    ~array_list() {
        cut(0);
        ::operator delete(data_);
    }
    void swap(array_list& other) noexcept {
        T* const data = data_;
        const std::size_t size = size_, room = room_;
        data_ = other.data_, size_ = other.size_, room_ = other.room_;
        other.data_ = data, other.size_ = size, other.room_ = room;
    }

    T* begin() noexcept { return data_; }
    T* end() noexcept { return data_ + size_; }
    const T* begin() const noexcept { return data_; }
    const T* end() const noexcept { return data_ + size_; }
    T* data() noexcept { return data_; }
    const T* data() const noexcept { return data_; }
    std::reverse_iterator<const T*> rbegin() const noexcept { return std::reverse_iterator(end()); }
    std::reverse_iterator<const T*> rend() const noexcept { return std::reverse_iterator(begin()); }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    T& operator[](std::size_t i) noexcept { return data_[i]; }
    const T& operator[](std::size_t i) const noexcept { return data_[i]; }
    const T& at(std::size_t i) const {
        if (i >= size_) throw std::out_of_range("pumice: an array_list is shorter");
        return data_[i];
    }
    T& front() noexcept { return *data_; }
    const T& front() const noexcept { return *data_; }
    T& back() noexcept { return data_[size_ - 1]; }
    const T& back() const noexcept { return data_[size_ - 1]; }

    void reserve(std::size_t n) {
        if (n > room_) move_to(n);
    }
    void push_back(T value) {  // by value, since it may lie in this list
        make_room(1);
        new (data_ + size_++) T(static_cast<T&&>(value));
    }
    template <typename... A>
    T& emplace_back(A&&... a) {
        push_back(T(static_cast<A&&>(a)...));
        return back();
    }
    /// Of another list.
    template <typename I>
    void append(I first, I last) {
        make_room(static_cast<std::size_t>(last - first));
        for (; first != last; ++first) new (data_ + size_++) T(*first);
    }
    void append(std::initializer_list<T> values) { append(values.begin(), values.end()); }
    void pop_back() noexcept { cut(size_ - 1); }
    void clear() noexcept { cut(0); }
    void resize(std::size_t n) {
        cut(n);
        if (n > size_) make_room(n - size_);
        for (; size_ < n; ++size_) new (data_ + size_) T();
    }
    void resize(std::size_t n, const T& value) {
        const T copy = value;
        cut(n);
        if (n > size_) make_room(n - size_);
        for (; size_ < n; ++size_) new (data_ + size_) T(copy);
    }
    /// All its elements are new ones.
    void assign(std::size_t n, const T& value) { *this = array_list(n, value); }
    T* insert(const T* before, T value) {
        const std::size_t at = static_cast<std::size_t>(before - data_);
        emplace_back(std::move(value));
        for (std::size_t i = size_ - 1; i > at; --i) std::swap(data_[i], data_[i - 1]);
        return data_ + at;
    }
    template <typename I>
    T* insert(const T* before, I first, I last) {
        const std::size_t at = static_cast<std::size_t>(before - data_), old = size_;
        append(first, last);
        std::rotate(data_ + at, data_ + old, data_ + size_);
        return data_ + at;
    }
    T* erase(const T* which) { return erase(which, which + 1); }
    T* erase(const T* first, const T* last) {
        T* to = data_ + (first - data_);
        for (T* from = data_ + (last - data_); from != end(); ++from, ++to) *to = std::move(*from);
        cut(static_cast<std::size_t>(to - data_));
        return data_ + (first - data_);
    }

    /// Takes out what the predicate holds of; the others keep their order.
    template <typename P>
    friend void erase_if(array_list& from, P predicate) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < from.size_; ++i)
            if (!predicate(from.data_[i])) {
                if (kept != i) from.data_[kept] = std::move(from.data_[i]);
                ++kept;
            }
        from.cut(kept);
    }
    friend bool operator==(const array_list& a, const array_list& b) {
        if (a.size_ != b.size_) return false;
        for (std::size_t i = 0; i < a.size_; ++i)
            if (!(a.data_[i] == b.data_[i])) return false;
        return true;
    }

private:
    /// Leaves at most n elements.
    void cut(std::size_t n) noexcept {
        if constexpr (std::is_trivially_destructible_v<T>) size_ = size_ < n ? size_ : n;
        else
            while (size_ > n) data_[--size_].~T();
    }
    void make_room(std::size_t more) {
        if (more > room_ - size_) move_to(detail::list_room(size_ + more, room_));
    }
    void move_to(std::size_t room) {
        static_assert(std::is_nothrow_move_constructible_v<T> &&
                      alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
        T* to = static_cast<T*>(detail::list_memory(room, sizeof(T)));
        if constexpr (std::is_trivially_copyable_v<T>)
            detail::list_copy(to, data_, size_ * sizeof(T));
        else
            for (std::size_t i = 0; i < size_; ++i) {
                new (to + i) T(static_cast<T&&>(data_[i]));
                data_[i].~T();
            }
        ::operator delete(data_);
        data_ = to;
        room_ = room;
    }

    T* data_ = nullptr;
    std::size_t size_ = 0, room_ = 0;
};

}  // namespace pumice::inline PUMICE_ABI
