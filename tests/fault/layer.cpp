// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A Vulkan layer that makes calls fail. Needs nothing of the C++ library, so it runs on any libc.
//
//   VK_ADD_LAYER_PATH=build/gcc/tests/fault VK_INSTANCE_LAYERS=VK_LAYER_PUMICE_fault
//   PUMICE_FAULT=vkQueueSubmit2:3:device_lost     the 3rd vkQueueSubmit2 (from 1) does not reach
//   the driver and gives
//                                                 VK_ERROR_DEVICE_LOST; with :forever behind, all
//                                                 later ones too
//   PUMICE_FAULT_COUNTS=FILE                      at the end of the process: a line "CALL COUNT" a
//   function
//
// A program that has the library open does the same by pumice_fault_arm and pumice_fault_calls,
// again and again. A device that was lost stays so until it is destroyed: all that may tell of a
// loss does. Before it is, the driver's work is waited for, since what a lost device has finished
// with is freed. pumice_fault_live counts what was made and not destroyed. Serves one driver at a
// time.
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define EXPORTED extern "C" __attribute__((visibility("default")))

// clang-format off
#define FAILING_INSTANCE(X)                                                                       \
    X(vkEnumeratePhysicalDevices) X(vkEnumerateDeviceExtensionProperties)                         \
    X(vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)                                             \
    X(vkGetPhysicalDeviceCalibrateableTimeDomainsKHR)                                             \
    X(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)
#define FAILING_DEVICE(X)                                                                         \
    X(vkAllocateCommandBuffers) X(vkAllocateMemory) X(vkBeginCommandBuffer) X(vkBindBufferMemory2)\
    X(vkCreateBuffer) X(vkCreateCommandPool) X(vkCreateComputePipelines) X(vkCreatePipelineCache) \
    X(vkCreatePipelineLayout) X(vkCreateQueryPool) X(vkCreateSemaphore) X(vkCreateShaderModule)   \
    X(vkEndCommandBuffer) X(vkFlushMappedMemoryRanges) X(vkGetCalibratedTimestampsEXT)            \
    X(vkGetCalibratedTimestampsKHR) X(vkGetMemoryHostPointerPropertiesEXT)                        \
    X(vkGetPipelineCacheData) X(vkGetQueryPoolResults) X(vkGetSemaphoreCounterValue)              \
    X(vkInvalidateMappedMemoryRanges) X(vkMapMemory) X(vkMergePipelineCaches) X(vkQueueSubmit2)   \
    X(vkQueueWaitIdle) X(vkResetCommandPool) X(vkSignalSemaphore) X(vkWaitSemaphores)
#define DESTROYING(X)                                                                             \
    X(vkDestroyBuffer) X(vkDestroyCommandPool) X(vkDestroyPipeline) X(vkDestroyPipelineCache)     \
    X(vkDestroyPipelineLayout) X(vkDestroyQueryPool) X(vkDestroySemaphore)                        \
    X(vkDestroyShaderModule) X(vkFreeMemory)
// clang-format on

