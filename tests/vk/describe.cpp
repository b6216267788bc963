// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/vk/describe.hpp>

#include <algorithm>

using namespace pumice;

namespace {

/// Describes every device again, with some functions of the table replaced.
template <class Edit>
std::vector<vulkan::candidate> described(const vulkan::instance& instance, Edit&& edit) {
    vulkan::dispatcher table = instance.table();
    edit(table);
    std::vector<vulkan::candidate> list;
    for (const auto& c : instance.candidates()) list.push_back(vulkan::describe(c.handle, table));
    return list;
}

// The functions that the replacements below call.
vulkan::dispatcher real;
VkQueueFamilyProperties families[3];
std::uint32_t family_count = 0;

bool mentions(const vulkan::candidate& c, const char* text) {
    for (const std::string& each : c.refusals)
        if (each.find(text) != std::string::npos) return true;
    return false;
}

VKAPI_ATTR void VKAPI_CALL fake_families(VkPhysicalDevice, std::uint32_t* count,
                                         VkQueueFamilyProperties* out) {
    *count = family_count;
    if (out) std::copy_n(families, family_count, out);
}

}  // namespace

TEST_CASE("describe: the devices of this machine") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    for (const vulkan::candidate& c : gpu.instance->candidates()) {
        const device_info& info = c.info;
        CAPTURE(to_string(info));
        CHECK(c.refusals.empty());
        CHECK_FALSE(info.name.empty());
        CHECK_FALSE(info.driver.empty());
        CHECK(info.api_version >= VK_API_VERSION_1_3);
        CHECK(info.max_workgroup_invocations >= 128);
        for (const auto n : info.max_workgroup_count) CHECK(n >= 65535);
        CHECK(info.shared_memory >= 16384);
        CHECK(info.memory > 0);
        CHECK(info.max_allocation >= std::int64_t{1} << 30);
        CHECK(info.max_buffer >= std::int64_t{1} << 30);
        CHECK(info.max_push_constants >= 128);
        CHECK(info.subgroup_size >= info.min_subgroup_size);
        CHECK(info.subgroup_size <= info.max_subgroup_size);
        if (std::string_view(info.name).find("llvmpipe") != info.name.npos)
            CHECK(info.subgroup_shuffle);
        CHECK(info.cooperative_matrix == !info.matrix_shapes.empty());
        for (const matrix_shape& s : info.matrix_shapes) CHECK((s.m > 0 && s.n > 0 && s.k > 0));
        if (info.type == device_type::cpu) {
            CHECK(info.unified_memory);
            CHECK(info.mapped_device_memory);
        }
    }
}

TEST_CASE(
    "describe: an old device, one without a feature, and one without compute are refused and "
    "named") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    real = gpu.instance->table();
    for (const auto& c : described(*gpu.instance, [](vulkan::dispatcher& table) {
             table.vkGetPhysicalDeviceProperties = [](VkPhysicalDevice d,
                                                      VkPhysicalDeviceProperties* out) {
                 real.vkGetPhysicalDeviceProperties(d, out);
                 out->apiVersion = VK_MAKE_API_VERSION(0, 1, 1, 130);
             };
         })) {
        CHECK(mentions(c, "it speaks Vulkan 1.1.130; Pumice needs 1.3"));
        CHECK_FALSE(c.info.name.empty());
        CHECK(test::code_of([&] { vulkan::device::create(gpu.instance, c); }) == errc::no_device);
    }
    for (const auto& c : described(*gpu.instance, [](vulkan::dispatcher& table) {
             table.vkGetPhysicalDeviceFeatures2 = [](VkPhysicalDevice, VkPhysicalDeviceFeatures2*) {
             };
         })) {
        for (const char* floor :
             {"bufferDeviceAddress", "timelineSemaphore", "scalarBlockLayout", "synchronization2"})
            CHECK(mentions(c, floor));
        CHECK_FALSE(c.info.storage16);
        CHECK_FALSE(c.info.cooperative_matrix);
    }
    family_count = 0;
    for (const auto& c : described(*gpu.instance, [](vulkan::dispatcher& table) {
             table.vkGetPhysicalDeviceQueueFamilyProperties = &fake_families;
         }))
        CHECK(mentions(c, "no queue family of it computes"));
}

TEST_CASE(
    "describe: compute without graphics comes first, and a family that only copies is kept in "
    "mind") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    constexpr VkQueueFlags graphics =
                               VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT,
                           transfer = VK_QUEUE_TRANSFER_BIT,
                           compute = VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
    const auto chosen = [&](std::initializer_list<VkQueueFlags> flags) {
        family_count = 0;
        for (const VkQueueFlags f : flags) {
            families[family_count].queueFlags = f;
            families[family_count].queueCount = 1;
            families[family_count].timestampValidBits = family_count * 16;
            ++family_count;
        }
        return described(*gpu.instance, [](vulkan::dispatcher& table) {
            table.vkGetPhysicalDeviceQueueFamilyProperties = &fake_families;
        })[0];
    };
    auto c = chosen({graphics, transfer, compute});  // as on an H200
    CHECK(c.family == 2);
    CHECK(c.transfer_family == 1u);
    CHECK(c.transfer_queues == 1);
    CHECK(c.transfer_timestamp_bits == 16);
    CHECK(c.timestamp_bits == 32);
    CHECK(c.info.timestamp_period > 0);
    c = chosen({graphics});
    CHECK(c.family == 0);
    CHECK_FALSE(c.transfer_family);
    CHECK(c.info.timestamp_period == 0);
    c = chosen({VK_QUEUE_GRAPHICS_BIT, compute, graphics});
    CHECK(c.family == 1);
    CHECK_FALSE(c.transfer_family);
    c = chosen({compute, compute, transfer});
    CHECK(c.family == 0);
    CHECK(c.transfer_family == 2u);
}
