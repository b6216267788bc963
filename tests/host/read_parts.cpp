// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Parts that threads read are those that were asked for, once each, and a fault is told.
#include <pumice/host/read_parts.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <vector>

using namespace pumice;

namespace {

/// Byte i is a function of i, and each is counted when it is read.
struct pattern final : byte_source {
    mutable std::atomic<std::int64_t> read_bytes{0};
    mutable std::atomic<std::int64_t> largest{0};
    std::int64_t fails_from = -1;
    static std::byte at(std::int64_t i) { return std::byte((i * 131 + (i >> 12)) & 255); }
    void read(std::int64_t begin, pumice::span<std::byte> into) const override {
        if (fails_from >= 0 && begin + std::ssize(into) > fails_from)
            throw std::runtime_error("cut");
        for (std::int64_t i = 0; i < std::ssize(into); ++i)
            into[static_cast<std::size_t>(i)] = at(begin + i);
        read_bytes += std::ssize(into);
        for (auto most = largest.load(); most < std::ssize(into);)
            if (largest.compare_exchange_weak(most, std::ssize(into))) break;
    }
};

bool holds(const std::vector<std::byte>& room, std::int64_t begin) {
    for (std::size_t i = 0; i < room.size(); ++i)
        if (room[i] != pattern::at(begin + static_cast<std::int64_t>(i))) return false;
    return true;
}

}  // namespace

TEST_CASE("read parts: every byte once, in pieces of a bounded size, however it is copied") {
    for (const bool across_bus : {false, true})
        for (const unsigned threads : {1u, 4u}) {
            const thread_pool pool(threads);
            const pattern one, other;
            std::vector<std::byte> a(1), b((3 << 20) + 77), c(read_parts::most), none;
            read_parts parts;
            parts.add(one, 5, 1, a.data());
            parts.add(other, 1000, std::ssize(b), b.data());
            parts.add(other, 0, 0, none.data());
            parts.add(one, 64, std::ssize(c), c.data());
            parts.read(pool, across_bus);
            CHECK(holds(a, 5));
            CHECK(holds(b, 1000));
            CHECK(holds(c, 64));
            CHECK(one.read_bytes + other.read_bytes ==
                  std::ssize(a) + std::ssize(b) + std::ssize(c));
            CHECK(other.largest <= (across_bus ? 64 << 10 : read_parts::most));
            parts.read(pool, across_bus);  // nothing is left to read
            CHECK(one.read_bytes + other.read_bytes ==
                  std::ssize(a) + std::ssize(b) + std::ssize(c));
        }
}

TEST_CASE("read parts: what a source throws comes to who asked") {
    for (const bool across_bus : {false, true}) {
        const thread_pool pool(3);
        pattern cut;
        cut.fails_from = 5 << 20;
        std::vector<std::byte> room(8 << 20);
        read_parts parts;
        parts.add(cut, 0, std::ssize(room), room.data());
        CHECK_THROWS_AS(parts.read(pool, across_bus), std::runtime_error);
        CHECK(cut.read_bytes <= cut.fails_from);
    }
}
