// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A program with a Vulkan of its own, made by plain C calls, that computes through Pumice between
// its own submits.
#include "support.hpp"

#include <pumice/exchange/dlpack.hpp>
#include <pumice/exec/adopt.hpp>
#include <pumice/front.hpp>
#include <pumice/policy/placement.hpp>

#include <tests/graph/support.hpp>
#include <tests/support/skip.hpp>

namespace pm = pumice;

namespace {

/// The functions of the user's program.
// clang-format off
#define TEST_FUNCTIONS(X) \
    X(vkDestroyInstance) X(vkEnumeratePhysicalDevices) X(vkGetPhysicalDeviceMemoryProperties) \
    X(vkCreateDevice) X(vkDestroyDevice) X(vkGetDeviceQueue) X(vkCreateBuffer) X(vkDestroyBuffer) \
    X(vkGetBufferMemoryRequirements) X(vkGetBufferDeviceAddress) X(vkAllocateMemory) X(vkFreeMemory) X(vkBindBufferMemory) \
    X(vkMapMemory) X(vkCreateSemaphore) X(vkDestroySemaphore) X(vkWaitSemaphores) \
    X(vkCreateCommandPool) X(vkDestroyCommandPool) X(vkAllocateCommandBuffers) \
    X(vkBeginCommandBuffer) X(vkEndCommandBuffer) X(vkCmdFillBuffer) X(vkCmdCopyBuffer) \
    X(vkCmdPipelineBarrier2) X(vkQueueSubmit2) X(vkDeviceWaitIdle)
// clang-format on

struct program {
#define X(name) PFN_##name name = nullptr;
    TEST_FUNCTIONS(X)
#undef X
    PFN_vkGetInstanceProcAddr door = nullptr;
    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    VkSemaphore timeline = VK_NULL_HANDLE;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkPhysicalDeviceBufferDeviceAddressFeatures address{};
    VkPhysicalDeviceTimelineSemaphoreFeatures semaphores{};
    VkPhysicalDeviceScalarBlockLayoutFeatures layout{};
    VkPhysicalDeviceSynchronization2Features synchronization{};
    VkPhysicalDeviceFeatures core{};
    float priority = 1;
    VkDeviceQueueCreateInfo queue_info{};
    VkDeviceCreateInfo device_info{};
    std::uint64_t reached = 0;

    struct buffer {
        VkBuffer handle = VK_NULL_HANDLE;
        VkDeviceMemory memory = VK_NULL_HANDLE;
        void* mapped = nullptr;
    };
    std::vector<buffer> buffers;

    /// False where there is no device.
    bool open() {
        std::shared_ptr<pm::vulkan::instance> found;
        try {
            door = pm::vulkan::open_loader().get_instance_proc_addr;
        } catch (const pm::error&) {
            return false;
        }
        const auto create =
            reinterpret_cast<PFN_vkCreateInstance>(door(nullptr, "vkCreateInstance"));
        VkApplicationInfo application{};
        application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
        application.apiVersion = VK_API_VERSION_1_3;
        VkInstanceCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
        info.pApplicationInfo = &application;
        if (create(&info, nullptr, &instance) != VK_SUCCESS) return false;
#define X(name) name = reinterpret_cast<PFN_##name>(door(instance, #name));
        TEST_FUNCTIONS(X)
#undef X
        std::uint32_t count = 1;
        vkEnumeratePhysicalDevices(instance, &count, &physical);
        if (count == 0) return false;

        // Only what Pumice needs, by the features' own structures.
        address.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES;
        address.bufferDeviceAddress = VK_TRUE;
        address.pNext = &semaphores;
        semaphores.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
        semaphores.timelineSemaphore = VK_TRUE;
        semaphores.pNext = &layout;
        layout.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SCALAR_BLOCK_LAYOUT_FEATURES;
        layout.scalarBlockLayout = VK_TRUE;
        layout.pNext = &synchronization;
        synchronization.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES;
        synchronization.synchronization2 = VK_TRUE;
        core.shaderInt64 = VK_TRUE;
        queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
        queue_info.queueCount = 1;
        queue_info.pQueuePriorities = &priority;
        device_info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
        device_info.pNext = &address;
        device_info.queueCreateInfoCount = 1;
        device_info.pQueueCreateInfos = &queue_info;
        device_info.pEnabledFeatures = &core;
        REQUIRE(vkCreateDevice(physical, &device_info, nullptr, &device) == VK_SUCCESS);
        vkGetDeviceQueue(device, 0, 0, &queue);

        VkSemaphoreTypeCreateInfo type{};
        type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
        type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
        VkSemaphoreCreateInfo semaphore{};
        semaphore.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
        semaphore.pNext = &type;
        REQUIRE(vkCreateSemaphore(device, &semaphore, nullptr, &timeline) == VK_SUCCESS);
        VkCommandPoolCreateInfo pools{};
        pools.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
        REQUIRE(vkCreateCommandPool(device, &pools, nullptr, &pool) == VK_SUCCESS);
        return true;
    }
    ~program() {
        if (device) {
            vkDeviceWaitIdle(device);
            for (const buffer& b : buffers) {
                vkDestroyBuffer(device, b.handle, nullptr);
                vkFreeMemory(device, b.memory, nullptr);
            }
            vkDestroySemaphore(device, timeline, nullptr);
            vkDestroyCommandPool(device, pool, nullptr);
            vkDestroyDevice(device, nullptr);
        }
        if (instance) vkDestroyInstance(instance, nullptr);
    }

