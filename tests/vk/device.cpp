// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/vk/device.hpp>
#include <pumice/vk/memory.hpp>

#include <tests/support/child.hpp>

#include <algorithm>
#include <cstring>
#include <mutex>

using namespace pumice;

TEST_CASE(
    "device: every device of the machine opens with all its features, robust or not, and closes "
    "silently") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    for (const vulkan::candidate& c : gpu.instance->candidates())
        for (const bool robust : {false, true}) {
            vulkan::device_options options;
            options.robust = robust;
            const auto device = vulkan::device::create(gpu.instance, c, options);
            CHECK(device->queue().handle);
            CHECK(device->info().name == c.info.name);
            CHECK(device->memory_properties().memoryTypeCount > 0);
            CHECK_FALSE(device->lost());
            CHECK_FALSE(device->has("VK_KHR_swapchain"));
        }
    CHECK(gpu.instance->validation_errors() == 0);
}

TEST_CASE("device: a device that does not open is an error that names the call") {
    if (auto gpu = test::open(); !gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::instance_options how;
    how.edit_dispatcher = [](vulkan::dispatcher& table) {
        test::intercept<&vulkan::dispatcher::vkCreateDevice>(table);
    };
    const auto instance = vulkan::instance::create(std::move(how));
    for (const VkResult result :
         {VK_ERROR_FEATURE_NOT_PRESENT, VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_DEVICE_LOST}) {
        test::faults::arm(0, result);
        try {
            vulkan::device::create(instance, instance->candidates().front());
            FAIL("it opened");
        } catch (const error& e) {
            CHECK(e.code() == vulkan::code_of(vk::Result(result)));
            CHECK(e.message().find("vkCreateDevice gave VK_ERROR") == 0);
        }
    }
    test::faults::disarm();
    CHECK_NOTHROW(vulkan::device::create(instance, instance->candidates().front()));
}

TEST_CASE("device: a hook that throws leaves nothing behind") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::device_options options;
    options.edit_dispatcher = [](vulkan::dispatcher&) { throw std::runtime_error("no"); };
    CHECK_THROWS_AS(vulkan::device::create(gpu.instance, gpu.instance->candidates()[0], options),
                    std::runtime_error);
    CHECK(gpu.instance->validation_errors() == 0);
}

TEST_CASE("device: a loss is remembered") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    CHECK_NOTHROW(gpu.device->check_alive("f"));
    CHECK(test::code_of([&] { gpu.device->check(vk::Result::eErrorDeviceLost, "f"); }) ==
          errc::device_lost);
    CHECK(gpu.device->lost());
    CHECK(test::code_of([&] { gpu.device->check_alive("f"); }) == errc::device_lost);
}

TEST_CASE("device: an adopted device works through the user's lock and is left alone") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    std::mutex theirs;
    {
        vulkan::adopted_device mine;
        mine.device = static_cast<VkDevice>(gpu.device->handle());
        mine.queue = static_cast<VkQueue>(gpu.device->queue().handle);
        mine.family = gpu.device->queue().family;
        mine.queue_mutex = &theirs;
        auto chosen = gpu.instance->candidates()[0];
        chosen.extensions.names.clear();
        const auto device = vulkan::device::adopt(gpu.instance, chosen, mine);
        CHECK(device->queue().mutex == &theirs);
        const auto queue = std::make_shared<vulkan::queue>(device);
        queue->wait(queue->submit(std::span<const vk::CommandBuffer>{}));
        vulkan::memory memory(queue);
        memory.free(memory.allocate(100, vulkan::memory_usage::device));
    }
    gpu.queue->wait(gpu.queue->submit(std::span<const vk::CommandBuffer>{}));
    CHECK(gpu.instance->validation_errors() == 0);
}

