// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Beside the user's own Vulkan: his device and queue, his buffers as tensors, tensors as his
// buffers, and the order between his submits and Pumice's. Nothing that he made is destroyed.
#pragma once

#include <pumice/tensor/context.hpp>
#include <pumice/vk/loader.hpp>

#include <mutex>

#ifndef PUMICE_COMPILED
#include <pumice/exec/make_engine.hpp>
#include <pumice/exec/null_engine.hpp>
#endif

namespace pumice { inline namespace PUMICE_ABI {

/// What the user made. It stays his, and outlives every context and tensor made with it.
struct vulkan_handles {
    PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
    VkInstance instance = VK_NULL_HANDLE;
    std::uint32_t api_version = VK_API_VERSION_1_3;  // of his VkApplicationInfo
    VkPhysicalDevice physical_device = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    /// What vkCreateDevice was given: Pumice uses no feature or extension that is not in it, and
    /// needs bufferDeviceAddress, timelineSemaphore, synchronization2 and scalarBlockLayout.
    const VkDeviceCreateInfo* created_with = nullptr;
    VkQueue queue = VK_NULL_HANDLE;
    std::uint32_t queue_family = 0;
    /// Held while Pumice submits; null where nobody else uses the queue at the same time.
    std::mutex* queue_mutex = nullptr;
};

/// Bytes of a buffer.
struct vulkan_buffer {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceSize offset = 0;
};

/// The engine of `context::adopt(handles, policies...)`. Throws errc::invalid_argument for handles
/// that are missing, errc::no_device for a device without what Pumice needs.
PUMICE_INLINE std::shared_ptr<engine> make_adopting_engine(const vulkan_handles& theirs,
                                                           policy_set policies);

/// A tensor over the user's memory, in row-major order and not copied. The buffer belongs to the
/// context's device, has the usages storage buffer, shader device address and (to be read or
/// written by the host) transfer source and destination, and stays until work that uses it is
/// `finished`. Throws errc::invalid_argument where the address is no multiple of 16.
PUMICE_INLINE any_tensor from_buffer(const context& home, const vulkan_buffer& theirs, dtype type,
                                     const shape& extent);

/// Where a tensor's values lie, evaluated if need be, dense in row-major order; valid while `t` or
/// a copy of it lives. What is to read them runs after `finished`.
PUMICE_INLINE vulkan_buffer buffer_of(any_tensor& t);

/// What Pumice submits on this context from now on runs after `semaphore` has reached `value` (for
/// timeline semaphores) or is signalled: the user's writes are seen, his reads are done.
PUMICE_INLINE void wait_before(const context& home, VkSemaphore semaphore, std::uint64_t value = 0);

/// A timeline semaphore and the value that it reaches when all that was evaluated on this context
/// so far is done; the user's submits wait for it. It lives as long as the context.
struct timeline_point {
    VkSemaphore semaphore = VK_NULL_HANDLE;
    std::uint64_t value = 0;
};
PUMICE_INLINE timeline_point finished(const context& home);

#ifndef PUMICE_COMPILED

PUMICE_INLINE std::shared_ptr<engine> make_adopting_engine(const vulkan_handles& theirs,
                                                           policy_set policies) {
    if (!theirs.get_instance_proc_addr || !theirs.instance || !theirs.physical_device ||
        !theirs.device || !theirs.created_with || !theirs.queue)
        fail(errc::invalid_argument, "adopt",
             {"a handle is missing: get_instance_proc_addr, instance, physical_device, device, "
              "created_with and queue are all needed"});
    detail::check_policies(policies);
    detail::apply_pack_environment(policies);
    gathering::none{}.apply(policies);  // the program sees what its device does
    auto instance =
        vulkan::instance::adopt(theirs.instance, theirs.get_instance_proc_addr, theirs.api_version);
    vulkan::candidate chosen = vulkan::describe(vk::PhysicalDevice(theirs.physical_device),
                                                instance->table(), theirs.created_with);
    chosen.info.measured = policies.rates;
    if (!chosen.refusals.empty())
        throw error(errc::no_device, "adopt",
                    cat({chosen.info.name, " was not made with what Pumice needs"}),
                    chosen.refusals);
    vulkan::adopted_device device;
    device.device = theirs.device;
    device.queue = theirs.queue;
    device.family = theirs.queue_family;
    device.queue_mutex = theirs.queue_mutex;
    auto runtime =
        vulkan_runtime::make(instance, vulkan::device::adopt(instance, chosen, device), policies);
    return std::make_shared<vulkan_engine>(std::move(runtime), std::move(policies),
                                           cat({"device  ", to_string(chosen.info),
                                                "\n  adopted from the program\n"}));
}

namespace detail {
inline vulkan_engine& vulkan_engine_of(const context& home, const char* place) {
    auto* found = dynamic_cast<vulkan_engine*>(home.get().get());
    if (!found)
        fail(errc::invalid_argument, place,
             {"the context computes on ", home.device().name, ", not on a Vulkan device"});
    return *found;
}
}  // namespace detail

PUMICE_INLINE any_tensor from_buffer(const context& home, const vulkan_buffer& theirs, dtype type,
                                     const shape& extent) {
    vulkan_engine& engine = detail::vulkan_engine_of(home, "from_buffer");
    const vulkan::device& device = engine.runtime().device();
    vk::BufferDeviceAddressInfo what{};
    what.buffer = vk::Buffer(theirs.buffer);
    vulkan::allocation piece;
    piece.buffer = theirs.buffer;
    piece.offset = theirs.offset;
    piece.size = static_cast<std::uint64_t>(byte_count(type, element_count(extent)));
    piece.device_address = device.handle().getBufferAddress(&what, device.table()) + theirs.offset;
    if (piece.device_address % 16 != 0)
        fail(errc::invalid_argument, "from_buffer",
             {"the buffer's address and the offset ", theirs.offset,
              " give no multiple of 16 bytes; move the data or copy it"});
    return any_tensor(engine.borrow(type, extent, piece));
}

PUMICE_INLINE vulkan_buffer buffer_of(any_tensor& t) {
    vulkan_engine& engine = detail::vulkan_engine_of(context(t.get()->owner), "buffer_of");
    detail::make_dense(t, false);
    const vulkan::allocation piece = engine.place_of(*t.get());
    return {piece.buffer,
            piece.offset + static_cast<std::uint64_t>(byte_offset(t.dtype(), t.get()->offset))};
}

PUMICE_INLINE void wait_before(const context& home, VkSemaphore semaphore, std::uint64_t value) {
    detail::vulkan_engine_of(home, "wait_before").wait_before({vk::Semaphore(semaphore), value});
}

PUMICE_INLINE timeline_point finished(const context& home) {
    const vulkan::queue& queue = detail::vulkan_engine_of(home, "finished").runtime().queue();
    return {static_cast<VkSemaphore>(queue.timeline().handle()), queue.submitted()};
}

#endif

}}  // namespace pumice::PUMICE_ABI