    pm::vulkan_handles handles() const {
        pm::vulkan_handles h;
        h.get_instance_proc_addr = door;
        h.instance = instance;
        h.physical_device = physical;
        h.device = device;
        h.created_with = &device_info;
        h.queue = queue;
        return h;
    }

    buffer make(VkDeviceSize size, VkMemoryPropertyFlags wanted) {
        buffer b;
        VkBufferCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
        info.size = size;
        info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                     VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
        REQUIRE(vkCreateBuffer(device, &info, nullptr, &b.handle) == VK_SUCCESS);
        VkMemoryRequirements needs{};
        vkGetBufferMemoryRequirements(device, b.handle, &needs);
        VkPhysicalDeviceMemoryProperties memory{};
        vkGetPhysicalDeviceMemoryProperties(physical, &memory);
        std::uint32_t type = 0;
        while (!(needs.memoryTypeBits & (1u << type)) ||
               (memory.memoryTypes[type].propertyFlags & wanted) != wanted)
            REQUIRE(++type < memory.memoryTypeCount);
        VkMemoryAllocateFlagsInfo flags{};
        flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
        flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
        VkMemoryAllocateInfo allocate{};
        allocate.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
        allocate.pNext = &flags;
        allocate.allocationSize = needs.size;
        allocate.memoryTypeIndex = type;
        REQUIRE(vkAllocateMemory(device, &allocate, nullptr, &b.memory) == VK_SUCCESS);
        REQUIRE(vkBindBufferMemory(device, b.handle, b.memory, 0) == VK_SUCCESS);
        if (wanted & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)
            vkMapMemory(device, b.memory, 0, VK_WHOLE_SIZE, 0, &b.mapped);
        buffers.push_back(b);
        return b;
    }

    /// Submits what `record` records, after `wait`, and raises the program's timeline.
    template <class F>
    void submit(F&& record, pm::timeline_point wait = {}) {
        VkCommandBufferAllocateInfo what{};
        what.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
        what.commandPool = pool;
        what.commandBufferCount = 1;
        VkCommandBuffer commands = VK_NULL_HANDLE;
        REQUIRE(vkAllocateCommandBuffers(device, &what, &commands) == VK_SUCCESS);
        VkCommandBufferBeginInfo begin{};
        begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
        vkBeginCommandBuffer(commands, &begin);
        record(commands);
        vkEndCommandBuffer(commands);
        VkSemaphoreSubmitInfo before{}, after{};
        before.sType = after.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO;
        before.semaphore = wait.semaphore;
        before.value = wait.value;
        before.stageMask = after.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
        after.semaphore = timeline;
        after.value = ++reached;
        VkCommandBufferSubmitInfo list{};
        list.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO;
        list.commandBuffer = commands;
        VkSubmitInfo2 info{};
        info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
        info.waitSemaphoreInfoCount = wait.semaphore ? 1 : 0;
        info.pWaitSemaphoreInfos = &before;
        info.commandBufferInfoCount = 1;
        info.pCommandBufferInfos = &list;
        info.signalSemaphoreInfoCount = 1;
        info.pSignalSemaphoreInfos = &after;
        REQUIRE(vkQueueSubmit2(queue, 1, &info, VK_NULL_HANDLE) == VK_SUCCESS);
    }
    void finish() {
        VkSemaphoreWaitInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
        info.semaphoreCount = 1;
        info.pSemaphores = &timeline;
        info.pValues = &reached;
        REQUIRE(vkWaitSemaphores(device, &info, ~0ull) == VK_SUCCESS);
    }
};

bool wants_host() { return pm::detail::environment("PUMICE_DEVICE") == "host"; }

}  // namespace

