// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Where the buffers of a fixed sequence of work lie in one piece of memory, by when each is needed.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/sort_numbers.hpp>
#include <pumice/base/span.hpp>
#include <pumice/core/checked.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

/// A piece of memory that is needed from moment `first` to moment `last`, both included.
struct planned_buffer {
    std::int64_t bytes = 0;
    int first = 0, last = 0;
    /// Index of a buffer whose memory it may take over: where that one's `last` is its own `first`,
    /// it is no smaller, no other has taken it, and among buffers of one moment it comes earlier.
    int in_place_of = -1;
    std::string name{};
};

/// Every buffer counts as the multiple of the alignment that holds it.
struct memory_plan {
    array_list<std::int64_t> offsets;
    std::int64_t size = 0;   // of the piece that holds them all
    std::int64_t sum = 0;    // what they would take with nothing shared
    std::int64_t bound = 0;  // the most that is needed at one moment: no plan is smaller
};

namespace detail {

/// Buffers that take over one place from each other. What they need of it only shrinks.
struct memory_chain {
    struct step {
        int last;
        std::int64_t bytes;
    };
    int first = 0;
    array_list<step> steps;
    array_list<std::size_t> members;

    int last() const { return steps.back().last; }
    std::int64_t bytes() const { return steps.front().bytes; }
    /// pre: first <= moment <= last()
    std::int64_t bytes_at(int moment) const {
        std::size_t low = 0;
        for (std::size_t high = steps.size() - 1; low < high;) {
            const std::size_t middle = (low + high) / 2;
            steps[middle].last < moment ? low = middle + 1 : high = middle;
        }
        return steps[low].bytes;
    }
};

/// The chains, and the plan's sum.
inline array_list<memory_chain> memory_chains(span<const planned_buffer> buffers,
                                              std::int64_t alignment, std::int64_t& sum) {
    const std::size_t none = buffers.size();
    array_list<std::size_t> taker(buffers.size(), none);
    array_list<char> takes(buffers.size(), 0);
    array_list<std::int64_t> bytes;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        const planned_buffer& b = buffers[i];
        if (b.bytes < 0 || b.first > b.last || b.in_place_of >= static_cast<std::int64_t>(none))
            fail(errc::invalid_argument, "memory plan",
                 {"buffer ", i, " (", b.name, ") has ", b.bytes, " bytes from moment ", b.first,
                  " to ", b.last, ", in place of ", b.in_place_of, " of ", none});
        bytes.push_back(checked_add(b.bytes, alignment - 1, "memory plan") / alignment * alignment);
        sum = checked_add(sum, bytes.back(), "memory plan");
        if (b.in_place_of < 0) continue;
        const auto from = static_cast<std::size_t>(b.in_place_of);
        const planned_buffer& a = buffers[from];
        if (a.last != b.first || b.bytes > a.bytes || taker[from] != none) continue;
        if (a.first == b.first && from >= i)
            continue;  // else two of one moment could take each other
        taker[from] = i;
        takes[i] = 1;
    }
    array_list<memory_chain> chains;
    for (std::size_t head = 0; head < buffers.size(); ++head) {
        if (takes[head]) continue;
        memory_chain chain{buffers[head].first, {}, {}};
        for (std::size_t i = head; i != none; i = taker[i]) {
            chain.members.push_back(i);
            if (chain.steps.empty() || chain.steps.back().last < buffers[i].last)
                chain.steps.push_back({buffers[i].last, bytes[i]});
        }
        chains.push_back(std::move(chain));
    }
    return chains;
}

/// The most that the chains need at one moment.
inline std::int64_t memory_bound(const array_list<memory_chain>& chains) {
    struct change {
        std::int64_t moment, bytes;
    };
    array_list<change> changes;
    for (const memory_chain& c : chains) {
        std::int64_t from = c.first;
        for (const memory_chain::step& s : c.steps) {
            changes.push_back({from, s.bytes});
            changes.push_back({from = std::int64_t{s.last} + 1, -s.bytes});
        }
    }
    std::sort(changes.begin(), changes.end(), [](const change& a, const change& b) {
        return a.moment != b.moment ? a.moment < b.moment : a.bytes < b.bytes;
    });
    std::int64_t live = 0, most = 0;
    for (const change& c : changes) most = std::max(most, live += c.bytes);
    return most;
}

/// Places the chains in the given order, each into the lowest gap that its neighbours in time
/// leave, until one ends at `limit` or beyond. Gives that one's place in the order, and in `size`
/// what those before it take.
inline std::size_t place(const array_list<memory_chain>& chains,
                         const array_list<std::size_t>& order, std::int64_t limit,
                         array_list<std::int64_t>& offsets, std::int64_t& size) {
    struct placed {
        std::int64_t offset;
        int first, last;
        const memory_chain* chain;
    };
    struct taken {
        std::int64_t from, to;  // an offset strictly between them would overlap
    };
    array_list<placed> done;  // by offset
    array_list<taken> neighbours;
    size = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const memory_chain& c = chains[order[i]];
        const int last = c.last();
        neighbours.clear();
        for (const placed& d : done) {
            const int meet = std::max(c.first, d.first);
            if (meet > last || meet > d.last) continue;
            // Both are at their largest when they meet.
            neighbours.push_back({d.offset - c.bytes_at(meet), d.offset + d.chain->bytes_at(meet)});
        }
        const auto before = [](const taken& a, const taken& b) { return a.from < b.from; };
        if (!std::is_sorted(neighbours.begin(), neighbours.end(), before))
            std::sort(neighbours.begin(), neighbours.end(), before);
        std::int64_t end = 0;
        for (const taken& t : neighbours) {
            if (t.from >= end) break;
            end = std::max(end, t.to);
        }
        if (end + c.bytes() >= limit) return i;
        offsets[order[i]] = end;
        size = std::max(size, end + c.bytes());
        const auto at = std::upper_bound(done.begin(), done.end(), end,
                                         [](std::int64_t offset, const placed& d) {
                                             return offset < d.offset;
                                         });
        done.insert(at, {end, c.first, last, &c});
    }
    return order.size();
}