namespace {

enum call {
#define NAME(function) c_##function,
    c_vkCreateInstance,
    c_vkCreateDevice,
    FAILING_INSTANCE(NAME) FAILING_DEVICE(NAME) calls
#undef NAME
};
constexpr const char* names[calls] = {
#define NAME(function) #function,
    "vkCreateInstance", "vkCreateDevice", FAILING_INSTANCE(NAME) FAILING_DEVICE(NAME)
#undef NAME
};

std::atomic<unsigned> counts[calls];
std::atomic<int> armed{-1};  // a call, or none
unsigned armed_at;
bool armed_forever;
VkResult armed_result;
std::atomic<bool> fired;
std::atomic<long> live;  // objects

std::atomic<void*> lost_key{nullptr};  // of the device that is lost
PFN_vkGetInstanceProcAddr next_instance_door;
PFN_vkGetDeviceProcAddr next_device_door;
PFN_vkDestroyInstance next_destroy_instance;
PFN_vkDestroyDevice next_destroy_device;
VkInstance current;

/// What a dispatchable object has in common with its device.
template <class Handle>
void* key_of(Handle handle) {
    return *reinterpret_cast<void**>(handle);
}

struct open_device {
    VkDevice handle;
    PFN_vkDeviceWaitIdle wait;
} open_devices[16];

/// The specification lets these tell of a loss.
constexpr bool tells_loss(int c) {
    return c == c_vkQueueSubmit2 || c == c_vkQueueWaitIdle || c == c_vkWaitSemaphores ||
           c == c_vkGetSemaphoreCounterValue || c == c_vkGetQueryPoolResults;
}

void lose(void* key) {
    for (const open_device& d : open_devices)
        if (d.handle && key_of(d.handle) == key) d.wait(d.handle);
    lost_key = key;
}

/// Counts a call; true where it is to fail with `result`.
bool fails(int c, void* key, VkResult& result) {
    const unsigned n = ++counts[c];
    if (armed == c && (n == armed_at || (armed_forever && n > armed_at))) {
        fired = true;
        result = armed_result;
        if (result == VK_ERROR_DEVICE_LOST && key) lose(key);
        return true;
    }
    result = VK_ERROR_DEVICE_LOST;
    return tells_loss(c) && key && lost_key == key;
}

bool creates(int c) {
    return std::strncmp(names[c], "vkCreate", 8) == 0 || c == c_vkAllocateMemory;
}

template <class Function, int Call>
struct failing;
template <class First, class... Rest, int Call>
struct failing<VkResult(VKAPI_PTR*)(First, Rest...), Call> {
    static inline VkResult(VKAPI_PTR* next)(First, Rest...) = nullptr;
    static VKAPI_ATTR VkResult VKAPI_CALL run(First first, Rest... rest) {
        VkResult result;
        if (fails(Call, key_of(first), result)) return result;
        result = next(first, rest...);
        if (result == VK_SUCCESS && creates(Call)) ++live;
        return result;
    }
};
// Several in one call, of which one alone is asked for here.
template <class Function>
struct destroying;
template <class Handle>
struct destroying<void(VKAPI_PTR*)(VkDevice, Handle, const VkAllocationCallbacks*)> {
    template <int Number>
    struct of {
        static inline void(VKAPI_PTR* next)(VkDevice, Handle,
                                            const VkAllocationCallbacks*) = nullptr;
        static VKAPI_ATTR void VKAPI_CALL run(VkDevice device, Handle handle,
                                              const VkAllocationCallbacks* how) {
            if (handle) --live;
            next(device, handle, how);
        }
    };
};
enum destroyed {
#define NAME(function) d_##function,
    DESTROYING(NAME)
#undef NAME
};

/// The chain's element that the loader made for this layer.
template <class Info, class Create>
Info* link_of(const Create* create, VkStructureType type) {
    auto* at = static_cast<const Info*>(create->pNext);
    while (at && !(at->sType == type && at->function == VK_LAYER_LINK_INFO))
        at = static_cast<const Info*>(at->pNext);
    return const_cast<Info*>(at);
}

int call_named(const char* name, std::size_t length) {
    for (int c = 0; c < calls; ++c)
        if (std::strlen(names[c]) == length && std::strncmp(names[c], name, length) == 0) return c;
    return -1;
}

struct named_result {
    const char* name;
    VkResult result;
} constexpr results[] = {{"out_of_host_memory", VK_ERROR_OUT_OF_HOST_MEMORY},
                         {"out_of_device_memory", VK_ERROR_OUT_OF_DEVICE_MEMORY},
                         {"device_lost", VK_ERROR_DEVICE_LOST},
                         {"initialization_failed", VK_ERROR_INITIALIZATION_FAILED}};

}  // namespace

/// From now on all are counted anew, and what `fault` names fails; null: nothing does. False where
/// it is not understood.
EXPORTED bool pumice_fault_arm(const char* fault) {
    armed = -1;
    fired = false;
    for (auto& count : counts) count = 0;
    if (!fault || !*fault) return true;
    const char* const first = std::strchr(fault, ':');
    const char* const second = first ? std::strchr(first + 1, ':') : nullptr;
    if (!second) return false;
    const int c = call_named(fault, static_cast<std::size_t>(first - fault));
    armed_at = static_cast<unsigned>(std::strtoul(first + 1, nullptr, 10));
    for (const named_result& r : results) {
        const std::size_t length = std::strlen(r.name);
        if (c < 0 || armed_at == 0 || std::strncmp(second + 1, r.name, length) != 0) continue;
        armed_result = r.result;
        armed_forever = std::strcmp(second + 1 + length, ":forever") == 0;
        armed = c;
        return true;
    }
    return false;
}
EXPORTED bool pumice_fault_fired() { return fired; }
/// The i-th function's name and its calls since the layer was armed; null behind the last.
EXPORTED const char* pumice_fault_calls(int i, unsigned* count) {
    if (i < 0 || i >= calls) return nullptr;
    *count = counts[i];
    return names[i];
}
EXPORTED long pumice_fault_live() { return live; }

