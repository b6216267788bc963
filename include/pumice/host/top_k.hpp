// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The first few of a row in order, on the host: most elements fail one comparison, many at a time.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/host/lanes.hpp>

#include <algorithm>
#include <cmath>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

template <class Key>
struct keyed_place {
    Key key;
    std::uint32_t place;
};

/// A row's elements as keys, which are in the order of what they stand for.
template <class Key>
struct keys_of_row {
    const std::byte* values;
    std::int64_t from, step;
    Key turned;  // all bits, where the order is descending
    void (*read_keys)(const keys_of_row& row, std::size_t begin, std::size_t n, Key* to);

    void read(std::size_t begin, std::size_t n, Key* to) const { read_keys(*this, begin, n, to); }
};

/// The `wanted` least keys of a row, equal ones by place. Those that may be among them are held in
/// the order of their places; when they are many, all but the least are dropped, and none that is
/// greater is held any more.
template <class Key>
class first_keys {
public:
    /// Pre: 0 < wanted <= n.
    first_keys(std::size_t wanted, const keys_of_row<Key>& row, std::size_t n)
        : wanted_(wanted), most_(std::min(n, wanted + std::max<std::size_t>(3 * wanted, 32))),
          list_(most_ + block), keys_(most_ + block) {
        if (wanted == 1) take_least(row, n);
        else take_wanted(row, n);
    }
    /// In the order of places.
    keyed_place<Key>* list() noexcept { return list_.data(); }

private:
    static constexpr std::size_t block = 64, read_at_once = 8 * block;

    void take_wanted(const keys_of_row<Key>& row, std::size_t n) {
        guess(row, n);
        take_all(row, n);
        if (count_ < wanted_) {  // a guess that was too low: equal keys, or bad luck
            count_ = 0;
            limited_ = false;
            take_all(row, n);
        }
        drop();
    }
    /// A limit that more than enough keys are below, by a few that are picked at random: without it
    /// a row that lies in the opposite order would be held whole.
    void guess(const keys_of_row<Key>& row, std::size_t n) {
        constexpr std::size_t most = 256;
        const std::size_t picked = n < 512 ? 0 : n < 8192 ? most / 4 : most;
        const double below =
            static_cast<double>(wanted_) / static_cast<double>(n) * static_cast<double>(picked);
        // Four deviations above what is expected; where that is half of all, a limit saves little.
        const auto rank = static_cast<std::size_t>(below + 4 * std::sqrt(below) + 4);
        if (rank >= picked / 2) return;
        Key some[most];
        std::uint32_t random = 1;
        for (std::size_t i = 0; i < picked; ++i) {
            random = random * 1664525u + 1013904223u;
            row.read(static_cast<std::size_t>(std::uint64_t{random} * n >> 32), 1, some + i);
        }
        std::nth_element(some, some + rank, some + picked);
        limit_ = some[rank];
        limited_ = true;
    }
    void take_all(const keys_of_row<Key>& row, std::size_t n) {
        for_each_block(row, n, [&](const Key* keys, std::size_t count, std::size_t place) {
            take(keys, count, place);
        });
    }
    /// One alone needs no list.
    void take_least(const keys_of_row<Key>& row, std::size_t n) {
        row.read(0, 1, &limit_);
        limited_ = true;
        list_[0] = {limit_, 0};
        for_each_block(row, n, [&](const Key* keys, std::size_t count, std::size_t place) {
            const Key* const least = std::min_element(keys, keys + count);
            if (!(*least < limit_)) return;
            limit_ = *least;
            place += static_cast<std::size_t>(least - keys);
            list_[0] = {limit_, static_cast<std::uint32_t>(place)};
        });
    }
    /// Of what may hold keys below the limit.
    template <class F>
    void for_each_block(const keys_of_row<Key>& row, std::size_t n, F&& f) {
        Key keys[read_at_once];
        for (std::size_t at = 0; at < n; at += read_at_once) {
            const std::size_t count = std::min(n - at, read_at_once);
            row.read(at, count, keys);
            for (std::size_t i = 0; i < count; i += block)
                if (count - i < block || !limited_ || run_wide(below_limit{}, keys + i, limit_))
                    f(keys + i, std::min(count - i, block), at + i);
        }
    }
    /// Whether a key of a block is below the limit.
    struct below_limit {
        [[gnu::always_inline]] bool operator()(const Key* keys, Key limit) const {
            using lanes = typename lanes_of<Key>::vector;
            const lanes limits = lanes{} + limit;
            lanes any{};
            for (std::size_t i = 0; i < block; i += lanes_of<Key>::count)
                any |= reinterpret_cast<lanes>(lanes_at(keys + i) < limits);
            const auto words = reinterpret_cast<typename lanes_of<std::uint64_t>::vector>(any);
            return (words[0] | words[1] | words[2] | words[3]) != 0;
        }
    };
    void take(const Key* keys, std::size_t n, std::size_t place) {
        keyed_place<Key>* to = list_.data() + count_;
        for (std::size_t i = 0; i < n; ++i) {
            *to = {keys[i], static_cast<std::uint32_t>(place + i)};
            to += !limited_ | (keys[i] < limit_);
        }
        count_ = static_cast<std::size_t>(to - list_.data());
        if (count_ > most_) drop();
    }
    void drop() {
        if (count_ == wanted_) return;
        for (std::size_t i = 0; i < count_; ++i) keys_[i] = list_[i].key;
        Key *const begin = keys_.data(), *const last = begin + wanted_ - 1;
        std::nth_element(begin, last, begin + count_);
        limit_ = *last;
        limited_ = true;
        std::size_t equal = wanted_;  // of those that equal the last, which are the first by place
        for (const Key* k = begin; k < last; ++k) equal -= *k < limit_;
        keyed_place<Key>* to = list_.data();
        for (std::size_t i = 0; i < count_; ++i) {
            const keyed_place<Key> item = list_[i];
            const bool takes_equal = item.key == limit_ && equal > 0;
            equal -= takes_equal;
            *to = item;
            to += (item.key < limit_) | takes_equal;
        }
        count_ = wanted_;
    }

    std::size_t wanted_, most_, count_ = 0;
    bool limited_ = false;  // no key is held any more but below limit_
    Key limit_{};
    array_list<keyed_place<Key>> list_;
    array_list<Key> keys_;
};

}}}  // namespace pumice::PUMICE_ABI::detail
