// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/vk/memory.hpp>

#include <cstring>
#include <random>
#include <thread>

using namespace pumice;
using vulkan::memory_usage;

namespace {

constexpr memory_usage kinds[] = {memory_usage::device, memory_usage::upload,
                                  memory_usage::download, memory_usage::parameters};

vulkan::memory_options small_blocks() {
    vulkan::memory_options options;
    for (auto& size : options.block_size) size = 1 << 20;
    return options;
}

vulkan::device_options with_faults() {
    vulkan::device_options options;
    options.edit_dispatcher = [](vulkan::dispatcher& table) {
        test::intercept<&vulkan::dispatcher::vkAllocateMemory,
                        &vulkan::dispatcher::vkGetSemaphoreCounterValue>(table);
    };
    return options;
}

/// Puts an empty submit in, so that the timeline moves.
std::uint64_t tick(const test::gpu& gpu) {
    return gpu.queue->submit(std::span<const vk::CommandBuffer>{});
}

}  // namespace

TEST_CASE(
    "memory: random use never overlaps, is aligned, keeps its bytes, and goes back to nothing") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::memory memory(gpu.queue, small_blocks());
    struct piece {
        vulkan::allocation a;
        unsigned char mark;
    };
    std::vector<piece> live;
    std::mt19937 engine(11);
    const auto random = [&engine](std::size_t below) {
        return static_cast<std::uint32_t>(engine() % below);
    };
    bool sound = true;
    const auto drop = [&](std::size_t i, std::uint64_t value) {
        if (auto* bytes = static_cast<unsigned char*>(live[i].a.mapped))
            for (std::uint64_t k = 0; k < live[i].a.size; k += 97)
                sound = sound && bytes[k] == live[i].mark;
        memory.free(live[i].a, value);
        live[i] = live.back();
        live.pop_back();
    };
    for (int step = 0; step < 4000; ++step) {
        if (live.size() < 5 || random(9) < 5) {
            const std::uint64_t size = random(20) == 0 ? random(3u << 20) : random(40000);
            piece p{memory.allocate(size, kinds[random(4)]), static_cast<unsigned char>(step)};
            sound = sound && p.a && p.a.size == size && p.a.offset % 256 == 0 &&
                    p.a.device_address % 256 == 0;
            for (const piece& other : live)
                sound = sound && (other.a.buffer != p.a.buffer ||
                                  other.a.offset + other.a.size <= p.a.offset ||
                                  p.a.offset + p.a.size <= other.a.offset);
            if (p.a.mapped) std::memset(p.a.mapped, p.mark, size);
            live.push_back(p);
        } else {
            drop(random(live.size()), random(2) == 0 ? 0 : tick(gpu));
        }
        if (step % 500 == 0) memory.trim();
    }
    CHECK(sound);
    CHECK(memory.stats().high_water >= memory.stats().in_use);
    while (!live.empty()) drop(0, 0);
    CHECK(sound);
    gpu.queue->wait(gpu.queue->submitted());
    memory.trim();
    const auto stats = memory.stats();
    CHECK(stats.allocations == 0);
    CHECK(stats.in_use == 0);
    CHECK(stats.waiting == 0);
    CHECK(stats.blocks == 0);
    CHECK(stats.reserved == 0);
    CHECK(gpu.instance->validation_errors() == 0);
}

TEST_CASE("memory: a size of nothing is a piece like any other") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::memory memory(gpu.queue);
    const auto a = memory.allocate(0, memory_usage::device),
               b = memory.allocate(0, memory_usage::device);
    CHECK(a);
    CHECK(a.size == 0);
    CHECK(a.device_address != 0);
    CHECK(a.device_address != b.device_address);
    memory.free(a);
    memory.free(b);
}