namespace {

/// Everything that vk/ does with a device, once.
void whole_run(const std::shared_ptr<vulkan::instance>& instance,
               const std::filesystem::path& folder) {
    vulkan::device_options options;
    options.edit_dispatcher = [](vulkan::dispatcher& table) {
        using d = vulkan::dispatcher;
        test::intercept<
            &d::vkCreateSemaphore, &d::vkWaitSemaphores, &d::vkQueueSubmit2, &d::vkCreateBuffer,
            &d::vkAllocateMemory, &d::vkBindBufferMemory2, &d::vkMapMemory,
            &d::vkFlushMappedMemoryRanges, &d::vkInvalidateMappedMemoryRanges,
            &d::vkCreateCommandPool, &d::vkAllocateCommandBuffers, &d::vkResetCommandPool,
            &d::vkBeginCommandBuffer, &d::vkEndCommandBuffer, &d::vkCreateShaderModule,
            &d::vkCreatePipelineLayout, &d::vkCreateComputePipelines, &d::vkCreatePipelineCache,
            &d::vkGetPipelineCacheData, &d::vkMergePipelineCaches, &d::vkCreateQueryPool,
            &d::vkGetQueryPoolResults, &d::vkGetCalibratedTimestampsKHR,
            &d::vkGetMemoryHostPointerPropertiesEXT>(table);
    };
    const auto device = vulkan::device::create(instance, instance->candidates().front(), options);
    const auto queue = std::make_shared<vulkan::queue>(device);
    vulkan::memory memory(queue);
    vulkan::pipeline_factory factory(device, folder);
    vulkan::command_cache cache(queue);
    vulkan::timestamp_pool times(device, 2);
    const auto kernel = factory.create(test::scale_kernel, "scale");
    const auto data = memory.allocate(4096, vulkan::memory_usage::device);
    const auto block =
        memory.allocate(sizeof(test::scale_parameters), vulkan::memory_usage::parameters);
    const auto down = memory.allocate(4096, vulkan::memory_usage::download);
    const test::scale_parameters parameters{data.device_address, 1024, 7};
    std::memcpy(block.mapped, &parameters, sizeof parameters);
    memory.flush(block, 0, block.size);
    std::vector<std::uint32_t> host(5000, 1);
    std::string why;
    const auto lent =
        vulkan::external_memory::open(device,
                                      {vulkan::external_kind::host_pages, 4096, host.data()}, why);
    const struct idle {  // what the device may still use when a wait fails is destroyed after this
        vulkan::queue& queue;
        ~idle() { queue.wait_idle(); }
    } before_destruction{*queue};
    for (int i = 0; i < 2; ++i) {
        vulkan::commands c = cache.take();
        c.begin();
        c.reset(times, 0, 2);
        c.timestamp(times, 0);
        if (lent) c.copy(lent->piece(), data, {0, 0, 4096});
        else c.fill(data, 0, 4096, 1);
        c.barrier(vulkan::scope::transfer, vulkan::scope::compute);
        c.bind(*kernel);
        c.push(block.device_address);
        c.dispatch(16);
        c.barrier(vulkan::scope::compute, vulkan::scope::transfer);
        c.copy(data, down, {0, 0, 4096});
        c.barrier(vulkan::scope::transfer, vulkan::scope::host | vulkan::scope::transfer);
        c.timestamp(times, 1);
        c.end();
        const std::uint64_t value = queue->submit(c.handle());
        cache.give(std::move(c), value);
        queue->wait(value);
        std::uint64_t ticks[2];
        times.read(0, ticks);
        memory.invalidate(down, 0, down.size);
        const auto* result = static_cast<const std::uint32_t*>(down.mapped);
        if (std::count(result, result + 1024, 10u) != 1024)
            throw std::runtime_error("a wrong result");
    }
    vulkan::calibrate(*device);
    memory.free(data, queue->submitted());
}

}  // namespace

TEST_CASE(
    "device: any call may fail at any time: a typed error or no harm, and nothing is left behind") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    const auto instance = gpu.instance;
    test::faults::disarm();
    test::faults::calls = 0;
    {
        test::temporary_folder folder;
        CHECK_NOTHROW(whole_run(instance, folder.path));
    }
    const int calls = test::faults::calls;
    REQUIRE(calls > 25);
    int failed = 0, survived = 0;
    for (const VkResult result :
         {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_DEVICE_LOST})
        for (const bool forever : {false, true})
            for (int at = 0; at < calls; ++at) {
                CAPTURE(at);
                CAPTURE(result);
                test::temporary_folder folder;
                test::faults::arm(at, result, forever);
                const auto code = test::code_of([&] { whole_run(instance, folder.path); });
                test::faults::disarm();
                if (!code) ++survived;
                else ++failed;
                if (code)
                    CHECK((code == errc::out_of_memory || code == errc::device_lost ||
                           code == errc::vulkan_failed));
                if (result == VK_ERROR_DEVICE_LOST && code) CHECK(code == errc::device_lost);
            }
    MESSAGE(calls, " calls; with one or more failing: ", failed, " runs ended in an error, ",
            survived, " went on");
    CHECK(failed > survived);
    CHECK(gpu.instance->validation_errors() == 0);
}

TEST_CASE(
    "device: in a child of fork() it is lost, drops its objects without a call, and no other "
    "opens") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    const vulkan::candidate& chosen = gpu.instance->candidates()[0];
    auto device = vulkan::device::create(gpu.instance, chosen);
    auto queue = std::make_shared<vulkan::queue>(device);
    auto memory = std::make_unique<vulkan::memory>(queue);
    const vulkan::allocation piece = memory->allocate(1000, vulkan::memory_usage::device);
    const auto forked = [](auto&& f) { return test::code_of(f) == errc::forked; };
    CHECK(test::right_in_child([&] {
        bool right = device->forked() && device->lost();
        right &= forked([&] { memory->allocate(1000, vulkan::memory_usage::device); });
        right &= forked([&] { queue->submit(vk::CommandBuffer()); });
        right &= forked([] { vulkan::instance::create(); });
        right &= forked([] { vulkan::instance::shared(); });
        right &= forked([&] { vulkan::device::create(gpu.instance, chosen); });
        memory->free(piece, 7);
        memory.reset();
        queue.reset();
        device.reset();
        gpu.instance.reset();
        return right;
    }));
    CHECK_FALSE(device->lost());
    memory->free(piece);
    CHECK(gpu.instance->validation_errors() == 0);
}