namespace {

__attribute__((constructor)) void begin() {
    const char* const fault = std::getenv("PUMICE_FAULT");
    if (!pumice_fault_arm(fault))
        std::fprintf(stderr, "PUMICE_FAULT=%s is not CALL:N:RESULT[:forever]\n", fault);
}
__attribute__((destructor)) void end() {
    const char* const path = std::getenv("PUMICE_FAULT_COUNTS");
    std::FILE* const file = path ? std::fopen(path, "w") : nullptr;
    if (!file) return;
    for (int c = 0; c < calls; ++c) std::fprintf(file, "%s %u\n", names[c], counts[c].load());
    std::fclose(file);
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                               const VkAllocationCallbacks* how, VkInstance* out) {
    VkResult result;
    if (fails(c_vkCreateInstance, nullptr, result)) return result;
    auto* link =
        link_of<VkLayerInstanceCreateInfo>(info, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
    if (!link) return VK_ERROR_INITIALIZATION_FAILED;
    const auto door = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    result =
        reinterpret_cast<PFN_vkCreateInstance>(door(nullptr, "vkCreateInstance"))(info, how, out);
    if (result != VK_SUCCESS) return result;
    ++live;
    current = *out;
    next_instance_door = door;
    next_destroy_instance =
        reinterpret_cast<PFN_vkDestroyInstance>(door(*out, "vkDestroyInstance"));
#define NEXT(function)                            \
    failing<PFN_##function, c_##function>::next = \
        reinterpret_cast<PFN_##function>(door(*out, #function));
    FAILING_INSTANCE(NEXT)
#undef NEXT
    return result;
}
VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks* how) {
    if (!instance) return;
    --live;
    next_destroy_instance(instance, how);
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical,
                                             const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* how, VkDevice* out) {
    VkResult result;
    if (fails(c_vkCreateDevice, nullptr, result)) return result;
    auto* link =
        link_of<VkLayerDeviceCreateInfo>(info, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
    if (!link) return VK_ERROR_INITIALIZATION_FAILED;
    const auto instance_door = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    const auto door = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    result = reinterpret_cast<PFN_vkCreateDevice>(instance_door(current,
                                                                "vkCreateDevice"))(physical, info,
                                                                                   how, out);
    if (result != VK_SUCCESS) return result;
    ++live;
    next_device_door = door;
    next_destroy_device = reinterpret_cast<PFN_vkDestroyDevice>(door(*out, "vkDestroyDevice"));
#define NEXT(function)                            \
    failing<PFN_##function, c_##function>::next = \
        reinterpret_cast<PFN_##function>(door(*out, #function));
    FAILING_DEVICE(NEXT)
#undef NEXT
#define NEXT(function)                                   \
    destroying<PFN_##function>::of<d_##function>::next = \
        reinterpret_cast<PFN_##function>(door(*out, #function));
    DESTROYING(NEXT)
#undef NEXT
    const auto wait = reinterpret_cast<PFN_vkDeviceWaitIdle>(door(*out, "vkDeviceWaitIdle"));
    for (open_device& d : open_devices)
        if (!d.handle) {
            d = {*out, wait};
            break;
        }
    return result;
}
VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks* how) {
    if (!device) return;
    --live;
    for (open_device& d : open_devices)
        if (d.handle == device) d.handle = VK_NULL_HANDLE;
    void* key = key_of(device);
    lost_key.compare_exchange_strong(key, nullptr);
    next_destroy_device(device, how);
}

template <class Function>
PFN_vkVoidFunction plain(Function function) {
    return reinterpret_cast<PFN_vkVoidFunction>(function);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_door(VkDevice device, const char* name) {
    if (std::strcmp(name, "vkGetDeviceProcAddr") == 0) return plain(&device_door);
    if (std::strcmp(name, "vkDestroyDevice") == 0) return plain(&destroy_device);
#define FIND(function)                                                  \
    if (std::strcmp(name, #function) == 0)                              \
        return failing<PFN_##function, c_##function>::next              \
                   ? plain(&failing<PFN_##function, c_##function>::run) \
                   : nullptr;
    FAILING_DEVICE(FIND)
#undef FIND
#define FIND(function)                     \
    if (std::strcmp(name, #function) == 0) \
        return plain(&destroying<PFN_##function>::of<d_##function>::run);
    DESTROYING(FIND)
#undef FIND
    return next_device_door(device, name);
}
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_door(VkInstance instance, const char* name) {
    if (std::strcmp(name, "vkGetInstanceProcAddr") == 0) return plain(&instance_door);
    if (std::strcmp(name, "vkGetDeviceProcAddr") == 0) return plain(&device_door);
    if (std::strcmp(name, "vkCreateInstance") == 0) return plain(&create_instance);
    if (std::strcmp(name, "vkDestroyInstance") == 0) return plain(&destroy_instance);
    if (std::strcmp(name, "vkCreateDevice") == 0) return plain(&create_device);
    if (!instance) return nullptr;
    if (!next_instance_door(instance, name)) return nullptr;
#define FIND(function)                     \
    if (std::strcmp(name, #function) == 0) \
        return plain(&failing<PFN_##function, c_##function>::run);
    FAILING_INSTANCE(FIND)
    FAILING_DEVICE(FIND)
#undef FIND
#define FIND(function)                     \
    if (std::strcmp(name, #function) == 0) \
        return plain(&destroying<PFN_##function>::of<d_##function>::run);
    DESTROYING(FIND)
#undef FIND
    if (std::strcmp(name, "vkDestroyDevice") == 0) return plain(&destroy_device);
    return next_instance_door(instance, name);
}

}  // namespace

EXPORTED VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* how) {
    if (how->loaderLayerInterfaceVersion > 2) how->loaderLayerInterfaceVersion = 2;
    how->pfnGetInstanceProcAddr = &instance_door;
    how->pfnGetDeviceProcAddr = &device_door;
    how->pfnGetPhysicalDeviceProcAddr = nullptr;
    return VK_SUCCESS;
}
