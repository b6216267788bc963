// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// One VkDeviceMemory with one VkBuffer over all of it, mapped for life where the host can see it.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/unique_ptr.hpp>
#include <pumice/vk/device.hpp>
#include <pumice/vk/ranges.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// What memory is for; which memory type that means is the device's matter.
enum class memory_usage : std::uint8_t {
    device,      // kernels read and write it; mapped where all device memory can be mapped
    upload,      // the host writes, the device copies from it
    download,    // the device copies into it, the host reads: cached
    parameters,  // the host writes a few bytes that each dispatch reads
};
inline constexpr std::size_t memory_usages = 4;

/// As text.
constexpr std::string_view to_string(memory_usage usage) noexcept {
    constexpr std::string_view names[] = {"device", "upload", "download", "parameters"};
    return names[static_cast<std::size_t>(usage)];
}

namespace detail {

/// How well a memory type suits; below 0: not at all.
inline int suits(memory_usage usage, VkMemoryPropertyFlags flags,
                 const device_info& info) noexcept {
    constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                    visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                                    coherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                    cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    // Protected, lazily allocated, remote or uncached-on-device memory has rules of its own.
    if (flags & ~(local | visible | coherent | cached)) return -1;
    const auto points = [flags](VkMemoryPropertyFlags bit, int value) {
        return flags & bit ? value : 0;
    };
    if (usage != memory_usage::device && !(flags & visible)) return -1;
    switch (usage) {
        case memory_usage::device:
            if (!(flags & local)) return -1;
            return 8 + (info.mapped_device_memory
                            ? points(visible, 4) + points(coherent, 2) + points(cached, 1)
                            : -points(visible, 4));
        case memory_usage::upload:
            return 8 + points(coherent, 4) - (info.unified_memory ? 0 : points(local, 2));
        case memory_usage::download:
            return 8 + points(cached, 8) + points(coherent, 4) -
                   (info.unified_memory ? 0 : points(local, 2));
        case memory_usage::parameters: return 8 + points(local, 8) + points(coherent, 4);
    }
    return -1;
}

/// The memory types among `bits` that suit, best first; with equals, the larger heap first.
inline array_list<std::uint32_t> rank_types(memory_usage usage, std::uint32_t bits,
                                            const device& d) {
    const VkPhysicalDeviceMemoryProperties& memory = d.memory_properties();
    const auto score = [&](std::uint32_t i) {
        return suits(usage, memory.memoryTypes[i].propertyFlags, d.info());
    };
    const auto heap = [&](std::uint32_t i) {
        return memory.memoryHeaps[memory.memoryTypes[i].heapIndex].size;
    };
    array_list<std::uint32_t> types;
    for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i)
        if ((bits & (1u << i)) && score(i) >= 0) types.push_back(i);
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
        if (score(a) != score(b)) return score(a) > score(b);
        return heap(a) != heap(b) ? heap(a) > heap(b) : a < b;
    };
    for (std::size_t i = 1; i < types.size(); ++i)  // few, so sorted by insertion
        for (std::size_t k = i; k > 0 && before(types[k], types[k - 1]); --k)
            std::swap(types[k], types[k - 1]);
    return types;
}

/// What is left in a heap: by VK_EXT_memory_budget, which knows of other programs, or else its
/// size.
inline std::uint64_t heap_room(const device& d, std::uint32_t heap) {
    if (!d.has(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME))
        return d.memory_properties().memoryHeaps[heap].size;
    vk::PhysicalDeviceMemoryBudgetPropertiesEXT budget{};
    vk::PhysicalDeviceMemoryProperties2 properties{};
    properties.pNext = &budget;
    d.physical().getMemoryProperties2(&properties, d.parent().table());
    const std::uint64_t most = budget.heapBudget[heap], used = budget.heapUsage[heap];
    return most > used ? most - used : 0;
}

/// Device memory for an object that has it to itself. Throws errc::out_of_memory, and what else the
/// driver reports; `who` stands in the error.
inline vk::DeviceMemory allocate_for(const device& d, std::uint64_t bytes, std::uint32_t type_bits,
                                     const std::string& who) {
    vk::DeviceMemory made{};
    vk::Result result = vk::Result::eErrorOutOfDeviceMemory;
    for (const std::uint32_t type : rank_types(memory_usage::device, type_bits, d)) {
        vk::MemoryAllocateInfo info{};
        info.allocationSize = bytes;
        info.memoryTypeIndex = type;
        result = d.handle().allocateMemory(&info, nullptr, &made, d.table());
        d.stats().allocations += 1;
        if (result == vk::Result::eSuccess) break;
    }
    d.check(result, "vkAllocateMemory", who);
    return made;
}

/// Owns its Vulkan objects. Destroyed only when the device has finished with it.
class memory_block {
public:
    /// Of all buffers: what kernels and copies do with them, and shader operators besides.
    static constexpr VkBufferUsageFlags buffer_usage =
        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
        VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
        VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT |
        VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT;
    static constexpr std::uint64_t unit =
        256;  // alignment of all allocations; nonCoherentAtomSize is at most this

