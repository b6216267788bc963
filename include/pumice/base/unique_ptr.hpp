// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// An object that one place owns, quick to compile.
#pragma once

#include <pumice/base/config.hpp>

#include <cstddef>
#include <utility>

namespace pumice { inline namespace PUMICE_ABI {

/// std::unique_ptr's names and meanings, for what the engine keeps to itself, without a deleter of
/// one's own: each type of std::unique_ptr, whose pointer lies in a tuple, takes g++ 15 ms, and 4
/// of this one's.
template <class T>
class unique_ptr {
public:
    constexpr unique_ptr() noexcept = default;
    constexpr unique_ptr(std::nullptr_t) noexcept {}
    explicit unique_ptr(T* owned) noexcept : owned_(owned) {}
    unique_ptr(unique_ptr&& other) noexcept : owned_(other.release()) {}
    unique_ptr& operator=(unique_ptr&& other) noexcept {
        reset(other.release());
        return *this;
    }
    ~unique_ptr() { end(owned_); }

    void reset(T* owned = nullptr) noexcept { end(std::exchange(owned_, owned)); }
    [[nodiscard]] T* release() noexcept { return std::exchange(owned_, nullptr); }
    [[nodiscard]] T* get() const noexcept { return owned_; }
    T& operator*() const noexcept { return *owned_; }
    T* operator->() const noexcept { return owned_; }
    explicit operator bool() const noexcept { return owned_ != nullptr; }
    bool operator==(std::nullptr_t) const noexcept { return owned_ == nullptr; }

private:
    static void end(T* owned) noexcept {
        static_assert(sizeof(T) > 0, "the class is declared only");
        delete owned;
    }

    T* owned_ = nullptr;
};

/// An object of T made of `arguments`. Not named make_unique, which a call with an argument of std
/// would find twice.
template <class T, class... Arguments>
[[nodiscard]] unique_ptr<T> make_owned(Arguments&&... arguments) {
    return unique_ptr<T>(new T(std::forward<Arguments>(arguments)...));
}

}}  // namespace pumice::PUMICE_ABI
