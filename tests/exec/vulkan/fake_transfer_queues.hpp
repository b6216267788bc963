// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Queues that only copy, of a device that has none. What is submitted to them does not begin before
// another queue waits for it, or the host does: who forgets to wait sees that nothing was copied.
#pragma once

#include "../support.hpp"

#include <algorithm>
#include <mutex>
#include <set>

namespace test {

/// One at a time.
class fake_transfer_queues {
public:
    static constexpr std::uint32_t family = 77, count = 2;

    fake_transfer_queues() { current = this; }
    fake_transfer_queues(const fake_transfer_queues&) = delete;
    ~fake_transfer_queues() { current = nullptr; }

    /// Null where there is no device. Its memory is not mapped, so that filling it takes copies.
    std::shared_ptr<pumice::vulkan_runtime> open() {
        const found_device f = find_device([this](vulkan::dispatcher& table) {
            create_device_ = table.vkCreateDevice;
            table.vkCreateDevice = &create_device;
        });
        if (!f.best) return nullptr;
        vulkan::candidate chosen = *f.best;
        family_ = chosen.family;
        chosen.info.mapped_device_memory = chosen.info.unified_memory = false;
        chosen.transfer_family = family;
        chosen.transfer_queues = count + 1;
        chosen.transfer_timestamp_bits = chosen.timestamp_bits;
        vulkan::device_options options;
        options.edit_dispatcher = [this](vulkan::dispatcher& table) {
            real_ = table;
            table.vkGetDeviceQueue = &get_queue;
            table.vkCreateBuffer = &create_buffer;
            table.vkCreateCommandPool = &create_pool;
            table.vkAllocateCommandBuffers = &allocate;
            table.vkDestroyCommandPool = &destroy_pool;
            table.vkCmdDispatch = &dispatch;
            table.vkCmdPipelineBarrier2 = &barrier;
            table.vkCmdResetQueryPool = &reset;
            table.vkQueueSubmit2 = &submit;
            table.vkWaitSemaphores = &wait;
            table.vkQueueWaitIdle = &wait_idle;
        };
        pumice::policy_set policies;
        policies.gather = 0;
        policies.transfer_queues = true;
        return std::make_shared<pumice::vulkan_runtime>(f.instance, chosen, policies, options);
    }

    // What it saw.
    int shared_buffers = 0;     // that both families may use
    int refused = 0;            // commands that queues which only copy do not take
    std::size_t most_held = 0;  // submits in flight at once

private:
    /// A submit, with all that it names.
    struct held {
        VkQueue queue;
        std::vector<VkSemaphoreSubmitInfo> waits, signals;
        std::vector<VkCommandBufferSubmitInfo> buffers;
    };

    inline static fake_transfer_queues* current = nullptr;

