// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/core/packed.hpp>

#include <doctest/doctest.h>

#include <thread>

using namespace pumice;

TEST_CASE("packed: integers wrap to 4 bits") {
    for (int v = -40; v < 40; ++v) {
        CHECK(int(i4(v)) == (v + 8 - 16 * ((v + 8) >> 4)) - 8);
        CHECK(unsigned(u4(v)) == (static_cast<unsigned>(v) & 15u));
    }
    static_assert(i4(7) == 7 && i4(8) == -8 && u4(16) == 0u);
    static_assert(i4(std::int64_t{1} << 40) == 0 && u4(std::uint64_t{0xffff'ffff'ffffu}) == 15u);
}

TEST_CASE("packed: the first element lies in the low bits, and its neighbours stay as they are") {
    std::byte memory[3] = {};
    detail::put_nibble(memory, 0, 1);
    detail::put_nibble(memory, 1, 2);
    detail::put_nibble(memory, 4, 0xf7);
    CHECK(memory[0] == std::byte{0x21});
    CHECK(memory[2] == std::byte{0x07});
    detail::put_nibble(memory, 0, 15);
    CHECK(memory[0] == std::byte{0x2f});
    std::byte turned[3] = {};
    detail::copy_nibbles(memory, 4, -1, turned, 1, 5);  // the last first
    CHECK(turned[0] == std::byte{0x70});
    CHECK(turned[2] == std::byte{0xf2});
}

TEST_CASE("packed: two threads write the two elements of a byte") {
    std::byte memory[64] = {};
    const auto write = [&](std::int64_t first) {
        for (int turn = 0; turn < 2000; ++turn)
            for (std::int64_t i = first; i < 128; i += 2)
                detail::put_nibble(memory, i, static_cast<unsigned>(i + turn));
    };
    std::thread other(write, 1);
    write(0);
    other.join();
    int wrong = 0;
    for (std::int64_t i = 0; i < 128; ++i)
        wrong += detail::nibble_at(memory, i) != (static_cast<unsigned>(i + 1999) & 15u);
    CHECK(wrong == 0);
}