/// Places the chains as their times come, each into the lowest gap that is wide enough then. Gives
/// what they take. The time is that of sorting, as long as memory is given back in few pieces.
inline std::int64_t place_by_time(const array_list<memory_chain>& chains,
                                  array_list<std::size_t> order,
                                  array_list<std::int64_t>& offsets) {
    struct piece {
        std::int64_t from, to;
    };
    array_list<piece> gaps;  // by offset; behind `end` all is free
    std::int64_t end = 0, size = 0;
    const auto give_back = [&](piece p) {
        const auto next = std::lower_bound(gaps.begin(), gaps.end(), p,
                                           [](piece a, piece b) { return a.from < b.from; });
        auto i = static_cast<std::size_t>(next - gaps.begin());
        gaps.insert(next, p);
        if (i + 1 < gaps.size() && gaps[i].to == gaps[i + 1].from) {
            gaps[i].to = gaps[i + 1].to;
            gaps.erase(gaps.begin() + i + 1);
        }
        if (i > 0 && gaps[i - 1].to == gaps[i].from) {
            gaps[i - 1].to = gaps[i].to;
            gaps.erase(gaps.begin() + i);
        }
        if (gaps.back().to == end) {
            end = gaps.back().from;
            gaps.pop_back();
        }
    };
    array_list<std::size_t> live;  // a heap, the first to end in front
    const auto later = [&](std::size_t a, std::size_t b) {
        return chains[a].last() > chains[b].last();
    };
    sort_numbers(order, [&](std::size_t a, std::size_t b) {
        return chains[a].first != chains[b].first ? chains[a].first < chains[b].first : a < b;
    });
    for (const std::size_t number : order) {
        const memory_chain& c = chains[number];
        while (!live.empty() && chains[live.front()].last() < c.first) {
            const std::size_t done = live.front();
            std::pop_heap(live.begin(), live.end(), later);
            live.pop_back();
            give_back({offsets[done], offsets[done] + chains[done].bytes()});
        }
        const std::int64_t bytes = c.bytes();
        piece* const gap =
            std::find_if(gaps.begin(), gaps.end(), [&](piece p) { return p.to - p.from >= bytes; });
        if (gap == gaps.end()) {
            offsets[number] = end;
            size = std::max(size, end += bytes);
        } else {
            offsets[number] = gap->from;
            gap->from += bytes;
            if (gap->from == gap->to) gaps.erase(gap);
        }
        live.push_back(number);
        std::push_heap(live.begin(), live.end(), later);
    }
    return size;
}

}  // namespace detail

/// Places buffers so that those needed at one moment do not overlap: greedily, in three orders,
/// each changed as long as that is cheap: what ended too high comes earlier. The time is quadratic
/// in the number of buffers; where there are many thousands, they are placed once, in the order of
/// time. Throws errc::invalid_argument, errc::size_overflow.
inline memory_plan plan_memory(span<const planned_buffer> buffers, std::int64_t alignment = 256) {
    if (alignment <= 0)
        fail(errc::invalid_argument, "memory plan", {"the alignment is ", alignment});
    memory_plan plan;
    const array_list<detail::memory_chain> chains =
        detail::memory_chains(buffers, alignment, plan.sum);
    plan.bound = detail::memory_bound(chains);
    array_list<std::size_t> order;
    for (std::size_t i = 0; i < chains.size(); ++i)
        if (chains[i].bytes() > 0) order.push_back(i);

    array_list<std::int64_t> offsets(chains.size(), 0), best = offsets;
    plan.size = order.empty() ? 0 : std::numeric_limits<std::int64_t>::max();
    using chain = const detail::memory_chain&;
    const auto attempt = [&](bool (*before)(chain, chain)) {
        // Equal chains stay in the order of the last attempt.
        array_list<std::size_t> place(chains.size());
        for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
        sort_numbers(order, [&](std::size_t a, std::size_t b) {
            return before(chains[a], chains[b]) ||
                   (!before(chains[b], chains[a]) && place[a] < place[b]);
        });
        std::size_t comparisons = 0;
        for (int tries = 0; tries < 50 && comparisons < 3'000'000 && plan.size != plan.bound;
             ++tries) {
            std::int64_t size = 0;
            const std::size_t placed = detail::place(chains, order, plan.size, offsets, size);
            comparisons += placed * placed / 2;
            if (placed == order.size()) {
                plan.size = size;
                best = offsets;
                continue;
            }
            const auto first = order.begin() + static_cast<std::ptrdiff_t>(placed / 2),
                       late = order.begin() + static_cast<std::ptrdiff_t>(placed);
            std::rotate(first, late, late + 1);
        }
    };
    constexpr std::size_t many = 16384;
    if (order.size() > many) {
        plan.size = detail::place_by_time(chains, order, best);
    } else {
        attempt([](chain a, chain b) { return a.first < b.first; });
        attempt([](chain a, chain b) { return a.bytes() > b.bytes(); });
        attempt([](chain a, chain b) {
            const auto area = [](chain c) {
                return static_cast<double>(c.bytes()) *
                       (static_cast<double>(c.last()) - c.first + 1);
            };
            return area(a) > area(b);
        });
    }

    plan.offsets.resize(buffers.size());
    for (std::size_t i = 0; i < chains.size(); ++i)
        for (std::size_t member : chains[i].members) plan.offsets[member] = best[i];
    return plan;
}

}}  // namespace pumice::PUMICE_ABI
