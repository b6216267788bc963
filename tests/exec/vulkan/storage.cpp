// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Memory of a tensor goes back when the device has finished with it, and not before.
#include "../support.hpp"

#include <pumice/exec/vulkan/storage.hpp>

namespace pm = pumice;

TEST_CASE("storage: device memory is had once, and goes back at once where no submit used it") {
    const auto runtime = test::open_runtime();
    if (!runtime) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const auto in_use = [&] { return runtime->memory().stats().in_use; };
    const std::uint64_t before = in_use();
    {
        pm::vulkan_storage s(runtime, 1000);
        CHECK_FALSE(s.piece);
        CHECK(in_use() == before);
        s.allocate();
        const std::uint64_t address = s.piece.device_address;
        CHECK(address != 0);
        CHECK(in_use() >= before + 1000);
        s.allocate();
        CHECK(s.piece.device_address == address);
    }
    CHECK(in_use() == before);
    {
        pm::vulkan_storage never(runtime, 1000);
    }
    CHECK(in_use() == before);
}

TEST_CASE("storage: memory that a submit still uses is nobody else's until the submit is done") {
    test::adversary device;  // it does nothing before the host waits
    test::wishes w;
    w.edit = device.edit();
    const auto runtime = test::open_runtime(w);
    if (!runtime) PUMICE_SKIP("vulkan-device", "the case is of a device");
    auto s = std::make_unique<pm::vulkan_storage>(runtime, 4096);
    s->allocate();
    const std::uint64_t address = s->piece.device_address;
    auto buffer = runtime->commands().take();
    buffer.begin();
    buffer.fill(s->piece, 0, 4096, 7);
    buffer.end();
    s->last_use = runtime->queue().submit(buffer.handle());
    const std::uint64_t value = s->last_use;
    runtime->commands().give(std::move(buffer), value);
    s.reset();
    CHECK(runtime->memory().stats().waiting > 0);
    {
        pm::vulkan_storage next(runtime, 4096);
        next.allocate();
        CHECK(next.piece.device_address != address);
    }
    runtime->queue().wait(value);
    pm::vulkan_storage later(runtime, 4096);
    later.allocate();
    CHECK(later.piece.device_address == address);
    CHECK(runtime->memory().stats().waiting == 0);
}

TEST_CASE("storage: where there is no memory it stays without, and the next try may have some") {
    test::wishes w;
    w.policies.memory_limit = 96 << 20;
    const auto runtime = test::open_runtime(w);
    if (!runtime) PUMICE_SKIP("vulkan-device", "the case is of a device");
    auto first = std::make_unique<pm::vulkan_storage>(runtime, 60 << 20);
    first->allocate();
    pm::vulkan_storage second(runtime, 60 << 20);
    CHECK(test::code_of([&] { second.allocate(); }) == pm::errc::out_of_memory);
    CHECK_FALSE(second.piece);
    first.reset();
    second.allocate();
    CHECK(second.piece);
}
