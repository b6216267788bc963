// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Memory of a tensor goes back when the device has finished with it, and not before.
#include "../support.hpp"

#include <pumice/exec/vulkan/storage.hpp>
#include <pumice/tensor/compile.hpp>

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

TEST_CASE("storage: it says for whom it is held, by a name of its own where it must") {
    const auto runtime = test::open_runtime();
    if (!runtime) PUMICE_SKIP("vulkan-device", "the case is of a device");
    using pm::memory_role;
    const auto held = [&](memory_role role) { return runtime->memory().stats().held[role]; };
    auto name = std::make_unique<std::string>("a name that is longer than a small string");
    const auto s = pm::vulkan_storage::make(runtime, 1000, {memory_role::weights, *name}, true);
    name.reset();
    CHECK(held(memory_role::weights) == 0);
    s->allocate();
    CHECK(s->label.name == "a name that is longer than a small string");
    CHECK(held(memory_role::weights) >= 1000);
    s->becomes({memory_role::outputs, "matmul"});
    CHECK(held(memory_role::weights) == 0);
    CHECK(held(memory_role::outputs) >= 1000);
    CHECK(s->label.name == "matmul");
}

TEST_CASE("storage: memory that a result takes over is held for the result") {
    const auto home = test::open_context();
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    using pm::memory_role;
    const auto held = [&](memory_role role) { return home->stats().memory[role]; };
    pm::vector<float> x(test::numbers(*home, 1000, 1));
    pm::upload(std::vector<pm::any_tensor>{x});
    CHECK(held(memory_role::inputs) >= 4000);
    x = x * 2.0f;
    test::eval(x);
    CHECK(held(memory_role::inputs) == 0);
    CHECK(held(memory_role::outputs) >= 4000);

    pm::any_tensor state = test::numbers(*home, 1000, 1);
    const pm::executable::value in[] = {{pm::dtype::f32, {1000}}};
    const pm::executable step = pm::trace(*home, in, [](std::span<const pm::any_tensor> i) {
        return std::vector<pm::any_tensor>{pm::vector<float>(pm::vector<float>(i[0]) + 1.0f)};
    });
    const std::uint64_t before = held(memory_role::outputs);
    state = std::move(step.run_donating(std::move(state))[0]);
    CHECK(pm::to_vector<float>(state)[1] == 3);
    CHECK(held(memory_role::inputs) == 0);
    CHECK(held(memory_role::outputs) >= before + 4000);
}
