// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Hazards by byte range: a barrier is due only where an access meets one that was not synced yet.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/config.hpp>

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
    }
    bool empty() const noexcept { return read_.empty() && written_.empty(); }
    std::size_t size() const noexcept { return read_.size() + written_.size(); }

    /// It remembers so much that comparing costs more than a barrier would.
    bool full() const noexcept { return size() >= most; }
    static constexpr std::size_t most = 512;

private:
    array_list<byte_range> read_, written_;
};

/// What a scheduled item reads and writes.
struct ordered_item {
    array_list<byte_range> accesses;
};

/// A new order that bunches independent items between barriers: items keep their hazards' order.
/// Greedy, as in ggml.
inline array_list<std::size_t> bunch(const array_list<ordered_item>& items) {
    constexpr std::size_t window = 32;  // how far an item may be pulled forward
    array_list<std::size_t> order;
    array_list<char> done(items.size(), 0);
    hazard_tracker batch;
    for (std::size_t first = 0; first < items.size();) {
        if (done[first]) {
            ++first;
            continue;
        }
        if (batch.full() || batch.conflicts(items[first].accesses)) batch.clear();
        hazard_tracker skipped;  // an item may not pass one that it conflicts with
        for (std::size_t i = first, seen = 0; i < items.size() && seen < window; ++i) {
            if (done[i]) continue;
            ++seen;
            const bool free =
                !batch.conflicts(items[i].accesses) && !skipped.conflicts(items[i].accesses);
            if (!free) {
                skipped.add(items[i].accesses);
                continue;
            }
            batch.add(items[i].accesses);
            order.push_back(i);
            done[i] = 1;
        }
    }
    return order;
}

/// An item's place in the order of recording, and whether a barrier comes before it.
struct placed_item {
    std::size_t index;
    bool barrier;
};

/// Items in bunched order with a barrier where a hazard asks for one. `open` is what was not synced
/// before, and then what is not synced after.
inline array_list<placed_item> arrange(const array_list<ordered_item>& items,
                                       hazard_tracker& open) {
    array_list<placed_item> placed;
    for (const std::size_t i : bunch(items)) {
        const bool barrier = open.full() || open.conflicts(items[i].accesses);
        if (barrier) open.clear();
        open.add(items[i].accesses);
        placed.push_back({i, barrier});
    }
    return placed;
}

}}  // namespace pumice::PUMICE_ABI
