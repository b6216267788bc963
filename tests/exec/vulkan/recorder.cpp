// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Parameter blocks and the order of commands, without a device.
#include <pumice/exec/vulkan/recorder.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

TEST_CASE("recorder: blocks lie apart on their own lines, and there is always one") {
    pm::launch a, b;
    a.parameters.resize(65);
    b.parameters.resize(8);
    const pm::block_offsets two({&a, &b, &b});
    CHECK(two.at == pm::array_list<std::uint64_t>{0, 128, 192});
    CHECK(two.size == 256);
    CHECK(pm::block_offsets({}).size == 64);
}

TEST_CASE("recorder: a block holds the addresses of its buffers, and the rest as it was") {
    pm::launch l;
    l.parameters.assign(24, std::byte{7});
    l.relocations = {{8, 1, 4}};
    std::byte block[24] = {};
    pm::write_block(l, [](int buffer) { return buffer == 1 ? 1000u : 0u; }, {}, block);
    std::uint64_t address = 0;
    std::memcpy(&address, block + 8, sizeof address);
    CHECK(address == 1004);
    CHECK(block[7] == std::byte{7});
    CHECK(block[16] == std::byte{7});
}

TEST_CASE("recorder: a barrier stands before the first command that meets one before it") {
    const auto touch = [](std::uint64_t memory, bool write) {
        return pm::ordered_item{{{memory, 0, 4, write}}};
    };
    pm::hazard_tracker open;
    open.add({{9, 0, 4, true}});
    const auto order =
        pm::arrange({touch(1, true), touch(1, false), touch(2, true), touch(9, false)}, open);
    REQUIRE(order.size() == 4);
    CHECK(order[0].index == 0);
    CHECK_FALSE(order[0].barrier);
    int barriers = 0;
    for (const pm::placed_item& p : order) {
        barriers += p.barrier;
        if (p.index == 1) CHECK(barriers > 0);
    }
    CHECK(barriers >= 1);
    CHECK(open.conflicts({{1, 0, 4, true}}));
}
