// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A buffer with memory of its own that somebody else may hold too: pages of the host's
// (VK_EXT_external_memory_host), or what a file descriptor hands from process to process
// (VK_KHR_external_memory_fd, VK_EXT_external_memory_dma_buf).
#pragma once

#include <pumice/base/unique_ptr.hpp>
#include <pumice/vk/allocation.hpp>

#include <cstdio>
#include <optional>
#include <string_view>
#if defined(__linux__)
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// Another descriptor of what one stands for, which processes that this one starts do not get;
/// below 0 where there can be none.
inline int copy_of_descriptor(int fd) noexcept {
#if defined(__linux__)
    return ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
#else
    static_cast<void>(fd);
    return -1;
#endif
}

/// Free of effect below 0.
inline void close_descriptor(int fd) noexcept {
#if defined(__linux__)
    if (fd >= 0) ::close(fd);
#else
    static_cast<void>(fd);
#endif
}

/// Whether a descriptor may stand for memory: no pipe, socket or folder, and none that tells of
/// events, from all of which a driver would wait to read.
inline bool may_be_memory(int fd) noexcept {
#if defined(__linux__)
    struct stat file{};
    if (::fstat(fd, &file) != 0 || S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode) ||
        S_ISDIR(file.st_mode))
        return false;
    constexpr std::string_view events = "anon_inode:[";
    char link[32], target[events.size()];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ::ssize_t length = ::readlink(link, target, sizeof target);
    return length < 0 || std::string_view(target, static_cast<std::size_t>(length)) != events;
#else
    return fd >= 0;
#endif
}

/// Where the memory comes from, and whether it can be handed on.
enum class external_kind : std::uint8_t {
    own,         // the device's, for this process alone
    host_pages,  // of the caller's, which outlive it
    opaque_fd,   // for the same driver and device, in any process
    dma_buf,     // for any device and subsystem
};

struct external_request {
    external_kind kind = external_kind::own;
    std::uint64_t size = 0;
    const void* pages = nullptr;  // of host_pages
    /// Imported where it is not below 0. An opaque_fd has to be imported with the size and the
    /// heap that it was exported with.
    int fd = -1;
    int heap = -1;  // of the device's heaps; below 0: that of the best memory type
};

/// Owns its Vulkan objects. Destroyed only when the device has finished with it.
class external_memory {
public:
    /// Null, with a line in `why`, where the device or the memory does not allow it: drivers may
    /// refuse pages of files, and pages that are read-only. Throws what else can go wrong. Takes
    /// the descriptor over: the driver owns it once it has imported it, else it is closed.
    static unique_ptr<external_memory> open(std::shared_ptr<const device> owner,
                                            external_request wanted, std::string& why) {
        const struct closer {
            const int& fd;
            ~closer() { close_descriptor(fd); }
        } if_not_imported{wanted.fd};
        unique_ptr<external_memory> made(new external_memory(std::move(owner), wanted.kind));
        return made->take(wanted, why) ? std::move(made) : nullptr;
    }
    external_memory(const external_memory&) = delete;
    external_memory& operator=(const external_memory&) = delete;
    ~external_memory() {
        device_->handle().destroyBuffer(buffer_, nullptr, device_->table());
        device_->handle().freeMemory(memory_, nullptr, device_->table());  // unmaps
        close_descriptor(imported_);
    }

    /// Never for memory::free.
    const allocation& piece() const noexcept { return piece_; }
    /// Bytes of the VkDeviceMemory, as who imports its descriptor names them.
    std::uint64_t allocated() const noexcept { return allocated_; }

    /// A descriptor of the memory, which the caller closes. Below 0, with a line in `why`, where
    /// the memory cannot be handed on.
    int export_fd(std::string& why) const {
        if (kind_ != external_kind::opaque_fd && kind_ != external_kind::dma_buf) {
            why = "it was not made as memory of a file descriptor";
            return -1;
        }
        if (imported_ >= 0) {
            const int copy = copy_of_descriptor(imported_);
            if (copy < 0) why = "its descriptor cannot be copied";
            return copy;
        }
        vk::MemoryGetFdInfoKHR info{};
        info.memory = memory_;
        info.handleType = vk::ExternalMemoryHandleTypeFlagBits(handle_of(kind_));
        int fd = -1;
        const vk::Result result = device_->handle().getMemoryFdKHR(&info, &fd, device_->table());
        if (result == vk::Result::eSuccess) return fd;
        why = cat({"vkGetMemoryFdKHR gave ", result_name(result)});
        return -1;
    }

