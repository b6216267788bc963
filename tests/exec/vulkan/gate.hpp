// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A device that takes as long as a test wishes.
#pragma once

#include "../support.hpp"

#include <thread>

namespace test {

/// A device that seems not to get on while the gate is closed.
struct gate {
    inline static std::atomic<bool> closed{false};
    inline static std::atomic<int> submits{0}, waiting{0};
    inline static std::stop_source* stop_at = nullptr;  // asked for at the submit of that number
    inline static int stop_number = 0;
    inline static PFN_vkGetSemaphoreCounterValue value = nullptr;
    inline static PFN_vkWaitSemaphores wait = nullptr;
    inline static PFN_vkQueueSubmit2 submit = nullptr;

    static VKAPI_ATTR VkResult VKAPI_CALL held_value(VkDevice d, VkSemaphore s, std::uint64_t* v) {
        if (!closed) return value(d, s, v);
        *v = 0;
        return VK_SUCCESS;
    }
    static VKAPI_ATTR VkResult VKAPI_CALL held_wait(VkDevice d, const VkSemaphoreWaitInfo* info,
                                                    std::uint64_t timeout) {
        if (!closed) return wait(d, info, timeout);
        ++waiting;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return VK_TIMEOUT;
    }
    static VKAPI_ATTR VkResult VKAPI_CALL counted(VkQueue q, std::uint32_t n,
                                                  const VkSubmitInfo2* info, VkFence f) {
        if (++submits == stop_number && stop_at) stop_at->request_stop();
        return submit(q, n, info, f);
    }
    static pumice::vulkan::dispatcher_hook edit() {
        closed = false;
        submits = waiting = stop_number = 0;
        stop_at = nullptr;
        return [](pumice::vulkan::dispatcher& table) {
            value = std::exchange(table.vkGetSemaphoreCounterValue, &held_value);
            wait = std::exchange(table.vkWaitSemaphores, &held_wait);
            submit = std::exchange(table.vkQueueSubmit2, &counted);
        };
    }
    static void await(const std::atomic<int>& count, int least) {
        while (count < least) std::this_thread::yield();
    }
};

}  // namespace test