    static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice on,
                                                        const VkDeviceCreateInfo* info,
                                                        const VkAllocationCallbacks* a,
                                                        VkDevice* made) {
        VkDeviceCreateInfo without = *info;
        std::vector<VkDeviceQueueCreateInfo> queues;
        for (std::uint32_t i = 0; i < info->queueCreateInfoCount; ++i)
            if (info->pQueueCreateInfos[i].queueFamilyIndex != family)
                queues.push_back(info->pQueueCreateInfos[i]);
            else CHECK(info->pQueueCreateInfos[i].queueCount == count);
        CHECK(queues.size() + 1 == info->queueCreateInfoCount);
        without.queueCreateInfoCount = static_cast<std::uint32_t>(queues.size());
        without.pQueueCreateInfos = queues.data();
        return current->create_device_(on, &without, a, made);
    }
    static VKAPI_ATTR void VKAPI_CALL get_queue(VkDevice d, std::uint32_t f, std::uint32_t index,
                                                VkQueue* queue) {
        const bool fake = f == family;
        current->real_.vkGetDeviceQueue(d, fake ? current->family_ : f, fake ? 0 : index, queue);
    }
    static VKAPI_ATTR VkResult VKAPI_CALL create_buffer(VkDevice d, const VkBufferCreateInfo* info,
                                                        const VkAllocationCallbacks* a,
                                                        VkBuffer* made) {
        VkBufferCreateInfo own = *info;
        if (info->sharingMode == VK_SHARING_MODE_CONCURRENT) {
            ++current->shared_buffers;
            own.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
        }
        return current->real_.vkCreateBuffer(d, &own, a, made);
    }
    static VKAPI_ATTR VkResult VKAPI_CALL create_pool(VkDevice d,
                                                      const VkCommandPoolCreateInfo* info,
                                                      const VkAllocationCallbacks* a,
                                                      VkCommandPool* made) {
        VkCommandPoolCreateInfo own = *info;
        if (info->queueFamilyIndex == family) own.queueFamilyIndex = current->family_;
        const VkResult result = current->real_.vkCreateCommandPool(d, &own, a, made);
        const std::lock_guard lock(current->mutex_);
        if (result == VK_SUCCESS && info->queueFamilyIndex == family) current->pools_.insert(*made);
        return result;
    }
    static VKAPI_ATTR void VKAPI_CALL destroy_pool(VkDevice d, VkCommandPool pool,
                                                   const VkAllocationCallbacks* a) {
        {
            const std::lock_guard lock(current->mutex_);
            current->pools_.erase(pool);
        }
        current->real_.vkDestroyCommandPool(d, pool, a);
    }
    static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice d,
                                                   const VkCommandBufferAllocateInfo* info,
                                                   VkCommandBuffer* made) {
        const VkResult result = current->real_.vkAllocateCommandBuffers(d, info, made);
        const std::lock_guard lock(current->mutex_);
        if (current->pools_.contains(info->commandPool)) current->buffers_.insert(*made);
        else current->buffers_.erase(*made);
        return result;
    }
    bool copies_only(VkCommandBuffer b) {
        const std::lock_guard lock(mutex_);
        return buffers_.contains(b);
    }
    static VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer b, std::uint32_t x, std::uint32_t y,
                                               std::uint32_t z) {
        current->refused += current->copies_only(b);
        current->real_.vkCmdDispatch(b, x, y, z);
    }
    static VKAPI_ATTR void VKAPI_CALL barrier(VkCommandBuffer b, const VkDependencyInfo* info) {
        for (std::uint32_t i = 0; i < info->memoryBarrierCount; ++i)
            if ((info->pMemoryBarriers[i].srcStageMask | info->pMemoryBarriers[i].dstStageMask) &
                VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT)
                current->refused += current->copies_only(b);
        current->real_.vkCmdPipelineBarrier2(b, info);
    }
    static VKAPI_ATTR void VKAPI_CALL reset(VkCommandBuffer b, VkQueryPool pool,
                                            std::uint32_t first, std::uint32_t n) {
        current->refused += current->copies_only(b);
        current->real_.vkCmdResetQueryPool(b, pool, first, n);
    }

    static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, std::uint32_t n,
                                                 const VkSubmitInfo2* infos, VkFence fence) {
        REQUIRE(n == 1);
        const VkSubmitInfo2& s = infos[0];
        const std::lock_guard lock(current->mutex_);
        for (std::uint32_t i = 0; i < s.commandBufferInfoCount; ++i)
            if (current->buffers_.contains(s.pCommandBufferInfos[i].commandBuffer)) {
                current->held_.push_back({queue,
                                          {s.pWaitSemaphoreInfos,
                                           s.pWaitSemaphoreInfos + s.waitSemaphoreInfoCount},
                                          {s.pSignalSemaphoreInfos,
                                           s.pSignalSemaphoreInfos + s.signalSemaphoreInfoCount},
                                          {s.pCommandBufferInfos,
                                           s.pCommandBufferInfos + s.commandBufferInfoCount}});
                current->most_held = std::max(current->most_held, current->held_.size());
                return VK_SUCCESS;
            }
        for (std::uint32_t i = 0; i < s.waitSemaphoreInfoCount; ++i)
            current->run_until(s.pWaitSemaphoreInfos[i].semaphore, s.pWaitSemaphoreInfos[i].value);
        return current->real_.vkQueueSubmit2(queue, n, infos, fence);
    }
    static VKAPI_ATTR VkResult VKAPI_CALL wait(VkDevice d, const VkSemaphoreWaitInfo* info,
                                               std::uint64_t timeout) {
        {
            const std::lock_guard lock(current->mutex_);
            for (std::uint32_t i = 0; i < info->semaphoreCount; ++i)
                current->run_until(info->pSemaphores[i], info->pValues[i]);
        }
        return current->real_.vkWaitSemaphores(d, info, timeout);
    }
    static VKAPI_ATTR VkResult VKAPI_CALL wait_idle(VkQueue queue) {
        const std::lock_guard lock(current->mutex_);
        current->run_until(VK_NULL_HANDLE, 0);
        return current->real_.vkQueueWaitIdle(queue);
    }
    /// What is held up to the submit that signals it; nothing where none does, all for no
    /// semaphore.
    void run_until(VkSemaphore semaphore, std::uint64_t value) {
        std::size_t n = semaphore ? 0 : held_.size();
        for (std::size_t i = 0; i < held_.size(); ++i)
            for (const VkSemaphoreSubmitInfo& s : held_[i].signals)
                if (s.semaphore == semaphore && s.value <= value) n = i + 1;
        for (std::size_t i = 0; i < n; ++i) {
            const held& h = held_[i];
            VkSubmitInfo2 info{};
            info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
            info.waitSemaphoreInfoCount = static_cast<std::uint32_t>(h.waits.size());
            info.pWaitSemaphoreInfos = h.waits.data();
            info.commandBufferInfoCount = static_cast<std::uint32_t>(h.buffers.size());
            info.pCommandBufferInfos = h.buffers.data();
            info.signalSemaphoreInfoCount = static_cast<std::uint32_t>(h.signals.size());
            info.pSignalSemaphoreInfos = h.signals.data();
            CHECK(real_.vkQueueSubmit2(h.queue, 1, &info, VK_NULL_HANDLE) == VK_SUCCESS);
        }
        held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(n));
    }

    vulkan::dispatcher real_;
    PFN_vkCreateDevice create_device_ = nullptr;
    std::uint32_t family_ = 0;
    std::mutex mutex_;
    std::set<VkCommandPool> pools_;
    std::set<VkCommandBuffer> buffers_;
    std::vector<held> held_;
};

}  // namespace test