    /// What the host wrote is seen by the device, and the other way round. Free of effect where the
    /// memory is coherent, or not mapped.
    void flush(std::uint64_t begin, std::uint64_t size) const { range(begin, size, true); }
    void invalidate(std::uint64_t begin, std::uint64_t size) const { range(begin, size, false); }

private:
    external_memory(std::shared_ptr<const device> owner, external_kind kind) noexcept
        : device_(std::move(owner)), kind_(kind) {}

    static constexpr VkExternalMemoryHandleTypeFlagBits handle_of(external_kind kind) noexcept {
        switch (kind) {
            case external_kind::host_pages:
                return VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
            case external_kind::opaque_fd: return VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
            case external_kind::dma_buf: return VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
            default: return VkExternalMemoryHandleTypeFlagBits(0);
        }
    }
    static constexpr const char* extension_of(external_kind kind) noexcept {
        switch (kind) {
            case external_kind::host_pages: return VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
            case external_kind::opaque_fd: return VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
            case external_kind::dma_buf: return VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME;
            default: return nullptr;
        }
    }
    static constexpr VkBufferUsageFlags buffer_usage = detail::memory_block::buffer_usage;

    bool refuse(std::string& why, const char* call, vk::Result result) const {
        device_->note(result);
        why = cat({call, " gave ", result_name(result)});
        return false;
    }

    /// Sets wanted.fd to -1 once the driver owns it.
    bool take(external_request& wanted, std::string& why) {
        const device& d = *device_;
        if (const char* const needed = extension_of(kind_); needed && !d.has(needed)) {
            why = cat({"the device has no ", needed});
            return false;
        }
        why = "there is nothing to import";
        if (wanted.size == 0 || (kind_ == external_kind::host_pages && !wanted.pages)) return false;
        if (!may_be_external(wanted, why)) return false;

        std::uint64_t length = wanted.size, before = 0;
        void* start = nullptr;
        std::uint32_t bits = ~0u;
        if (kind_ == external_kind::host_pages &&
            !whole_pages(wanted, start, length, before, bits, why))
            return false;
        why =
            cat({"it has more bytes than a buffer of the device may have, ", d.info().max_buffer});
        if (length > static_cast<std::uint64_t>(d.info().max_buffer)) return false;
        if (kind_ == external_kind::dma_buf && wanted.fd >= 0) {
            vk::MemoryFdPropertiesKHR properties{};
            const vk::Result result = d.handle().getMemoryFdPropertiesKHR(
                vk::ExternalMemoryHandleTypeFlagBits(handle_of(kind_)), wanted.fd, &properties,
                d.table());
            if (result != vk::Result::eSuccess)
                return refuse(why, "vkGetMemoryFdPropertiesKHR", result);
            bits = properties.memoryTypeBits;
        }
        vk::ExternalMemoryBufferCreateInfo external{};
        external.handleTypes = vk::ExternalMemoryHandleTypeFlags(
            vk::ExternalMemoryHandleTypeFlagBits(handle_of(kind_)));
        vk::BufferCreateInfo info{};
        if (kind_ != external_kind::own) info.pNext = &external;
        info.size = length;
        info.usage = vk::BufferUsageFlags(buffer_usage);
        vk::Result result = d.handle().createBuffer(&info, nullptr, &buffer_, d.table());
        if (result != vk::Result::eSuccess) return refuse(why, "vkCreateBuffer", result);
        vk::MemoryRequirements needs{};
        d.handle().getBufferMemoryRequirements(buffer_, &needs, d.table());
        why = "no memory type takes this memory";
        if (kind_ == external_kind::host_pages && needs.size > length) return false;
        const std::uint32_t type = type_among(needs.memoryTypeBits & bits, wanted.heap, why);
        if (type >= VK_MAX_MEMORY_TYPES || !allocate(wanted, needs.size, length, start, type, why))
            return false;
        finish(wanted, start, before, type);
        why.clear();
        return true;
    }

