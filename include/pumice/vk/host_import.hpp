// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Memory of the host's that the device copies from or to in place (VK_EXT_external_memory_host).
#pragma once

#include <pumice/vk/allocation.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// Lends host memory to the device for its own lifetime. Importing costs about what copying does:
/// it is for many transfers of memory that the user keeps. Weights of files do not go this way:
/// threads read them into mapped device memory, and there is no copy on the host to lend. The
/// memory must outlive it, and the device must have finished with it.
class host_import {
public:
    /// Null, with a line in `why`, where the device or the memory does not allow it (drivers may
    /// refuse pages of files, and pages that are read-only): the caller then copies as ever.
    static std::unique_ptr<host_import> open(std::shared_ptr<const device> owner, const void* data,
                                             std::uint64_t size, std::string& why) {
        std::unique_ptr<host_import> made(new host_import(std::move(owner)));
        return made->import(data, size, why) ? std::move(made) : nullptr;
    }
    host_import(const host_import&) = delete;
    host_import& operator=(const host_import&) = delete;
    ~host_import() {
        device_->handle().destroyBuffer(buffer_, nullptr, device_->table());
        device_->handle().freeMemory(memory_, nullptr, device_->table());
    }

    /// For commands::copy; never for memory::free. It has no device address.
    const allocation& piece() const noexcept { return piece_; }

private:
    explicit host_import(std::shared_ptr<const device> owner) noexcept
        : device_(std::move(owner)) {}

    bool import(const void* data, std::uint64_t size, std::string& why) {
        const device& d = *device_;
        const auto refuse = [&why](const char* call, vk::Result result) {
            why = std::string(call) + " gave " + std::string(result_name(result));
            return false;
        };
        why = "the device has no VK_EXT_external_memory_host";
        if (!d.has(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)) return false;
        why = "there is nothing to import";
        if (!data || size == 0) return false;
        vk::PhysicalDeviceExternalMemoryHostPropertiesEXT host{};
        vk::PhysicalDeviceProperties2 properties{};
        properties.pNext = &host;
        d.physical().getProperties2(&properties, d.parent().table());
        const std::uint64_t page = std::max<std::uint64_t>(host.minImportedHostPointerAlignment, 1);
        const auto address = reinterpret_cast<std::uintptr_t>(data);
        const std::uint64_t first = address / page * page;  // whole pages around the array
        const std::uint64_t length = (address + size + page - 1) / page * page - first;
        void* const start =
            const_cast<unsigned char*>(static_cast<const unsigned char*>(data)) - (address - first);

        constexpr auto kind = vk::ExternalMemoryHandleTypeFlagBits::eHostAllocationEXT;
        vk::MemoryHostPointerPropertiesEXT types{};
        vk::Result result =
            d.handle().getMemoryHostPointerPropertiesEXT(kind, start, &types, d.table());
        if (result != vk::Result::eSuccess)
            return refuse("vkGetMemoryHostPointerPropertiesEXT", result);

        vk::ExternalMemoryBufferCreateInfo external{};
        external.handleTypes = vk::ExternalMemoryHandleTypeFlags(kind);
        vk::BufferCreateInfo info{};
        info.pNext = &external;
        info.size = length;
        info.usage = vk::BufferUsageFlags(VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                          VK_BUFFER_USAGE_TRANSFER_DST_BIT);
        result = d.handle().createBuffer(&info, nullptr, &buffer_, d.table());
        if (result != vk::Result::eSuccess) return refuse("vkCreateBuffer", result);
        vk::MemoryRequirements needs{};
        d.handle().getBufferMemoryRequirements(buffer_, &needs, d.table());
        const std::uint32_t bits = needs.memoryTypeBits & types.memoryTypeBits;
        why = "no memory type takes this memory";
        if (bits == 0 || needs.size > length) return false;

        vk::ImportMemoryHostPointerInfoEXT pointer{};
        pointer.handleType = kind;
        pointer.pHostPointer = start;
        vk::MemoryAllocateInfo what{};
        what.pNext = &pointer;
        what.allocationSize = length;
        what.memoryTypeIndex = static_cast<std::uint32_t>(std::countr_zero(bits));
        result = d.handle().allocateMemory(&what, nullptr, &memory_, d.table());
        d.stats().allocations += 1;
        if (result != vk::Result::eSuccess) return refuse("vkAllocateMemory", result);
        vk::BindBufferMemoryInfo bind{};
        bind.buffer = buffer_;
        bind.memory = memory_;
        result = d.handle().bindBufferMemory2(1, &bind, d.table());
        if (result != vk::Result::eSuccess) return refuse("vkBindBufferMemory2", result);

        piece_.buffer = static_cast<VkBuffer>(buffer_);
        piece_.offset = address - first;
        piece_.size = size;
        piece_.mapped = const_cast<void*>(data);
        piece_.kind = memory_kind::upload;
        why.clear();
        return true;
    }

    std::shared_ptr<const device> device_;
    vk::Buffer buffer_{};
    vk::DeviceMemory memory_{};
    allocation piece_;
};

}}}  // namespace pumice::PUMICE_ABI::vulkan
