// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Hazards by byte range and the greedy order.
#include <pumice/exec/hazards.hpp>

#include <doctest/doctest.h>

#include <random>

namespace pm = pumice;

namespace {

pm::byte_range read(int memory) { return {std::uint64_t(memory), 0, 16, false}; }
pm::byte_range write(int memory) { return {std::uint64_t(memory), 0, 16, true}; }

/// Barriers when items run in the given order, after work that wrote `before`.
int barriers(const pm::array_list<pm::ordered_item>& items,
             const pm::array_list<std::size_t>& order,
             const pm::array_list<pm::byte_range>& before = {}) {
    pm::hazard_tracker tracker;
    tracker.add(before);
    int count = 0;
    for (std::size_t i : order) {
        if (tracker.conflicts(items[i].accesses)) {
            ++count;
            tracker.clear();
        }
        tracker.add(items[i].accesses);
    }
    return count;
}

pm::array_list<std::size_t> in_order(std::size_t n) {
    pm::array_list<std::size_t> order;
    for (std::size_t i = 0; i < n; ++i) order.push_back(i);
    return order;
}

}  // namespace

TEST_CASE("each kind of hazard conflicts, two reads do not") {
    pm::hazard_tracker t;
    t.add({write(1)});
    CHECK(t.conflicts({read(1)}));
    CHECK(t.conflicts({write(1)}));
    CHECK_FALSE(t.conflicts({read(2)}));
    t.clear();
    t.add({read(1)});
    CHECK(t.conflicts({write(1)}));
    CHECK_FALSE(t.conflicts({read(1)}));
}

TEST_CASE("ranges decide, not buffers: one common byte is a hazard, neighbours are none") {
    pm::hazard_tracker t;
    t.add({{1, 0, 100, true}});
    CHECK(t.conflicts({{1, 99, 200, false}}));
    CHECK_FALSE(t.conflicts({{1, 100, 200, false}}));
    CHECK_FALSE(t.conflicts({{2, 0, 100, false}}));
}

TEST_CASE("a diamond has two barriers, a chain of n has n - 1, n independent items none") {
    // x -> a; a -> b, a -> c; b, c -> d
    const pm::array_list<pm::ordered_item> diamond{{{read(0), write(1)}},
                                                   {{read(1), write(2)}},
                                                   {{read(1), write(3)}},
                                                   {{read(2), read(3), write(4)}}};
    CHECK(barriers(diamond, in_order(4)) == 2);
    CHECK(barriers(diamond, pm::bunch(diamond)) == 2);
    pm::array_list<pm::ordered_item> chain, apart;
    for (int i = 0; i < 10; ++i) {
        chain.push_back({{read(i), write(i + 1)}});
        apart.push_back({{read(100 + i), write(200 + i)}});
    }
    CHECK(barriers(chain, pm::bunch(chain)) == 9);
    CHECK(barriers(apart, pm::bunch(apart)) == 0);
}

TEST_CASE("the attention block of eight nodes: five barriers in order, three reordered") {
    enum { attn_norm, wq, wk, wv, q, rq, k, rk, v, cache_k, cache_v, out };
    const pm::ordered_item mul_q{{read(attn_norm), read(wq), write(q)}},
        rope_q{{read(q), write(rq)}};
    const pm::ordered_item mul_k{{read(attn_norm), read(wk), write(k)}},
        rope_k{{read(k), write(rk)}};
    const pm::ordered_item mul_v{{read(attn_norm), read(wv), write(v)}};
    const pm::ordered_item set_k{{read(rk), write(cache_k)}}, set_v{{read(v), write(cache_v)}};
    const pm::ordered_item flash{{read(rq), read(cache_k), read(cache_v), write(out)}};
    const pm::array_list<pm::byte_range> before{write(attn_norm)};
    const pm::array_list<pm::ordered_item> eight{mul_q, rope_q, mul_k, rope_k,
                                                 mul_v, set_k,  set_v, flash};
    CHECK(barriers(eight, in_order(8), before) == 5);
    // Rotating and storing K is one kernel there.
    const pm::ordered_item rope_set_k{{read(k), write(cache_k)}};
    const pm::array_list<pm::ordered_item> fused{mul_q, rope_q, mul_k, rope_set_k,
                                                 mul_v, set_v,  flash};
    CHECK(barriers(fused, pm::bunch(fused), before) == 3);
}

TEST_CASE("a new order keeps the order of every conflicting pair, on random programs") {
    std::mt19937 random(1);
    for (int round = 0; round < 500; ++round) {
        pm::array_list<pm::ordered_item> items;
        const int n = 1 + int(random() % 60);
        for (int i = 0; i < n; ++i) {
            pm::ordered_item item;
            for (unsigned r = unsigned(random() % 3); r > 0; --r)
                item.accesses.push_back(read(int(random() % 12)));
            item.accesses.push_back(write(int(random() % 12)));
            items.push_back(item);
        }
        const pm::array_list<std::size_t> order = pm::bunch(items);
        REQUIRE(order.size() == items.size());
        pm::array_list<std::size_t> place(items.size());
        for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
        for (std::size_t a = 0; a < items.size(); ++a)
            for (std::size_t b = a + 1; b < items.size(); ++b) {
                pm::hazard_tracker t;
                t.add(items[a].accesses);
                if (t.conflicts(items[b].accesses)) CHECK(place[a] < place[b]);
            }
        CHECK(barriers(items, order) <= barriers(items, in_order(items.size())));
    }
}

TEST_CASE("a tracker that remembers too much is full, and one that was cleared is not") {
    pm::hazard_tracker t;
    for (int i = 0; i < int(pm::hazard_tracker::most); ++i) {
        CHECK_FALSE(t.full());
        t.add({read(i)});
    }
    CHECK(t.full());
    t.clear();
    CHECK_FALSE(t.full());
    pm::array_list<pm::ordered_item>
        apart;  // many independent items keep their order, and each comes once
    for (int i = 0; i < 2000; ++i) apart.push_back({{read(i), write(5000 + i)}});
    CHECK(pm::bunch(apart) == in_order(2000));
}