    /// Asks the driver, before a call that it does not have to refuse.
    bool may_be_external(const external_request& wanted, std::string& why) const {
        if (kind_ == external_kind::own || kind_ == external_kind::host_pages) return true;
        vk::PhysicalDeviceExternalBufferInfo info{};
        info.usage = vk::BufferUsageFlags(buffer_usage);
        info.handleType = vk::ExternalMemoryHandleTypeFlagBits(handle_of(kind_));
        vk::ExternalBufferProperties found{};
        device_->physical().getExternalBufferProperties(&info, &found, device_->parent().table());
        const auto needed = wanted.fd >= 0 ? vk::ExternalMemoryFeatureFlagBits::eImportable
                                           : vk::ExternalMemoryFeatureFlagBits::eExportable;
        why = cat({"the driver does not ", (wanted.fd >= 0 ? "import" : "export"),
                   " buffers of this kind"});
        return bool(found.externalMemoryProperties.externalMemoryFeatures & needed);
    }

    /// The pages around the array, and the memory types that take them.
    bool whole_pages(const external_request& wanted, void*& start, std::uint64_t& length,
                     std::uint64_t& before, std::uint32_t& bits, std::string& why) const {
        const device& d = *device_;
        vk::PhysicalDeviceExternalMemoryHostPropertiesEXT host{};
        vk::PhysicalDeviceProperties2 properties{};
        properties.pNext = &host;
        d.physical().getProperties2(&properties, d.parent().table());
        const std::uint64_t page = std::max<std::uint64_t>(host.minImportedHostPointerAlignment, 1);
        const auto address = reinterpret_cast<std::uintptr_t>(wanted.pages);
        before = address % page;
        length = (before + wanted.size + page - 1) / page * page;
        start =
            const_cast<unsigned char*>(static_cast<const unsigned char*>(wanted.pages)) - before;
        vk::MemoryHostPointerPropertiesEXT types{};
        const vk::Result result = d.handle().getMemoryHostPointerPropertiesEXT(
            vk::ExternalMemoryHandleTypeFlagBits::eHostAllocationEXT, start, &types, d.table());
        if (result != vk::Result::eSuccess)
            return refuse(why, "vkGetMemoryHostPointerPropertiesEXT", result);
        bits = types.memoryTypeBits;
        return true;
    }

    /// The best of some memory types, of one heap where that is wished; none: VK_MAX_MEMORY_TYPES.
    std::uint32_t type_among(std::uint32_t bits, int heap, std::string& why) const {
        const VkPhysicalDeviceMemoryProperties& memory = device_->memory_properties();
        if (heap >= 0 && static_cast<std::uint32_t>(heap) >= memory.memoryHeapCount) {
            why = cat({"the device has ", memory.memoryHeapCount,
                       " memory heaps, so none of index ", heap});
            return VK_MAX_MEMORY_TYPES;
        }
        const auto suits = [&](std::uint32_t type) {
            return heap < 0 ||
                   memory.memoryTypes[type].heapIndex == static_cast<std::uint32_t>(heap);
        };
        for (const memory_usage usage : {memory_usage::device, memory_usage::upload})
            for (const std::uint32_t type : detail::rank_types(usage, bits, *device_))
                if (suits(type)) return type;
        for (std::uint32_t type = 0; type < memory.memoryTypeCount; ++type)
            if ((bits & (1u << type)) && suits(type)) return type;
        if (heap >= 0) why = cat({"no memory type of heap ", heap, " takes this memory"});
        return VK_MAX_MEMORY_TYPES;
    }

