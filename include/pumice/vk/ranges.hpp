// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Hands out ranges of a block of memory and joins them again: plain arithmetic, no Vulkan.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/memory_role.hpp>

#include <bit>
#include <cstdint>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// A two-level segregated fit (Masmano et al., "TLSF", ECRTS 2004): free ranges lie in bins by
/// size, eight bins to a power of two, and neighbours join when freed. Both operations take
/// constant time. Sizes and offsets count units of the caller's choice. Not thread-safe.
class ranges {
public:
    static constexpr std::uint32_t none = ~0u;

    struct range {
        std::uint32_t offset = 0;
        std::uint32_t node = none;  // what `release` wants; `none`: there was no room
    };

    explicit ranges(std::uint32_t units) : free_(units), total_(units) {
        for (std::uint32_t& head : heads_) head = none;
        insert(take_node({0, units, none, none, none, none, false, {}}));
    }

    /// pre: units > 0. May throw std::bad_alloc, and has changed nothing then.
    range allocate(std::uint32_t units) {
        const std::uint32_t found = find(units);
        if (found == none) return {};
        if (spare_ == none && nodes_[found].size > units) {
            nodes_.push_back({});  // the one step that can throw
            give_node(static_cast<std::uint32_t>(nodes_.size() - 1));
        }
        remove(found);
        if (nodes_[found].size > units) {
            const std::uint32_t next = nodes_[found].next;
            const std::uint32_t rest = take_node({nodes_[found].offset + units,
                                                  nodes_[found].size - units,
                                                  found,
                                                  next,
                                                  none,
                                                  none,
                                                  false,
                                                  {}});
            if (next != none) nodes_[next].previous = rest;
            nodes_[found].next = rest;
            nodes_[found].size = units;
            insert(rest);
        }
        nodes_[found].used = true;
        free_ -= units;
        return {nodes_[found].offset, found};
    }

    /// Frees a range and joins it with free neighbours.
    void release(std::uint32_t node) noexcept {
        PUMICE_ASSERT(node < nodes_.size() && nodes_[node].used);
        nodes_[node].used = false;
        free_ += nodes_[node].size;
        if (const std::uint32_t next = nodes_[node].next; next != none && !nodes_[next].used) {
            remove(next);
            swallow(node, next);
        }
        if (const std::uint32_t previous = nodes_[node].previous;
            previous != none && !nodes_[previous].used) {
            remove(previous);
            swallow(previous, node);
            node = previous;
        }
        insert(node);
    }

    /// Who holds a range, until it is released. pre: it is handed out.
    void set_label(std::uint32_t node, const memory_label& label) noexcept {
        nodes_[node].label = label;
    }
    const memory_label& label(std::uint32_t node) const noexcept { return nodes_[node].label; }
    /// Calls f(label, units) for each range that is handed out.
    template <class F>
    void each_used(F&& f) const {
        for (const entry& e : nodes_)
            if (e.used) f(e.label, e.size);
    }

    std::uint32_t size() const noexcept { return total_; }
    std::uint32_t free_units() const noexcept { return free_; }
    bool unused() const noexcept { return free_ == total_; }

private:
    struct entry {
        std::uint32_t offset = 0, size = 0;
        std::uint32_t previous = none, next = none;  // by address
        std::uint32_t previous_in_bin = none,
                      next_in_bin = none;  // in a bin; next_in_bin also links spare nodes
        bool used = false;
        memory_label label = {};
    };

    static constexpr std::uint32_t bin_count = 240;

    /// The bin that holds ranges of this size: those below 8 have one each, then 3 bits after the
    /// leading one.
    static constexpr std::uint32_t bin_of(std::uint32_t size) noexcept {
        if (size < 8) return size;
        const auto shift = static_cast<std::uint32_t>(std::bit_width(size)) - 4;
        return ((shift + 1) << 3) | ((size >> shift) & 7);
    }

    static constexpr bool fills_bin(std::uint32_t size) noexcept {
        return size < 16 || (size & ((1u << (std::bit_width(size) - 4)) - 1)) == 0;
    }

    std::uint32_t find(std::uint32_t units) const noexcept {
        const std::uint32_t own = bin_of(units);
        const std::uint32_t sure =
            own + (fills_bin(units) ? 0 : 1);  // each range in it is large enough
        if (const std::uint32_t bin = first_bin(sure); bin != none) return heads_[bin];
        // Ranges in the request's own bin may do: of a block's full size, for one. Bounded, to stay
        // constant.
        int steps = 32;
        for (std::uint32_t n = heads_[own]; n != none && steps-- > 0; n = nodes_[n].next_in_bin)
            if (nodes_[n].size >= units) return n;
        return none;
    }

    /// The first bin from `bin` on that holds a range.
    std::uint32_t first_bin(std::uint32_t bin) const noexcept {
        for (std::uint32_t word = bin / 64; word < 4; ++word) {
            std::uint64_t bits = filled_[word];
            if (word == bin / 64) bits &= ~std::uint64_t{0} << (bin % 64);
            if (bits) return word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
        }
        return none;
    }

    void insert(std::uint32_t node) noexcept {
        const std::uint32_t bin = bin_of(nodes_[node].size);
        nodes_[node].previous_in_bin = none;
        nodes_[node].next_in_bin = heads_[bin];
        if (heads_[bin] != none) nodes_[heads_[bin]].previous_in_bin = node;
        heads_[bin] = node;
        filled_[bin / 64] |= std::uint64_t{1} << (bin % 64);
    }

    void remove(std::uint32_t node) noexcept {
        const entry& e = nodes_[node];
        const std::uint32_t bin = bin_of(e.size);
        if (e.next_in_bin != none) nodes_[e.next_in_bin].previous_in_bin = e.previous_in_bin;
        if (e.previous_in_bin != none) nodes_[e.previous_in_bin].next_in_bin = e.next_in_bin;
        else heads_[bin] = e.next_in_bin;
        if (heads_[bin] == none) filled_[bin / 64] &= ~(std::uint64_t{1} << (bin % 64));
    }

    void swallow(std::uint32_t left, std::uint32_t right) noexcept {
        nodes_[left].size += nodes_[right].size;
        nodes_[left].next = nodes_[right].next;
        if (nodes_[left].next != none) nodes_[nodes_[left].next].previous = left;
        give_node(right);
    }

    std::uint32_t take_node(const entry& value) {
        if (spare_ == none) {
            nodes_.push_back(value);
            return static_cast<std::uint32_t>(nodes_.size() - 1);
        }
        const std::uint32_t node = spare_;
        spare_ = nodes_[node].next_in_bin;
        nodes_[node] = value;
        return node;
    }

    void give_node(std::uint32_t node) noexcept {
        nodes_[node] = {};
        nodes_[node].next_in_bin = spare_;
        spare_ = node;
    }

    std::uint32_t free_, total_;
    std::uint32_t heads_[bin_count];
    std::uint64_t filled_[4] = {};
    std::uint32_t spare_ = none;
    array_list<entry> nodes_;
};

}}}  // namespace pumice::PUMICE_ABI::vulkan
