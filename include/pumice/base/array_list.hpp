// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A growing array that is quick to compile.
#pragma once

#include <pumice/base/config.hpp>

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <new>
#include <stdexcept>
#include <type_traits>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

[[noreturn]] inline void throw_length() {
    throw std::length_error("pumice: no array_list can be that long");
}
/// Memory for `count` elements of `size` bytes. Throws std::length_error where no array is that
/// long.
[[nodiscard]] inline void* list_memory(std::size_t count, std::size_t size) {
    if (count > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / size)
        throw_length();
    return ::operator new(count * size);
}
/// How many elements a list gets room for when `more` do not fit. Throws std::length_error.
inline std::size_t list_room(std::size_t size, std::size_t more, std::size_t room) {
    if (more > std::numeric_limits<std::size_t>::max() - size) throw_length();
    if (size + more < 2 * room) return 2 * room;
    return size + more < 4 ? 4 : size + more;
}

/// Moves n elements to raw memory, where it is not null, and ends those that were.
using list_mover = void(void* to, void* from, std::size_t n);

/// What lists of all types are: where they grow there is one call, whatever the type.
struct list_base {
    void* memory_ = nullptr;
    std::size_t size_ = 0, room_ = 0;

    /// Room for `room` elements of so many bytes, which are moved as bytes without a mover.
    [[gnu::noinline]] void move_to(std::size_t room, std::size_t element, list_mover* mover) {
        void* const to = list_memory(room, element);
        if (mover) mover(to, memory_, size_);
        else if (size_ > 0) std::memcpy(to, memory_, size_ * element);
        ::operator delete(memory_);
        memory_ = to;
        room_ = room;
    }
    [[gnu::noinline]] void grow(std::size_t more, std::size_t element, list_mover* mover) {
        move_to(list_room(size_, more, room_), element, mover);
    }
    /// Ends the elements behind the first n, of which there are some.
    [[gnu::noinline]] void end_behind(std::size_t n, std::size_t element, list_mover* mover) {
        mover(nullptr, static_cast<char*>(memory_) + n * element, size_ - n);
        size_ = n;
    }
    [[gnu::noinline]] void end_all(list_mover* mover) {
        mover(nullptr, memory_, size_);
        ::operator delete(memory_);
    }
};

}  // namespace detail

/// std::vector's names and complexities, for what the engine keeps to itself: an
/// operation on an element type costs the compiler 3 to 5 ms, where std::vector's take 12 to 33,
/// and the engine has some seventy element types. What users see is std::vector.
template <class T>
class array_list : detail::list_base {
public:
    using value_type = T;
    using iterator = T*;
    using const_iterator = const T*;

    array_list() noexcept = default;
    explicit array_list(std::size_t n) : array_list() { resize(n); }
    array_list(std::size_t n, const T& value) : array_list() { resize(n, value); }
    array_list(std::initializer_list<T> values) : array_list() { append(values); }
    template <class Iterator>
        requires(!std::is_arithmetic_v<Iterator>)
    array_list(Iterator first, Iterator last) : array_list() {
        append(first, last);
    }
    array_list(const array_list& other) : array_list() { append(other.begin(), other.end()); }
    array_list(array_list&& other) noexcept : list_base(other) {
        other.memory_ = nullptr;
        other.size_ = other.room_ = 0;
    }
    // Two operators: one that took its argument by value would make the implicit copy assignments
    // of what has a list as a member noexcept.
    array_list& operator=(const array_list& other) {
        array_list(other).swap(*this);
        return *this;
    }
    array_list& operator=(array_list&& other) noexcept {
        array_list(static_cast<array_list&&>(other)).swap(*this);
        return *this;
    }
    ~array_list() {
        if constexpr (plain) ::operator delete(memory_);
        else if (memory_) end_all(move_each);
    }
    void swap(array_list& other) noexcept {
        const list_base base = *this;
        static_cast<list_base&>(*this) = other;
        static_cast<list_base&>(other) = base;
    }

    T* begin() noexcept { return static_cast<T*>(memory_); }
    T* end() noexcept { return static_cast<T*>(memory_) + size_; }
    const T* begin() const noexcept { return static_cast<const T*>(memory_); }
    const T* end() const noexcept { return static_cast<const T*>(memory_) + size_; }
    auto rbegin() const noexcept { return std::reverse_iterator(end()); }
    auto rend() const noexcept { return std::reverse_iterator(begin()); }
    T* data() noexcept { return static_cast<T*>(memory_); }
    const T* data() const noexcept { return static_cast<const T*>(memory_); }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    T& operator[](std::size_t i) noexcept { return static_cast<T*>(memory_)[i]; }
    const T& operator[](std::size_t i) const noexcept { return static_cast<const T*>(memory_)[i]; }
    /// Throws std::out_of_range.
    const T& at(std::size_t i) const {
        if (i >= size_) throw std::out_of_range("pumice: an array_list is shorter");
        return begin()[i];
    }
    T& front() noexcept { return *static_cast<T*>(memory_); }
    const T& front() const noexcept { return *static_cast<const T*>(memory_); }
    T& back() noexcept { return static_cast<T*>(memory_)[size_ - 1]; }
    const T& back() const noexcept { return static_cast<const T*>(memory_)[size_ - 1]; }