TEST_CASE("memory: what is freed is not handed out before the device has finished with it") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::memory memory(gpu.queue, small_blocks());
    const std::uint64_t next = gpu.queue->submitted() + 1;  // a submit to come
    const auto a = memory.allocate(1000, memory_usage::device);
    const auto big = memory.allocate(5 << 20, memory_usage::device);
    memory.free(a, next);
    memory.free(big, next);
    CHECK(memory.stats().waiting > 0);
    const auto b = memory.allocate(1000, memory_usage::device);
    CHECK(b.device_address != a.device_address);
    const auto big2 = memory.allocate(5 << 20, memory_usage::device);
    CHECK(big2.device_address != big.device_address);
    gpu.queue->wait(tick(gpu));
    const auto c = memory.allocate(1000, memory_usage::device);
    CHECK(c.device_address == a.device_address);
    CHECK(memory.stats().waiting == 0);
    const std::uint64_t calls = gpu.device->stats().allocations;
    const auto big3 = memory.allocate((5 << 20) - 5000, memory_usage::device);
    CHECK(big3.device_address == big.device_address);
    CHECK(gpu.device->stats().allocations == calls);
    for (const auto& each : {b, c, big2, big3}) memory.free(each);
}

TEST_CASE("memory: a device that cannot tell how far it is has its memory until it can") {
    auto gpu = test::open(with_faults());
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::memory memory(gpu.queue, small_blocks());
    const vulkan::timeline gate(gpu.device);
    const vulkan::semaphore_point opened{gate.handle(), 1};
    const auto a = memory.allocate(1000, memory_usage::device);
    memory.free(a, gpu.queue->submit(std::span<const vk::CommandBuffer>{}, {&opened, 1}));
    for (const VkResult result : {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY,
                                  VK_ERROR_INITIALIZATION_FAILED}) {
        test::faults::arm(0, result);
        memory.trim();  // asks the device; an allocation does where there is no room
        CHECK(test::faults::calls > 0);
        const auto b = memory.allocate(1000, memory_usage::device);
        test::faults::disarm();
        CHECK(b.device_address != a.device_address);
        CHECK(memory.stats().waiting > 0);
        memory.free(b);
    }
    vk::SemaphoreSignalInfo info{};
    info.semaphore = gate.handle();
    info.value = 1;
    gpu.device->check(gpu.device->handle().signalSemaphore(&info, gpu.device->table()),
                      "vkSignalSemaphore");
    gpu.queue->wait(1);
    memory.trim();
    CHECK(memory.stats().waiting == 0);
}

TEST_CASE("memory: a large result may follow in memory that earlier work still uses") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::memory memory(gpu.queue, small_blocks());
    const auto small = memory.allocate(1000, memory_usage::device);
    const auto large = memory.allocate(5 << 20, memory_usage::device);
    const std::uint64_t next = gpu.queue->submitted() + 1;  // a submit to come
    memory.free(small, next, true);
    memory.free(large, next, true);
    const auto early = memory.allocate_in_order(5 << 20, memory_usage::device);
    CHECK(early.device_address != large.device_address);  // its user would come before `next`
    const std::uint64_t value = tick(gpu);
    CHECK(value == next);
    const vulkan::memory_stats before = memory.stats();
    const auto again = memory.allocate_in_order((5 << 20) - 5000, memory_usage::device);
    CHECK(again.device_address == large.device_address);
    CHECK(memory.stats().blocks == before.blocks);
    CHECK(memory.stats().in_use <= before.in_use);  // the small piece may be back
    const auto other = memory.allocate_in_order(1000, memory_usage::device);
    const std::uint64_t late = gpu.queue->submitted() + 1;
    memory.free(again, late);  // of which nobody knows all uses
    CHECK(tick(gpu) == late);
    const auto apart = memory.allocate_in_order(5 << 20, memory_usage::device);
    CHECK((apart.device_address != again.device_address || gpu.queue->completed() >= late));
    for (const auto& each : {early, apart, other}) memory.free(each);
    gpu.queue->wait(late);
    memory.trim();
    CHECK(memory.stats().in_use == 0);
    CHECK(memory.stats().waiting == 0);
    CHECK(memory.stats().blocks == 0);
}