TEST_CASE("adopt: the user's device and buffers, between his own submits") {
    if (wants_host()) PUMICE_SKIP("vulkan-device", "the case is of a device");
    program mine;
    if (!mine.open()) PUMICE_SKIP("vulkan-device", "no Vulkan device");
    constexpr std::int64_t n = 1000;
    const auto in = mine.make(4 * n + 64, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT),
               out = mine.make(4 * n, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT),
               seen = mine.make(8 * n, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                           VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    const auto float_bits = [](float f) { return std::bit_cast<std::uint32_t>(f); };
    for (int round = 0; round < 3; ++round) {
        const pm::context home = pm::context::adopt(mine.handles());
        CHECK(home.device_report().find("adopted") != std::string::npos);
        const pm::any_tensor x =
            pm::from_buffer(home, {in.handle, 64}, pm::dtype::f32, {10, n / 10});
        std::vector<pm::any_tensor> into(1);
        const auto f = pm::compile([](const pm::any_tensor& t) { return pm::relu(t * 2.0 + 1.0); });
        for (int step = 0; step < 4; ++step) {
            const float value = float(round + step) - 2;
            mine.submit(
                [&](VkCommandBuffer c) {
                    mine.vkCmdFillBuffer(c, in.handle, 0, VK_WHOLE_SIZE, float_bits(value));
                },
                pm::finished(home));  // not before Pumice has read the last values
            pm::wait_before(home, mine.timeline, mine.reached);
            pm::any_tensor y = pm::tanh(x) + 0.5;
            const pm::vulkan_buffer there = pm::buffer_of(y);
            into[0] = pm::from_buffer(home, {out.handle, 0}, pm::dtype::f32, {10, n / 10});
            f.get(x).run_into(into, std::span(&x, 1));
            mine.submit(
                [&](VkCommandBuffer c) {
                    const VkBufferCopy first{there.offset, 0, 4 * n}, second{0, 4 * n, 4 * n};
                    mine.vkCmdCopyBuffer(c, there.buffer, seen.handle, 1, &first);
                    mine.vkCmdCopyBuffer(c, out.handle, seen.handle, 1, &second);
                    VkMemoryBarrier2 barrier{};
                    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
                    barrier.srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT;
                    barrier.srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT;
                    barrier.dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT;
                    barrier.dstAccessMask = VK_ACCESS_2_HOST_READ_BIT;
                    VkDependencyInfo info{};
                    info.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
                    info.memoryBarrierCount = 1;
                    info.pMemoryBarriers = &barrier;
                    mine.vkCmdPipelineBarrier2(c, &info);
                },
                pm::finished(home));
            mine.finish();
            const auto* values = static_cast<const float*>(seen.mapped);
            const float doubled = std::max(2 * value + 1, 0.0f);
            int wrong = 0;
            for (std::int64_t i = 0; i < n; ++i) {
                wrong += std::abs(values[i] - (std::tanh(value) + 0.5f)) > 1e-6f;
                wrong += values[n + i] != doubled;
            }
            CHECK(wrong == 0);
            CHECK(pm::to_vector<float>(x)[n - 1] == value);  // read anew, since it is the user's
        }
        CHECK(home.stats().uploads == 0);
    }  // the context is gone, the device is not
    mine.submit([](VkCommandBuffer) {});
    mine.finish();
}

TEST_CASE("adopt: what is missing is named") {
    if (wants_host()) PUMICE_SKIP("vulkan-device", "the case is of a device");
    program mine;
    if (!mine.open()) PUMICE_SKIP("vulkan-device", "no Vulkan device");
    pm::vulkan_handles h = mine.handles();
    h.queue = VK_NULL_HANDLE;
    CHECK(test::code_of([&] { pm::context::adopt(h); }) == pm::errc::invalid_argument);
    VkDeviceCreateInfo less = mine.device_info;
    less.pNext = &mine.semaphores;  // as if made without device addresses
    h = mine.handles();
    h.created_with = &less;
    const auto adopts = [&] { pm::context::adopt(h); };
    CHECK(test::code_of(adopts) == pm::errc::no_device);
    CHECK(pumice_test::text_of_error(adopts).find("bufferDeviceAddress") != std::string::npos);
    const pm::context home = pm::context::adopt(mine.handles());
    CHECK_FALSE(home.device().float16_arithmetic);  // the device may; this one did not switch it on
    CHECK(home.device().int64_arithmetic);
    const auto b = mine.make(256, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    CHECK(test::code_of([&] { pm::from_buffer(home, {b.handle, 4}, pm::dtype::f32, {4}); }) ==
          pm::errc::invalid_argument);
    const pm::context host{pm::host_only{}};
    CHECK(test::code_of([&] { pm::finished(host); }) == pm::errc::invalid_argument);
}

TEST_CASE("adopt: the host's steps read the user's memory anew, and write it") {
    if (wants_host()) PUMICE_SKIP("vulkan-device", "the case is of a device");
    program mine;
    if (!mine.open()) PUMICE_SKIP("vulkan-device", "no Vulkan device");
    constexpr std::int64_t n = 64;
    const auto in = mine.make(4 * n, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT),
               out = mine.make(4 * n, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    const pm::context home =
        pm::context::adopt(mine.handles(), pm::place_steps{[](pm::placement& p) {
                               for (std::size_t i = 0; i < p.steps.size(); ++i)
                                   if (p.steps[i].family != "matmul") p.at[i] = p.host();
                           }});
    const pm::any_tensor x = pm::from_buffer(home, {in.handle, 0}, pm::dtype::f32, {8, 8});
    // The input is the host's, the product the device's, the output the host's again.
    const auto function = [](const pm::any_tensor& t) {
        return pm::softmax(pm::matmul(pm::cumulative_sum(t, 0), t), 1) + t;
    };
    const auto f = pm::compile(function);
    const pm::context host{pm::host_only{}};
    for (int round = 0; round < 4; ++round) {
        const float value = float(round) / 8;
        mine.submit(
            [&](VkCommandBuffer c) {
                mine.vkCmdFillBuffer(c, in.handle, 0, VK_WHOLE_SIZE,
                                     std::bit_cast<std::uint32_t>(value));
            },
            pm::finished(home));
        pm::wait_before(home, mine.timeline, mine.reached);
        const std::vector<float> expected =
            pm::to_vector<float>(function(pm::full(pm::dtype::f32, {8, 8}, double(value), host)));
        std::vector<pm::any_tensor> into{
            pm::from_buffer(home, {out.handle, 0}, pm::dtype::f32, {8, 8})};
        f.get(x).run_into(into, std::span(&x, 1));
        const std::vector<float> once = pm::to_vector<float>(function(x)),
                                 there = pm::to_vector<float>(into[0]);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            CHECK(once[i] == doctest::Approx(double(expected[i])).epsilon(1e-5));
            CHECK(there[i] == doctest::Approx(double(expected[i])).epsilon(1e-5));
        }
    }
    CHECK(home.stats().host_kernels > 8);
}

TEST_CASE("adopt: the host writes the user's memory again while the last copy is on its way") {
    if (wants_host()) PUMICE_SKIP("vulkan-device", "the case is of a device");
    program mine;
    if (!mine.open()) PUMICE_SKIP("vulkan-device", "no Vulkan device");
    constexpr std::int64_t n = 1 << 18;
    const auto out = mine.make(4 * n, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    const pm::context home =
        pm::context::adopt(mine.handles(), pm::place_steps{[](pm::placement& p) {
                               for (int& place : p.at) place = p.host();
                           }});
    const auto f = pm::compile([](const pm::any_tensor& t) { return t * 2.0 + 1.0; });
    std::vector<pm::any_tensor> into{pm::from_buffer(home, {out.handle, 0}, pm::dtype::f32, {n})};
    std::vector<pm::any_tensor> given;
    for (int i = 0; i < 6; ++i) given.push_back(pm::full(pm::dtype::f32, {n}, i, home));
    pm::eval(given);
    for (const pm::any_tensor& x : given) f.get(x).run_into(into, std::span(&x, 1));
    const pm::vulkan_buffer there = pm::buffer_of(into[0]);
    CHECK(there.buffer == out.handle);
    CHECK(pm::to_vector<float>(into[0]) == std::vector<float>(n, 11.0f));
}

TEST_CASE("adopt: DLPack by addresses of the device that both share") {
    if (wants_host()) PUMICE_SKIP("vulkan-device", "the case is of a device");
    program mine;
    if (!mine.open()) PUMICE_SKIP("vulkan-device", "no Vulkan device");
    const auto in = mine.make(4096, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    VkBufferDeviceAddressInfo asked{};
    asked.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
    asked.buffer = in.handle;
    const VkDeviceAddress address = mine.vkGetBufferDeviceAddress(mine.device, &asked);
    const pm::context home = pm::context::adopt(mine.handles());
    std::int64_t extent[] = {3, 5}, steps[] = {-100, 7};
    int deleted = 0;
    pm::dlpack::managed_tensor_versioned theirs{
        {1, 0},
        &deleted,
        [](pm::dlpack::managed_tensor_versioned* m) { ++*static_cast<int*>(m->manager_ctx); },
        0,
        {reinterpret_cast<void*>(address),
         {pm::dlpack::vulkan, 3},
         2,
         {2, 32, 1},
         extent,
         steps,
         4 * 301}};
    for (int round = 0; round < 3; ++round) {
        mine.submit([&](VkCommandBuffer c) {  // each hundred elements from 1 on are of one value
            for (std::uint32_t i = 0; i < 4; ++i)
                mine.vkCmdFillBuffer(c, in.handle, 4 * (100 * i + 1), 400,
                                     std::bit_cast<std::uint32_t>(float(i) + float(round)));
        });
        pm::wait_before(home, mine.timeline, mine.reached);
        const pm::any_tensor x = pm::from_dlpack(&theirs, home);
        CHECK(deleted == round + 1);
        mine.submit([&](VkCommandBuffer c) {  // it has been read, and x is a value
            mine.vkCmdFillBuffer(c, in.handle, 0, VK_WHOLE_SIZE, 0);
        });
        mine.finish();
        CHECK(home.stats().downloads == std::uint64_t(round));
        std::vector<float> expected;
        for (int i = 0; i < 15; ++i) expected.push_back(float(3 - i / 5 + round));
        CHECK(pm::to_vector<float>(x) == expected);
    }
    // The user's own memory is not lent: he may write it at any time.
    pm::any_tensor own = pm::from_buffer(home, {in.handle, 0}, pm::dtype::f32, {8});
    auto* const lent =
        pm::to_dlpack(std::move(own), pm::dlpack_access::writable, pm::dlpack::vulkan);
    CHECK(reinterpret_cast<VkDeviceAddress>(lent->dl_tensor.data) != address);
    CHECK(pm::to_vector<float>(pm::from_dlpack(lent, home)) == std::vector<float>(8, 0));

    // The host reads no memory by a device's addresses, and says so where a policy sends it there.
    const pm::context sent =
        pm::context::adopt(mine.handles(), pm::place_steps{[](pm::placement& p) {
                               for (int& place : p.at) place = p.host();
                           }});
    CHECK(test::code_of([&] { pm::from_dlpack(&theirs, sent); }) == pm::errc::unsupported);
    CHECK(deleted == 4);
}

TEST_CASE("adopt: kernels are chosen by the rates that a policy tells") {
    if (wants_host()) PUMICE_SKIP("vulkan-device", "the case is of a device");
    program mine;
    if (!mine.open()) PUMICE_SKIP("vulkan-device", "no Vulkan device");
    const pm::device_rates slow{1e9, 1e9, 0, 1e-3, 1e-6, 64, 1e6};
    CHECK(pm::context::adopt(mine.handles(), pm::measured_rates{slow}).device().rates().launch ==
          1e-3);
}
