// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The Vulkan functions that Pumice calls. Vulkan-Hpp takes any class with these members for a
// dispatcher; its own has every function there is, and looking each up twice is compiled and run by
// everybody who includes Pumice.
#pragma once

#include <pumice/base/config.hpp>
#include <pumice/vk/vulkan_hpp.hpp>

#include <cstddef>
#include <cstring>
#include <iterator>
#include <type_traits>

// A function stands in the list of the level at which it is looked up: without an instance, by the
// instance, by the device.
// clang-format off
#define PUMICE_VULKAN_GLOBAL(X)                                                                   \
    X(vkCreateInstance) X(vkEnumerateInstanceExtensionProperties) X(vkEnumerateInstanceVersion)
#define PUMICE_VULKAN_INSTANCE(X)                                                                 \
    X(vkCreateDebugUtilsMessengerEXT) X(vkCreateDevice) X(vkDestroyDebugUtilsMessengerEXT)        \
    X(vkDestroyInstance) X(vkEnumerateDeviceExtensionProperties) X(vkEnumeratePhysicalDevices)    \
    X(vkGetDeviceProcAddr) X(vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)                      \
    X(vkGetPhysicalDeviceCalibrateableTimeDomainsKHR)                                             \
    X(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)                                          \
    X(vkGetPhysicalDeviceExternalBufferProperties) X(vkGetPhysicalDeviceFeatures2)                \
    X(vkGetPhysicalDeviceFormatProperties)                                                        \
    X(vkGetPhysicalDeviceMemoryProperties) X(vkGetPhysicalDeviceMemoryProperties2)                \
    X(vkGetPhysicalDeviceProperties) X(vkGetPhysicalDeviceProperties2)                            \
    X(vkGetPhysicalDeviceQueueFamilyProperties) PUMICE_VULKAN_INSTANCE_ARM(X)
#define PUMICE_VULKAN_DEVICE(X)                                                                   \
    X(vkAllocateCommandBuffers) X(vkAllocateMemory) X(vkBeginCommandBuffer)                       \
    X(vkBindBufferMemory2) X(vkCmdBeginDebugUtilsLabelEXT) X(vkCmdBindPipeline)                   \
    X(vkCmdCopyBuffer) X(vkCmdDispatch) X(vkCmdEndDebugUtilsLabelEXT) X(vkCmdPipelineBarrier2)    \
    X(vkCmdPushConstants) X(vkCmdResetQueryPool) X(vkCmdWriteTimestamp2) X(vkCreateBuffer)        \
    X(vkCreateCommandPool) X(vkCreateComputePipelines) X(vkCreatePipelineCache)                   \
    X(vkCreatePipelineLayout) X(vkCreateQueryPool) X(vkCreateSemaphore) X(vkCreateShaderModule)   \
    X(vkDestroyBuffer) X(vkDestroyCommandPool) X(vkDestroyDevice) X(vkDestroyPipeline)            \
    X(vkDestroyPipelineCache) X(vkDestroyPipelineLayout) X(vkDestroyQueryPool)                    \
    X(vkDestroySemaphore) X(vkDestroyShaderModule) X(vkEndCommandBuffer)                          \
    X(vkFlushMappedMemoryRanges) X(vkFreeMemory) X(vkGetBufferDeviceAddress)                      \
    X(vkGetBufferMemoryRequirements) X(vkGetCalibratedTimestampsEXT)                              \
    X(vkGetCalibratedTimestampsKHR) X(vkGetDeviceQueue)                                           \
    X(vkGetMemoryFdKHR) X(vkGetMemoryFdPropertiesKHR) X(vkGetMemoryHostPointerPropertiesEXT)      \
    X(vkGetPipelineCacheData) X(vkGetQueryPoolResults)                                            \
    X(vkGetSemaphoreCounterValue) X(vkInvalidateMappedMemoryRanges) X(vkMapMemory)                \
    X(vkMergePipelineCaches) X(vkSetDebugUtilsObjectNameEXT) X(vkCmdFillBuffer)                   \
    X(vkCreateBufferView) X(vkDestroyBufferView) X(vkCreateImage) X(vkDestroyImage)               \
    X(vkGetImageMemoryRequirements) X(vkBindImageMemory) X(vkCreateImageView)                     \
    X(vkDestroyImageView) X(vkCmdCopyBufferToImage) X(vkCmdCopyImageToBuffer)                     \
    X(vkCmdPushDescriptorSetKHR) X(vkCreateDescriptorSetLayout) X(vkDestroyDescriptorSetLayout)   \
    X(vkCreateDescriptorPool) X(vkDestroyDescriptorPool) X(vkAllocateDescriptorSets)              \
    X(vkUpdateDescriptorSets) X(vkCmdBindDescriptorSets)                                          \
    X(vkQueueSubmit2) X(vkQueueWaitIdle) X(vkResetCommandPool) X(vkResetQueryPool)                \
    X(vkSignalSemaphore) X(vkWaitSemaphores) PUMICE_VULKAN_DEVICE_ARM(X)
