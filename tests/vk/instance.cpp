// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/vk/instance.hpp>

#include <pumice/base/log.hpp>

#include <thread>

using namespace pumice;

namespace {

PFN_vkGetInstanceProcAddr real_door = nullptr;
VkResult create_result = VK_SUCCESS;
std::uint32_t shown_version = 0;

VKAPI_ATTR VkResult VKAPI_CALL fake_create(const VkInstanceCreateInfo* info,
                                           const VkAllocationCallbacks* a, VkInstance* out) {
    if (create_result != VK_SUCCESS) return create_result;
    return reinterpret_cast<PFN_vkCreateInstance>(real_door(nullptr, "vkCreateInstance"))(info, a,
                                                                                          out);
}
VKAPI_ATTR VkResult VKAPI_CALL fake_version(std::uint32_t* version) {
    *version = shown_version;
    return VK_SUCCESS;
}
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL fake_door(VkInstance instance, const char* name) {
    if (std::string_view(name) == "vkCreateInstance")
        return reinterpret_cast<PFN_vkVoidFunction>(&fake_create);
    if (std::string_view(name) == "vkEnumerateInstanceVersion" && shown_version)
        return reinterpret_cast<PFN_vkVoidFunction>(&fake_version);
    return real_door(instance, name);
}

}  // namespace

TEST_CASE("instance: no driver is no error, but an empty list with reasons") {
    const test::variable files("VK_DRIVER_FILES", "/nonexistent/no.json");
    std::shared_ptr<vulkan::instance> instance;
    if (test::code_of([&] { instance = vulkan::instance::create(); })) {
        PUMICE_SKIP("vulkan-device", "no Vulkan loader");
    }
    CHECK(instance->candidates().empty());
    REQUIRE(instance->reasons().size() > 2);
    CHECK(instance->reasons()[1].find("/nonexistent/no.json") != std::string::npos);
}

TEST_CASE("instance: the process's own is made once for an environment, and stays") {
    const auto first = [] { return vulkan::instance::shared(); };
    if (test::code_of([&] { first(); }) || first()->candidates().empty())
        PUMICE_SKIP("vulkan-device", "no Vulkan driver");
    CHECK(first() == first());
    {
        const test::variable files("VK_DRIVER_FILES", "/nonexistent/no.json");
        CHECK(vulkan::instance::shared() != first());
        CHECK(vulkan::instance::shared()->candidates().empty());
    }
    CHECK(first() == first());
    std::vector<std::thread> threads;
    std::vector<std::shared_ptr<vulkan::instance>> seen(8);
    for (auto& one : seen) threads.emplace_back([&one] { one = vulkan::instance::shared(); });
    for (std::thread& t : threads) t.join();
    for (const auto& one : seen) CHECK(one == seen.front());
}

TEST_CASE("instance: the user's own way to Vulkan, an old loader, and one that fails") {
    if (test::code_of([] { real_door = vulkan::open_loader().get_instance_proc_addr; })) {
        PUMICE_SKIP("vulkan-device", "no Vulkan loader");
    }
    const auto create = [] {
        vulkan::instance_options options;
        options.door.get_instance_proc_addr = &fake_door;
        return vulkan::instance::create(std::move(options));
    };
    create_result = VK_SUCCESS;
    shown_version = 0;
    CHECK(create()->api_version() >= VK_API_VERSION_1_3);
    create_result = VK_ERROR_INCOMPATIBLE_DRIVER;
    CHECK(create()->candidates().empty());
    create_result = VK_ERROR_INITIALIZATION_FAILED;
    CHECK(test::code_of(create) == errc::vulkan_failed);
    create_result = VK_ERROR_OUT_OF_HOST_MEMORY;
    CHECK(test::code_of(create) == errc::out_of_memory);
    create_result = VK_SUCCESS;
    shown_version = VK_MAKE_API_VERSION(0, 1, 2, 0);
    const auto old = create();
    CHECK(old->candidates().empty());
    REQUIRE(old->reasons().size() == 2);
    CHECK(old->reasons()[0].find("speaks Vulkan 1.2.0; Pumice needs 1.3") != std::string::npos);
    shown_version = VK_MAKE_API_VERSION(0, 1, 9, 0);
    CHECK(create()->api_version() == VK_API_VERSION_1_4);
}

TEST_CASE("instance: devices that cannot be listed are none, with the call as the reason") {
    if (auto gpu = test::open(); !gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::instance_options options;
    options.edit_dispatcher = [](vulkan::dispatcher& table) {
        test::intercept<&vulkan::dispatcher::vkEnumeratePhysicalDevices>(table);
    };
    test::faults::arm(0, VK_ERROR_INITIALIZATION_FAILED);
    const auto instance = vulkan::instance::create(std::move(options));
    test::faults::disarm();
    CHECK(instance->candidates().empty());
    REQUIRE_FALSE(instance->reasons().empty());
    CHECK(instance->reasons()[0] ==
          "vkEnumeratePhysicalDevices gave VK_ERROR_INITIALIZATION_FAILED");
}

TEST_CASE("instance: an adopted one lists the same devices and is left alone") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    const auto& table = gpu.instance->table();
    for (int i = 0; i < 2; ++i) {
        const auto adopted =
            vulkan::instance::adopt(static_cast<VkInstance>(gpu.instance->handle()),
                                    table.vkGetInstanceProcAddr, gpu.instance->api_version());
        REQUIRE(adopted->candidates().size() == gpu.instance->candidates().size());
        CHECK(adopted->candidates()[0].info.name == gpu.instance->candidates()[0].info.name);
    }
}

TEST_CASE("instance: a validation layer is heard (a canary that must fire)") {
    int heard = 0;
    vulkan::instance_options options;
    options.on_message = [&heard](severity level, std::string_view text) {
        if (level == severity::error && !text.empty()) ++heard;
        throw 1;  // must not reach the driver
    };
    auto gpu = test::open({}, std::move(options));
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    CHECK(heard == 0);
    if (!test::validating()) return;  // nobody would hear what follows
    vk::BufferCreateInfo info{};      // a size of 0 is not allowed
    vk::Buffer buffer{};
    const auto result =
        gpu.device->handle().createBuffer(&info, nullptr, &buffer, gpu.device->table());
    if (result == vk::Result::eSuccess)
        gpu.device->handle().destroyBuffer(buffer, nullptr, gpu.device->table());
    CHECK(heard > 0);
    CHECK(gpu.instance->validation_errors() == static_cast<std::uint64_t>(heard));
}
