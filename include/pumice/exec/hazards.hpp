// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Hazards by byte range: a barrier is due only where an access meets one that was not synced yet.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/config.hpp>
#include <pumice/base/span.hpp>

#include <cstdint>

namespace pumice { inline namespace PUMICE_ABI {

/// Bytes [begin, end) of some memory; what `memory` is, the caller knows (a buffer's handle).
struct byte_range {
    std::uint64_t memory = 0;
    std::int64_t begin = 0, end = 0;
    bool write = false;

    friend bool overlaps(const byte_range& a, const byte_range& b) noexcept {
        return a.memory == b.memory && a.begin < b.end && b.begin < a.end;
    }
};

/// Remembers reads and writes since the last barrier.
class hazard_tracker {
public:
    /// True where an access is a read after write, a write after read or a write after write.
    bool conflicts(const array_list<byte_range>& accesses) const noexcept {
        for (const byte_range& a : accesses) {
            for (const byte_range& w : written_)
                if (overlaps(a, w)) return true;
            if (!a.write) continue;
            for (const byte_range& r : read_)
                if (overlaps(a, r)) return true;
        }
        return false;
    }
    /// After it `add` of so many accesses does not throw.
    void make_room(std::size_t accesses) {
        read_.make_room(accesses);
        written_.make_room(accesses);
    }
    void add(const array_list<byte_range>& accesses) {
        for (const byte_range& a : accesses) (a.write ? written_ : read_).push_back(a);
    }
    /// A full barrier was recorded: everything before it is visible.
    void clear() noexcept {
        read_.clear();
        written_.clear();
        unknown_ = false;
    }
    /// What was added is not what came to be: the next item needs a barrier.
    void lose() noexcept { unknown_ = true; }
    bool empty() const noexcept { return read_.empty() && written_.empty() && !unknown_; }
    std::size_t size() const noexcept { return read_.size() + written_.size(); }

    /// It remembers so much that comparing costs more than a barrier would.
    bool full() const noexcept { return size() >= most || unknown_; }
    static constexpr std::size_t most = 512;

private:
    array_list<byte_range> read_, written_;
    bool unknown_ = false;
};

/// What a scheduled item reads and writes.
struct ordered_item {
    array_list<byte_range> accesses;
};

/// Items in a list that keeps their memory when it is cleared.
class ordered_items {
public:
    /// A new one, without accesses; valid until the next.
    ordered_item& add() {
        if (size_ == list_.size()) list_.emplace_back();
        ordered_item& item = list_[size_++];
        item.accesses.clear();
        return item;
    }
    void clear() noexcept { size_ = 0; }
    operator span<const ordered_item>() const noexcept { return {list_.data(), size_}; }

private:
    array_list<ordered_item> list_;
    std::size_t size_ = 0;
};

/// An item's place in the order of recording, and whether a barrier comes before it.
struct placed_item {
    std::size_t index;
    bool barrier;
};

/// Finds orders. Keeps its memory from one to the next, and its answers until then.
class arranger {
public:
    /// A new order that bunches independent items between barriers: items keep their hazards'
    /// order. Greedy, as in ggml.
    const array_list<std::size_t>& bunch(span<const ordered_item> items) {
        constexpr std::size_t window = 32;  // how far an item may be pulled forward
        order_.clear();
        done_.clear();
        batch_.clear();
        if (items.size() == 1) {
            order_.push_back(0);
            return order_;
        }
        done_.resize(items.size());
        for (std::size_t first = 0; first < items.size();) {
            if (done_[first]) {
                ++first;
                continue;
            }
            if (batch_.full() || batch_.conflicts(items[first].accesses)) batch_.clear();
            skipped_.clear();  // an item may not pass one that it conflicts with
            for (std::size_t i = first, seen = 0; i < items.size() && seen < window; ++i) {
                if (done_[i]) continue;
                ++seen;
                const bool free =
                    !batch_.conflicts(items[i].accesses) && !skipped_.conflicts(items[i].accesses);
                if (!free) {
                    skipped_.add(items[i].accesses);
                    continue;
                }
                batch_.add(items[i].accesses);
                order_.push_back(i);
                done_[i] = 1;
            }
        }
        return order_;
    }

    /// Items in bunched order with a barrier where a hazard asks for one. `open` is what was not
    /// synced before, and then what is not synced after.
    const array_list<placed_item>& arrange(span<const ordered_item> items, hazard_tracker& open) {
        placed_.clear();
        for (const std::size_t i : bunch(items)) {
            const bool barrier = open.full() || open.conflicts(items[i].accesses);
            if (barrier) open.clear();
            open.add(items[i].accesses);
            placed_.push_back({i, barrier});
        }
        return placed_;
    }

private:
    array_list<std::size_t> order_;
    array_list<char> done_;
    hazard_tracker batch_, skipped_;
    array_list<placed_item> placed_;
};

inline array_list<std::size_t> bunch(const array_list<ordered_item>& items) {
    return arranger().bunch({items.data(), items.size()});
}
inline array_list<placed_item> arrange(const array_list<ordered_item>& items,
                                       hazard_tracker& open) {
    return arranger().arrange({items.data(), items.size()}, open);
}

}}  // namespace pumice::PUMICE_ABI