TEST_CASE(
    "memory: device limits are checked before the driver is asked, and the error says which") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    auto limited = gpu.instance->candidates()[0];
    limited.info.max_allocation = 3 << 20;
    limited.info.max_buffer = 2 << 20;
    const auto device = vulkan::device::create(gpu.instance, limited);
    vulkan::memory memory(std::make_shared<vulkan::queue>(device));
    CHECK(memory.largest() == 2 << 20);
    const std::uint64_t calls = device->stats().allocations;
    try {
        memory.allocate((2 << 20) + 1, memory_usage::device);
        FAIL("it gave more than the limit");
    } catch (const error& e) {
        CHECK(e.code() == errc::size_overflow);
        CHECK(std::string(e.what()).find("max buffer (maxBufferSize): 2097152 bytes") !=
              std::string::npos);
    }
    CHECK(test::code_of([&] { memory.allocate(~std::uint64_t{0}, memory_usage::upload); }) ==
          errc::size_overflow);
    CHECK(device->stats().allocations == calls);
    // Blocks keep to the limit as well.
    std::vector<vulkan::allocation> pieces;
    for (int i = 0; i < 5; ++i) pieces.push_back(memory.allocate(2 << 20, memory_usage::device));
    for (int i = 0; i < 5; ++i) pieces.push_back(memory.allocate(300000, memory_usage::device));
    CHECK(memory.stats().blocks >= 6);
    for (const auto& each : pieces) memory.free(each);
}

TEST_CASE("memory: the heap's budget is a limit that is named") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::device_options options;
    options.edit_dispatcher = {};
    vulkan::instance_options how;
    how.edit_dispatcher = [](vulkan::dispatcher& table) {
        table.vkGetPhysicalDeviceMemoryProperties2 = [](VkPhysicalDevice,
                                                        VkPhysicalDeviceMemoryProperties2* out) {
            auto* budget = static_cast<VkPhysicalDeviceMemoryBudgetPropertiesEXT*>(out->pNext);
            for (auto& each : budget->heapBudget) each = 10 << 20;
            for (auto& each : budget->heapUsage) each = 4 << 20;
        };
    };
    gpu = test::open(options, std::move(how));
    if (!gpu.device->has("VK_EXT_memory_budget")) {
        CHECK(vulkan::detail::heap_room(*gpu.device, 0) ==
              gpu.device->memory_properties().memoryHeaps[0].size);
        return;
    }
    vulkan::memory memory(gpu.queue);
    memory.free(memory.allocate(5 << 20,
                                memory_usage::device));  // a shared block is cut to what there is
    memory.trim();
    try {
        memory.allocate(20 << 20, memory_usage::device);
        FAIL("it passed the budget");
    } catch (const error& e) {
        CHECK(e.code() == errc::out_of_memory);
        CHECK(std::string(e.what()).find("a budget of 6291456 bytes left") != std::string::npos);
        CHECK(std::string(e.what()).find("limit: heap budget") != std::string::npos);
    }
}

TEST_CASE(
    "memory: when the driver has no more, unused blocks go back and work in flight is waited for") {
    auto gpu = test::open(with_faults());
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::memory_options options = small_blocks();
    options.limit = 8 << 20;
    vulkan::memory memory(gpu.queue, options);
    // An unused block of another kind makes room.
    memory.free(memory.allocate(5 << 20, memory_usage::upload));
    auto a = memory.allocate(5 << 20, memory_usage::device);
    CHECK(memory.stats().blocks == 1);
    // So does what the device is about to finish with.
    memory.free(a, tick(gpu));
    a = memory.allocate(6 << 20, memory_usage::device);
    CHECK(memory.stats().waiting == 0);
    // But not what a submit to come still needs.
    memory.free(a, gpu.queue->submitted() + 1);
    CHECK(test::code_of([&] { memory.allocate(6 << 20, memory_usage::device); }) ==
          errc::out_of_memory);
    gpu.queue->wait(tick(gpu));
    memory.trim();

    // The driver says no once: tried again. It always says no: a typed error with the story.
    test::faults::arm(0, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    a = memory.allocate(1000, memory_usage::device);
    test::faults::disarm();
    memory.free(a);
    memory.trim();
    test::faults::arm(0, VK_ERROR_OUT_OF_DEVICE_MEMORY, true);
    try {
        memory.allocate(2 << 20, memory_usage::device);
        FAIL("there was memory");
    } catch (const error& e) {
        CHECK(e.code() == errc::out_of_memory);
        CHECK(std::string(e.what())
                  .find("vkAllocateMemory of 2097152 bytes gave VK_ERROR_OUT_OF_DEVICE_MEMORY") !=
              std::string::npos);
    }
    test::faults::arm(0, VK_ERROR_DEVICE_LOST);
    CHECK(test::code_of([&] { memory.allocate(2 << 20, memory_usage::device); }) ==
          errc::device_lost);
    CHECK(test::code_of([&] { memory.allocate(1, memory_usage::device); }) == errc::device_lost);
    test::faults::disarm();
    CHECK(memory.stats().in_use == 0);
    CHECK(gpu.instance->validation_errors() == 0);
}

TEST_CASE("memory: unused blocks beyond the bound are not kept") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::memory_options options = small_blocks();
    options.keep = 4 << 20;
    vulkan::memory memory(gpu.queue, options);
    std::vector<vulkan::allocation> pieces;
    for (int i = 0; i < 6; ++i) pieces.push_back(memory.allocate(2 << 20, memory_usage::device));
    CHECK(memory.stats().reserved == 12 << 20);
    for (const auto& each : pieces) memory.free(each);
    CHECK(memory.stats().reserved == 4 << 20);
    memory.trim(2 << 20);
    CHECK(memory.stats().reserved == 2 << 20);
}

