// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/vk/ranges.hpp>

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <string>

using pumice::vulkan::ranges;

TEST_CASE("ranges: everything can be taken as one range, and again after it was freed") {
    for (const std::uint32_t size : {1u, 2u, 7u, 8u, 15u, 17u, 100u, 4097u, 262143u, 0xfffffff0u}) {
        ranges r(size);
        CHECK(r.unused());
        for (int i = 0; i < 3; ++i) {
            const auto all = r.allocate(size);
            REQUIRE(all.node != ranges::none);
            CHECK(all.offset == 0);
            CHECK(r.free_units() == 0);
            CHECK(r.allocate(1).node == ranges::none);
            r.release(all.node);
            CHECK(r.unused());
        }
    }
}

TEST_CASE("ranges: what is too large is refused") {
    ranges r(64);
    CHECK(r.allocate(65).node == ranges::none);
    CHECK(r.allocate(ranges::none).node == ranges::none);
    const auto half = r.allocate(32);
    CHECK(r.allocate(33).node == ranges::none);
    CHECK(r.allocate(32).node != ranges::none);
    r.release(half.node);
    CHECK(r.free_units() == 32);
}

TEST_CASE("ranges: neighbours join from both sides") {
    ranges r(30);
    const auto a = r.allocate(10), b = r.allocate(10), c = r.allocate(10);
    CHECK(r.allocate(1).node == ranges::none);
    r.release(a.node);
    r.release(c.node);
    CHECK(r.allocate(11).node == ranges::none);
    r.release(b.node);
    CHECK(r.unused());
    CHECK(r.allocate(30).node != ranges::none);
}

TEST_CASE(
    "ranges: random use never overlaps, and finds room whenever a free range is surely large "
    "enough") {
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        std::mt19937 engine(seed);
        const auto random = [&engine](std::size_t below) {
            return static_cast<std::uint32_t>(engine() % below);
        };
        const std::uint32_t total = 1000 + random(100000);
        ranges r(total);
        std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>>
            live;  // offset -> size, node
        std::uint32_t used = 0;
        const auto largest_gap = [&] {
            std::uint32_t at = 0, best = 0;
            for (const auto& [offset, each] : live) {
                best = std::max(best, offset - at);
                at = offset + each.first;
            }
            return std::max(best, total - at);
        };
        bool sound = true;
        for (int step = 0; step < 3000; ++step) {
            if (live.empty() || random(5) < 3) {
                const std::uint32_t limit = random(10) == 0 ? total / 2 : total / 50;
                const std::uint32_t size = 1 + random(limit);
                const auto found = r.allocate(size);
                if (found.node == ranges::none) {
                    // A bin is an eighth of a power of two wide.
                    sound = sound && largest_gap() < size + size / 8 + 1;
                    continue;
                }
                const auto next = live.lower_bound(found.offset);
                if (next != live.end()) sound = sound && found.offset + size <= next->first;
                if (next != live.begin())
                    sound = sound &&
                            std::prev(next)->first + std::prev(next)->second.first <= found.offset;
                sound = sound && found.offset + size <= total;
                live[found.offset] = {size, found.node};
                used += size;
            } else {
                auto victim = std::next(live.begin(), random(live.size()));
                r.release(victim->second.second);
                used -= victim->second.first;
                live.erase(victim);
            }
            sound = sound && r.free_units() == total - used;
        }
        CHECK(sound);
        for (const auto& [offset, each] : live) r.release(each.second);
        CHECK(r.unused());
        CHECK(r.allocate(total).node != ranges::none);
    }
}

TEST_CASE("ranges: who holds a range is known until it is released") {
    using pumice::memory_role;
    ranges r(100);
    const auto a = r.allocate(10), b = r.allocate(20), c = r.allocate(70);
    r.set_label(a.node, {memory_role::weights, "a"});
    r.set_label(b.node, {memory_role::outputs, "b"});
    r.set_label(c.node, {memory_role::staging, {}});
    const auto held = [&r] {
        std::map<std::string, std::uint32_t> list;
        r.each_used([&](const pumice::memory_label& by, std::uint32_t units) {
            list[std::string(by.name)] += units;
        });
        return list;
    };
    CHECK(held() == std::map<std::string, std::uint32_t>{{"a", 10}, {"b", 20}, {"", 70}});
    CHECK(r.label(b.node).role == memory_role::outputs);
    r.release(a.node);
    r.release(b.node);
    CHECK(held() == std::map<std::string, std::uint32_t>{{"", 70}});
    const auto d = r.allocate(30);
    r.set_label(d.node, {memory_role::inputs, "d"});
    CHECK(held() == std::map<std::string, std::uint32_t>{{"", 70}, {"d", 30}});
}