    bool allocate(external_request& wanted, std::uint64_t needed, std::uint64_t length, void* start,
                  std::uint32_t type, std::string& why) {
        const void* next = nullptr;
        const auto link = [&next](auto& info) {
            info.pNext = next;
            next = &info;
        };
        vk::MemoryAllocateFlagsInfo flags{};
        flags.flags = vk::MemoryAllocateFlags(vk::MemoryAllocateFlagBits::eDeviceAddress);
        link(flags);
        vk::ImportMemoryHostPointerInfoEXT pointer{};
        pointer.handleType = vk::ExternalMemoryHandleTypeFlagBits::eHostAllocationEXT;
        pointer.pHostPointer = start;
        if (kind_ == external_kind::host_pages) link(pointer);
        vk::MemoryDedicatedAllocateInfo dedicated{};
        vk::ExportMemoryAllocateInfo exported{};
        vk::ImportMemoryFdInfoKHR imported{};
        if (kind_ == external_kind::opaque_fd || kind_ == external_kind::dma_buf) {
            const auto handle = vk::ExternalMemoryHandleTypeFlagBits(handle_of(kind_));
            dedicated.buffer = buffer_;
            link(dedicated);
            exported.handleTypes = vk::ExternalMemoryHandleTypeFlags(handle);
            imported.handleType = handle;
            imported.fd = wanted.fd;
            if (wanted.fd < 0) link(exported);
            else link(imported);  // alone: beside an export a driver may leave it unheeded
        }
        if (wanted.fd >= 0) {  // before the driver owns it
            imported_ = copy_of_descriptor(wanted.fd);
            why = "its descriptor cannot be copied";
            if (imported_ < 0) return false;
        }
        vk::MemoryAllocateInfo what{};
        what.pNext = next;
        what.allocationSize = allocated_ = kind_ == external_kind::host_pages ? length : needed;
        what.memoryTypeIndex = type;
        vk::Result result =
            device_->handle().allocateMemory(&what, nullptr, &memory_, device_->table());
        device_->stats().allocations += 1;
        if (result != vk::Result::eSuccess) return refuse(why, "vkAllocateMemory", result);
        wanted.fd = -1;
        vk::BindBufferMemoryInfo bind{};
        bind.buffer = buffer_;
        bind.memory = memory_;
        result = device_->handle().bindBufferMemory2(1, &bind, device_->table());
        return result == vk::Result::eSuccess || refuse(why, "vkBindBufferMemory2", result);
    }

    void finish(const external_request& wanted, void* start, std::uint64_t before,
                std::uint32_t type) {
        const device& d = *device_;
        const VkMemoryPropertyFlags flags = d.memory_properties().memoryTypes[type].propertyFlags;
        void* mapped = start;
        if (!mapped && (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) &&
            (wanted.heap >= 0 || d.info().mapped_device_memory)) {
            d.check(d.handle().mapMemory(memory_, 0, VK_WHOLE_SIZE, vk::MemoryMapFlags{}, &mapped,
                                         d.table()),
                    "vkMapMemory");
            d.stats().maps += 1;
        }
        vk::BufferDeviceAddressInfo info{};
        info.buffer = buffer_;
        piece_.buffer = static_cast<VkBuffer>(buffer_);
        piece_.offset = before;
        piece_.size = wanted.size;
        piece_.device_address = d.handle().getBufferAddress(&info, d.table()) + before;
        if (mapped) piece_.mapped = static_cast<unsigned char*>(mapped) + before;
        // Pages of the host's are coherent with it by what importing them says.
        piece_.coherent = start || (flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0;
    }

    void range(std::uint64_t begin, std::uint64_t size, bool flushes) const {
        if (piece_.coherent || !piece_.mapped || size == 0) return;
        constexpr std::uint64_t unit = detail::memory_block::unit;
        vk::MappedMemoryRange what{};
        what.memory = memory_;
        what.offset = begin / unit * unit;
        const std::uint64_t end = (begin + size + unit - 1) / unit * unit;
        what.size = end >= piece_.size ? VK_WHOLE_SIZE : end - what.offset;
        const device& d = *device_;
        if (flushes)
            d.check(d.handle().flushMappedMemoryRanges(1, &what, d.table()),
                    "vkFlushMappedMemoryRanges");
        else
            d.check(d.handle().invalidateMappedMemoryRanges(1, &what, d.table()),
                    "vkInvalidateMappedMemoryRanges");
    }

    std::shared_ptr<const device> device_;
    external_kind kind_;
    int imported_ = -1;  // a copy of what was imported, to be handed on
    vk::Buffer buffer_{};
    vk::DeviceMemory memory_{};
    std::uint64_t allocated_ = 0;
    allocation piece_;
};

}}}  // namespace pumice::PUMICE_ABI::vulkan