TEST_CASE("memory: a steady loop asks the driver for nothing") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::memory memory(gpu.queue);
    const auto round = [&memory](std::vector<vulkan::allocation>& pieces) {
        for (const std::uint64_t size : {100u, 5000u, 70000u, 3u << 20, 30u << 20})
            pieces.push_back(memory.allocate(size, memory_usage::device));
    };
    std::vector<vulkan::allocation> at_once;
    for (int i = 0; i < 5; ++i) round(at_once);  // the most that is in flight below
    for (const auto& each : at_once) memory.free(each);
    const std::uint64_t after_warm_up = gpu.device->stats().allocations;
    for (int i = 0; i < 300; ++i) {
        std::vector<vulkan::allocation> pieces;
        round(pieces);
        const std::uint64_t value = tick(gpu);
        for (const auto& each : pieces) memory.free(each, value);
        if (i % 4 == 3) gpu.queue->wait(value);
    }
    CHECK(gpu.device->stats().allocations == after_warm_up);
    CHECK(gpu.device->stats().maps <= gpu.device->stats().allocations);
}

TEST_CASE("memory: threads share it") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::memory memory(gpu.queue, small_blocks());
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 engine(t);
            std::vector<vulkan::allocation> mine;
            for (int i = 0; i < 300; ++i) {
                const auto a = memory.allocate(engine() % 30000, kinds[engine() % 4]);
                if (a.mapped) std::memset(a.mapped, static_cast<int>(t), a.size);
                mine.push_back(a);
                if (mine.size() > 10) {
                    const auto b = mine[engine() % mine.size()];
                    const auto* bytes = static_cast<const unsigned char*>(b.mapped);
                    for (std::uint64_t k = 0; bytes && k < b.size; k += 31) wrong += bytes[k] != t;
                }
                if (mine.size() > 20) {
                    memory.free(mine.front(), i % 2 == 0 ? tick(gpu) : 0);
                    mine.erase(mine.begin());
                }
            }
            for (const auto& each : mine) memory.free(each);
        });
    for (auto& each : threads) each.join();
    CHECK(wrong == 0);
    gpu.queue->wait(gpu.queue->submitted());
    memory.trim();
    CHECK(memory.stats().blocks == 0);
}

TEST_CASE("memory: under a small limit the first block leaves room for other usages") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::memory_options options;
    options.limit = 8 << 20;
    vulkan::memory memory(gpu.queue, options);
    std::vector<vulkan::allocation> pieces;
    for (const memory_usage usage : kinds) pieces.push_back(memory.allocate(40000, usage));
    CHECK(memory.stats().reserved <= 4 << 20);
    pieces.push_back(memory.allocate(4 << 20, memory_usage::device));
    for (const auto& each : pieces) memory.free(each);
}