// Of extensions that the headers may not know.
#ifdef VK_ARM_data_graph
#define PUMICE_VULKAN_INSTANCE_ARM(X) X(vkGetPhysicalDeviceQueueFamilyDataGraphPropertiesARM)
#define PUMICE_VULKAN_DEVICE_ARM(X)                                                               \
    X(vkCreateTensorARM) X(vkDestroyTensorARM) X(vkCreateTensorViewARM)                           \
    X(vkDestroyTensorViewARM) X(vkGetTensorMemoryRequirementsARM) X(vkBindTensorMemoryARM)        \
    X(vkCreateDataGraphPipelinesARM) X(vkCreateDataGraphPipelineSessionARM)                       \
    X(vkGetDataGraphPipelineSessionBindPointRequirementsARM)                                      \
    X(vkGetDataGraphPipelineSessionMemoryRequirementsARM)                                         \
    X(vkBindDataGraphPipelineSessionMemoryARM) X(vkDestroyDataGraphPipelineSessionARM)            \
    X(vkCmdDispatchDataGraphARM)
#else
#define PUMICE_VULKAN_INSTANCE_ARM(X)
#define PUMICE_VULKAN_DEVICE_ARM(X)
#endif
// clang-format on

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

namespace vk = VULKAN_HPP_NAMESPACE;

class dispatcher {
public:
#define PUMICE_VULKAN_MEMBER(name) PFN_##name name = nullptr;
    PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr = nullptr;
    PUMICE_VULKAN_GLOBAL(PUMICE_VULKAN_MEMBER)
    PUMICE_VULKAN_INSTANCE(PUMICE_VULKAN_MEMBER)
    PUMICE_VULKAN_DEVICE(PUMICE_VULKAN_MEMBER)
#undef PUMICE_VULKAN_MEMBER

    /// Looks up what needs no instance.
    void init(PFN_vkGetInstanceProcAddr door) noexcept {
        vkGetInstanceProcAddr = door;
        for (std::size_t i = 0; i < globals; ++i) set(i, door(nullptr, names[i]));
    }
    /// The instance's functions; a device's too, as they serve any of its devices.
    void init(vk::Instance instance) noexcept {
        for (std::size_t i = globals; i < std::size(names); ++i)
            set(i, vkGetInstanceProcAddr(static_cast<VkInstance>(instance), names[i]));
    }
    /// The device's own, without the way through the loader; null where it lacks the extension.
    void init(vk::Device device) noexcept {
        for (std::size_t i = locals; i < std::size(names); ++i)
            set(i, vkGetDeviceProcAddr(static_cast<VkDevice>(device), names[i]));
    }
    /// Functions that do nothing: those that can report a loss of the device do.
    static const dispatcher& without_driver() noexcept {
        static const dispatcher all = [] {
            dispatcher d;
#define PUMICE_VULKAN_NOTHING(name) d.name = &nothing<PFN_##name>::call;
            PUMICE_VULKAN_GLOBAL(PUMICE_VULKAN_NOTHING)
            PUMICE_VULKAN_INSTANCE(PUMICE_VULKAN_NOTHING)
            PUMICE_VULKAN_DEVICE(PUMICE_VULKAN_NOTHING)
#undef PUMICE_VULKAN_NOTHING
            return d;
        }();
        return all;
    }
    /// What Vulkan-Hpp asks of a dispatcher in debug builds.
    std::size_t getVkHeaderVersion() const noexcept { return VK_HEADER_VERSION; }

private:
    template <class F>
    struct nothing;
    template <class R, class... Arguments>
    struct nothing<R(VKAPI_PTR*)(Arguments...)> {
        static VKAPI_ATTR R VKAPI_CALL call(Arguments...) noexcept {
            if constexpr (std::is_same_v<R, VkResult>) return VK_ERROR_DEVICE_LOST;
            else return R();
        }
    };

#define PUMICE_VULKAN_NAME(name) #name,
    static constexpr const char* names[] = {PUMICE_VULKAN_GLOBAL(PUMICE_VULKAN_NAME)
                                                PUMICE_VULKAN_INSTANCE(PUMICE_VULKAN_NAME)
                                                    PUMICE_VULKAN_DEVICE(PUMICE_VULKAN_NAME)};
#undef PUMICE_VULKAN_NAME
#define PUMICE_VULKAN_ONE(name) +1
    static constexpr std::size_t globals = PUMICE_VULKAN_GLOBAL(PUMICE_VULKAN_ONE),
                                 locals = globals PUMICE_VULKAN_INSTANCE(PUMICE_VULKAN_ONE);
#undef PUMICE_VULKAN_ONE

    /// Writes member i of the lists: all are pointers to functions, in the order of the names.
    void set(std::size_t i, PFN_vkVoidFunction function) noexcept {
        std::memcpy(reinterpret_cast<std::byte*>(&vkGetInstanceProcAddr) +
                        (1 + i) * sizeof(function),
                    &function, sizeof function);
    }
};
static_assert(sizeof(dispatcher) % sizeof(PFN_vkVoidFunction) == 0 &&
              std::is_standard_layout_v<dispatcher>);

}}}  // namespace pumice::PUMICE_ABI::vulkan

#undef PUMICE_VULKAN_GLOBAL
#undef PUMICE_VULKAN_INSTANCE
#undef PUMICE_VULKAN_DEVICE
#undef PUMICE_VULKAN_INSTANCE_ARM
#undef PUMICE_VULKAN_DEVICE_ARM