    void reserve(std::size_t n) {
        if (n <= room_) return;
        if constexpr (plain) move_to(n, sizeof(T), nullptr);
        else move_to(n, sizeof(T), move_each);
    }
    /// For `more` elements behind those that are there, in amortised constant time each.
    void make_room(std::size_t more) {
        static_assert(!std::is_const_v<T> && alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
        if (more <= room_ - size_) return;
        if constexpr (plain) grow(more, sizeof(T), nullptr);
        else grow(more, sizeof(T), move_each);
    }
    void push_back(T value) {  // by value: it may lie in this list
        make_room(1);
        new (static_cast<T*>(memory_) + size_++) T(static_cast<T&&>(value));
    }
    template <class... A>
    T& emplace_back(A&&... a) {
        push_back(T(static_cast<A&&>(a)...));
        return back();
    }
    /// What random-access iterators of another list or array point at.
    template <class Iterator>
    void append(Iterator first, Iterator last) {
        make_room(static_cast<std::size_t>(last - first));
        for (; first != last; ++first) {
            new (static_cast<T*>(memory_) + size_) T(*first);
            ++size_;
        }
    }
    void append(std::initializer_list<T> values) { append(values.begin(), values.end()); }
    /// Before `place` of this list; what is inserted is not of it.
    template <class Iterator>
    T* insert(const T* place, Iterator first, Iterator last) {
        const std::size_t at = static_cast<std::size_t>(place - begin()), old = size_;
        append(first, last);
        turn(at, old);
        turn(old, size_);
        turn(at, size_);
        return begin() + at;
    }
    T* insert(const T* place, T value) {
        const std::size_t at = static_cast<std::size_t>(place - begin());
        make_room(1);
        T* const here = begin() + at;
        if constexpr (plain) {
            if (at < size_) std::memmove(here + 1, here, (size_ - at) * sizeof(T));
        } else if (at < size_) {
            new (end()) T(static_cast<T&&>(back()));
            for (T* to = end() - 1; to != here; --to) *to = static_cast<T&&>(to[-1]);
            here->~T();
        }
        new (here) T(static_cast<T&&>(value));
        ++size_;
        return here;
    }
    T* erase(const T* place) { return erase(place, place + 1); }
    T* erase(const T* first, const T* last) {
        T* to = begin() + (first - begin());
        T* from = begin() + (last - begin());
        if (to != from) {
            if constexpr (plain) {
                if (from != end())
                    std::memmove(to, from, static_cast<std::size_t>(end() - from) * sizeof(T));
                to += end() - from;
            } else {
                for (; from != end(); ++from, ++to) *to = static_cast<T&&>(*from);
            }
            cut(static_cast<std::size_t>(to - begin()));
        }
        return begin() + (first - begin());
    }
    void pop_back() noexcept { cut(size_ - 1); }
    void clear() noexcept { cut(0); }
    void resize(std::size_t n) {
        cut(n);
        if (n > size_) make_room(n - size_);
        for (; size_ < n; ++size_) new (static_cast<T*>(memory_) + size_) T();
    }
    void resize(std::size_t n, const T& value) {
        const T copy = value;
        cut(n);
        if (n > size_) make_room(n - size_);
        for (; size_ < n; ++size_) new (static_cast<T*>(memory_) + size_) T(copy);
    }
    /// n of `value` and nothing else.
    void assign(std::size_t n, const T& value) { *this = array_list(n, value); }

    friend bool operator==(const array_list& a, const array_list& b) {
        if (a.size_ != b.size_) return false;
        for (std::size_t i = 0; i < a.size_; ++i)
            if (!(a.begin()[i] == b.begin()[i])) return false;
        return true;
    }
    /// Takes out what the predicate holds of; the others keep their order.
    template <class Predicate>
    friend void erase_if(array_list& list, Predicate predicate) {
        T* to = list.begin();
        for (T& element : list) {
            if (predicate(element)) continue;
            if (to != &element) *to = static_cast<T&&>(element);
            ++to;
        }
        list.erase(to, list.end());
    }

private:
    /// [first, last) in the opposite order.
    void turn(std::size_t first, std::size_t last) {
        for (; first + 1 < last; ++first) {
            T& other = begin()[--last];
            T one(static_cast<T&&>(begin()[first]));
            begin()[first] = static_cast<T&&>(other);
            other = static_cast<T&&>(one);
        }
    }
    // Of the traits only this one, which compilers have built in: others instantiate a dozen
    // classes.
    static constexpr bool plain = std::is_trivially_copyable_v<T>;

    /// Leaves at most n elements.
    void cut(std::size_t n) noexcept {
        if constexpr (plain) size_ = size_ < n ? size_ : n;
        else if (size_ > n) end_behind(n, sizeof(T), move_each);
    }
    static void move_each(void* to, void* from, std::size_t n) {
        for (T *source = static_cast<T*>(from), *last = source + n; source != last; ++source) {
            static_assert(noexcept(T(static_cast<T&&>(*source))));
            if (to) to = new (to) T(static_cast<T&&>(*source)) + 1;
            source->~T();
        }
    }
};

}}  // namespace pumice::PUMICE_ABI