TEST_CASE("memory: it knows who holds what, and who asks for more is told") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::memory_options options = small_blocks();
    options.limit = 16 << 20;
    vulkan::memory memory(gpu.queue, options);
    const std::string name = "fc1.weight";
    const auto weights =
        memory.allocate(5 << 20, memory_usage::device, {memory_role::weights, name});
    auto result = memory.allocate(3 << 20, memory_usage::device, {memory_role::outputs, "matmul"});
    const auto block = memory.allocate(100, memory_usage::parameters);
    const auto staging = memory.allocate(100, memory_usage::upload);
    const auto held = [&](memory_role role) { return memory.stats().held[role]; };
    CHECK(held(memory_role::weights) == 5 << 20);
    CHECK(held(memory_role::outputs) == 3 << 20);
    CHECK(held(memory_role::parameters) == 256);
    CHECK(held(memory_role::staging) == 256);
    CHECK(memory.stats().held.pooled == memory.stats().reserved - (8 << 20) - 512);
    const auto text_of = [&](std::uint64_t size, const memory_label& by) {
        try {
            memory.free(memory.allocate(size, memory_usage::device, by));
        } catch (const error& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    const std::string text = text_of(9 << 20, {memory_role::weights, "fc2.weight"});
    const auto says = [&text](const char* part) { return text.find(part) != std::string::npos; };
    CHECK(says("for weights \"fc2.weight\""));
    CHECK(
        says("the limit of this memory, 16777216 bytes (the device's, or pm::memory_limit), is "
             "reached"));
    CHECK(says("held by weights \"fc1.weight\": 5242880 bytes"));
    CHECK(says("held by outputs \"matmul\": 3145728 bytes"));
    CHECK(text.find("fc1.weight") < text.find("matmul"));

    memory.relabel(result, {memory_role::inputs, {}});
    CHECK(held(memory_role::outputs) == 0);
    CHECK(held(memory_role::inputs) == 3 << 20);
    // What waits for the device is nobody's, and no pool's yet in an error.
    const std::uint64_t later = gpu.queue->submitted() + 1;
    memory.free(result, later);
    CHECK(held(memory_role::inputs) == 0);
    CHECK(memory.stats().waiting == 3 << 20);
    CHECK(text_of(12 << 20, {}).find("held by inputs") == std::string::npos);
    gpu.queue->wait(tick(gpu));
    for (const auto& each : {weights, block, staging}) memory.free(each);
    const std::uint64_t reserved = memory.stats().reserved;
    CHECK(memory.trim() == reserved);
    CHECK(memory.trim() == 0);
    CHECK(memory.stats().held.pooled == 0);
    for (int i = 0; i < memory_roles; ++i) CHECK(memory.stats().held.by_role[i] == 0);
}

TEST_CASE("memory: an allocation may be held to less than the device allows") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::memory_options options;
    options.largest = 2 << 20;
    vulkan::memory memory(gpu.queue, options);
    CHECK(memory.largest() == 2 << 20);
    try {
        memory.allocate((2 << 20) + 1, memory_usage::device, {memory_role::weights, "wide"});
        FAIL("it gave more than the limit");
    } catch (const error& e) {
        CHECK(e.code() == errc::size_overflow);
        const std::string text = e.what();
        CHECK(text.find("2097153 bytes of device memory, for weights \"wide\"") !=
              std::string::npos);
        CHECK(text.find("largest allocation (policy allocation_limit): 2097152 bytes") !=
              std::string::npos);
        CHECK(text.find("maxBufferSize") == std::string::npos);  // which was not passed
    }
    memory.free(memory.allocate(2 << 20, memory_usage::device));
}

TEST_CASE("memory: beyond what may wait for the device it says until when half of that is free") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::memory_options options = small_blocks();
    options.ahead = 10000;
    vulkan::memory memory(gpu.queue, options);
    const std::uint64_t last = tick(gpu);
    // Values that the timeline has not come to.
    for (const std::uint64_t after : {3u, 1u, 2u})
        memory.free(memory.allocate(4096, memory_usage::device), last + after);
    CHECK(memory.stats().waiting == 3 * 4096);
    CHECK(memory.far_ahead() == last + 2);
    tick(gpu), tick(gpu);
    gpu.queue->wait(last + 2);
    CHECK(memory.far_ahead() == 0);
    CHECK(memory.stats().waiting <= 3 * 4096);
    tick(gpu);
    gpu.queue->wait(last + 3);
    memory.trim();
    CHECK(memory.stats().waiting == 0);
    // A large piece that can be handed out meanwhile does not count.
    const vulkan::allocation large = memory.allocate(1 << 20, memory_usage::device);
    memory.free(large, last + 9, true);
    CHECK(memory.stats().waiting == 1 << 20);
    CHECK(memory.far_ahead() == 0);
}
