// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Tables by pointers and numbers that are quick to compile, and iterate in the order of insertion.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace pumice { inline namespace PUMICE_ABI {

/// Numbers keys 0, 1, 2 ... as they come. A few are looked at in turn, more by open addressing.
/// Keys stay for good.
class key_index {
public:
    static constexpr std::size_t none = ~std::size_t{0};

    std::size_t size() const noexcept { return keys_.size(); }
    std::uint64_t operator[](std::size_t number) const noexcept { return keys_[number]; }
    /// The key's number, or none.
    [[gnu::noinline]] std::size_t find(std::uint64_t key) const noexcept {
        if (slots_.empty()) {
            for (std::size_t i = 0; i < keys_.size(); ++i)
                if (keys_[i] == key) return i;
            return none;
        }
        const std::uint32_t in = slots_[slot_of(key)];
        return in == 0 ? none : in - 1;
    }
    /// The key's number; a new one is size() - 1 from now on.
    [[gnu::noinline]] std::size_t insert(std::uint64_t key) {
        if (const std::size_t known = find(key); known != none) return known;
        make_room();
        keys_.push_back(key);
        if (!slots_.empty()) slots_[slot_of(key)] = static_cast<std::uint32_t>(keys_.size());
        return keys_.size() - 1;
    }
    /// Forgets all keys and keeps the memory.
    void clear() noexcept {
        keys_.clear();
        for (std::uint32_t& slot : slots_) slot = 0;
    }
    /// After it the next insertion does not throw.
    [[gnu::noinline]] void make_room() {
        const std::size_t wanted = keys_.size() + 1;
        keys_.make_room(1);
        if (wanted <= few || 2 * wanted <= slots_.size()) return;
        std::size_t room = 64;
        while (room < 4 * wanted) room *= 2;
        slots_ = array_list<std::uint32_t>(room);
        for (std::size_t i = 0; i < keys_.size(); ++i)
            slots_[slot_of(keys_[i])] = static_cast<std::uint32_t>(i + 1);
    }

private:
    static constexpr std::size_t few = 12;

    /// Where the key stands, or the empty slot where it belongs.
    std::size_t slot_of(std::uint64_t key) const noexcept {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = (key * 0x9e3779b97f4a7c15u) >> 32 & mask;
        while (slots_[at] != 0 && keys_[slots_[at] - 1] != key) at = (at + 1) & mask;
        return at;
    }

    array_list<std::uint64_t> keys_;
    array_list<std::uint32_t> slots_;  // a key's number + 1, or 0; none while there are few keys
};

namespace detail {

template <class K>
std::uint64_t bits_of_key(K key) noexcept {
    if constexpr (std::is_pointer_v<K>) return reinterpret_cast<std::uintptr_t>(key);
    else return static_cast<std::uint64_t>(key);
}

}  // namespace detail

/// A set of pointers or integers.
template <class K>
class key_set {
public:
    /// True if it is new.
    bool insert(K key) {
        const std::size_t before = index_.size();
        return index_.insert(detail::bits_of_key(key)) == before;
    }
    bool contains(K key) const noexcept {
        return index_.find(detail::bits_of_key(key)) != key_index::none;
    }
    std::size_t size() const noexcept { return index_.size(); }
    bool empty() const noexcept { return size() == 0; }

private:
    key_index index_;
};

/// A map from pointers or integers. References to values hold until the next insertion.
template <class K, class V>
class key_map {
public:
    struct entry {
        K key;
        V value;
    };
    const entry* begin() const noexcept { return entries_.begin(); }
    const entry* end() const noexcept { return entries_.end(); }
    std::size_t size() const noexcept { return entries_.size(); }
    bool empty() const noexcept { return entries_.empty(); }

    /// The key's value, or null.
    V* find(K key) noexcept {
        const std::size_t i = index_.find(detail::bits_of_key(key));
        return i == key_index::none ? nullptr : &entries_[i].value;
    }
    const V* find(K key) const noexcept { return const_cast<key_map*>(this)->find(key); }
    bool contains(K key) const noexcept { return find(key) != nullptr; }
    /// True if the key is new; the value of one that is known stays.
    bool insert(K key, V value) {
        if (contains(key)) return false;
        add({key, std::move(value)});
        return true;
    }
    /// The key's value; a new one's is V().
    V& operator[](K key) {
        V* const known = find(key);
        return known ? *known : add({key, V()});
    }

private:
    V& add(entry e) {
        const std::uint64_t bits = detail::bits_of_key(e.key);
        index_.make_room();
        entries_.push_back(std::move(e));
        index_.insert(bits);
        return entries_.back().value;
    }

    key_index index_;
    array_list<entry> entries_;
};

}}  // namespace pumice::PUMICE_ABI