    /// Null when there is no room; `why` then has a line for each memory type that was tried.
    /// Throws what else can go wrong. pre: `size` is a multiple of `unit`.
    static unique_ptr<memory_block> create(const device& d, memory_usage usage, std::uint64_t size,
                                           std::vector<std::string>& why) {
        unique_ptr<memory_block> made(new memory_block(d, size));
        made->usage = usage;
        return made->open(why) ? std::move(made) : nullptr;
    }

    memory_block(const memory_block&) = delete;
    memory_block& operator=(const memory_block&) = delete;
    ~memory_block() {
        device_.handle().destroyBuffer(buffer, nullptr, device_.table());
        device_.handle().freeMemory(memory, nullptr, device_.table());  // unmaps
    }

    memory_usage usage = memory_usage::device;
    bool dedicated = false;  // handed out as a whole
    bool coherent = true;
    std::uint32_t memory_type = 0;
    vk::Buffer buffer{};
    vk::DeviceMemory memory{};
    std::uint64_t size = 0;
    std::uint64_t address = 0;
    unsigned char* mapped = nullptr;
    ranges room;

private:
    memory_block(const device& d, std::uint64_t bytes)
        : size(bytes), room(static_cast<std::uint32_t>(bytes / unit)), device_(d) {}

    bool open(std::vector<std::string>& why) {
        vk::BufferCreateInfo info{};
        info.size = size;
        info.usage = vk::BufferUsageFlags(buffer_usage);
        const std::uint32_t families[] = {device_.queue().family,
                                          device_.transfer_queues().empty()
                                              ? device_.queue().family
                                              : device_.transfer_queues()[0].family};
        if (families[0] != families[1]) {
            info.sharingMode = vk::SharingMode::eConcurrent;
            info.queueFamilyIndexCount = 2;
            info.pQueueFamilyIndices = families;
        }
        vk::Result result = device_.handle().createBuffer(&info, nullptr, &buffer, device_.table());
        if (no_room(result, "vkCreateBuffer", why)) return false;
        vk::MemoryRequirements needs{};
        device_.handle().getBufferMemoryRequirements(buffer, &needs, device_.table());
        const array_list<std::uint32_t> types = rank_types(usage, needs.memoryTypeBits, device_);
        if (types.empty())
            why.push_back(cat({"the device has no memory type for ", to_string(usage)}));
        for (const std::uint32_t type : types)
            if (allocate(type, needs.size, why)) {
                finish(type);
                return true;
            }
        return false;
    }

    bool allocate(std::uint32_t type, std::uint64_t bytes, std::vector<std::string>& why) {
        const std::uint32_t heap = device_.memory_properties().memoryTypes[type].heapIndex;
        if (const std::uint64_t room_left = heap_room(device_, heap); bytes > room_left) {
            why.push_back(cat({"heap ", heap, " has a budget of ", room_left, " bytes left, ",
                               bytes, " are needed (limit: heap budget)"}));
            return false;
        }
        vk::MemoryAllocateFlagsInfo flags{};
        flags.flags = vk::MemoryAllocateFlags(vk::MemoryAllocateFlagBits::eDeviceAddress);
        vk::MemoryAllocateInfo info{};
        info.pNext = &flags;
        info.allocationSize = bytes;
        info.memoryTypeIndex = type;
        const vk::Result result =
            device_.handle().allocateMemory(&info, nullptr, &memory, device_.table());
        device_.stats().allocations += 1;
        return !no_room(result, "vkAllocateMemory", why);
    }

    bool no_room(vk::Result result, const char* call, std::vector<std::string>& why) const {
        if (code_of(result) == errc::out_of_memory || result == vk::Result::eErrorTooManyObjects) {
            why.push_back(cat({call, " of ", size, " bytes gave ", result_name(result)}));
            return true;
        }
        device_.check(result, call);
        return false;
    }

    void finish(std::uint32_t type) {
        memory_type = type;
        const dispatcher& table = device_.table();
        vk::BindBufferMemoryInfo bind{};
        bind.buffer = buffer;
        bind.memory = memory;
        device_.check(device_.handle().bindBufferMemory2(1, &bind, table), "vkBindBufferMemory2");
        const VkMemoryPropertyFlags flags =
            device_.memory_properties().memoryTypes[type].propertyFlags;
        coherent = (flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0;
        const bool visible = (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0;
        if (visible && (usage != memory_usage::device || device_.info().mapped_device_memory)) {
            void* where = nullptr;
            device_.check(device_.handle().mapMemory(memory, 0, VK_WHOLE_SIZE, vk::MemoryMapFlags{},
                                                     &where, table),
                          "vkMapMemory");
            device_.stats().maps += 1;
            mapped = static_cast<unsigned char*>(where);
        }
        vk::BufferDeviceAddressInfo info{};
        info.buffer = buffer;
        address = device_.handle().getBufferAddress(&info, table);
    }

    const device& device_;
};

}  // namespace detail
}}}  // namespace pumice::PUMICE_ABI::vulkan
