// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Finds the Vulkan loader at run time, so that no program needs libvulkan to start.
#pragma once

#include <pumice/base/fork.hpp>

#include <vulkan/vulkan_core.h>

#include <cstdio>
#include <cstdlib>

#ifdef _WIN32
// As <windows.h> declares them, without its macros.
using HINSTANCE = struct HINSTANCE__*;
#ifdef _WIN64
using FARPROC = long long(__stdcall*)();
#else
using FARPROC = int(__stdcall*)();
#endif
extern "C" __declspec(dllimport) HINSTANCE __stdcall LoadLibraryA(const char*);
extern "C" __declspec(dllimport) FARPROC __stdcall GetProcAddress(HINSTANCE, const char*);
extern "C" __declspec(dllimport) unsigned long __stdcall GetLastError();
#else
#include <dlfcn.h>
#include <unistd.h>
#endif

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// The door to Vulkan. A program that already has one (or a test that wraps it) fills it by hand.
struct loader {
    PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
    std::string path;  // what was opened; empty where the user gave the function
};

namespace detail {

/// Opens one library, which then stays open: drivers run threads that may outlive the last
/// VkInstance. On failure the result is empty and `why` has a line.
inline PFN_vkGetInstanceProcAddr open_library(const char* name, std::string& why) {
#ifdef _WIN32
    const HINSTANCE library = ::LoadLibraryA(name);
    if (!library) {
        why = cat({"code ", ::GetLastError()});
        return nullptr;
    }
    void* const found = reinterpret_cast<void*>(::GetProcAddress(library, "vkGetInstanceProcAddr"));
#else
    void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char* text = ::dlerror();
        why = text ? text : "unknown";
        return nullptr;
    }
    void* const found = ::dlsym(library, "vkGetInstanceProcAddr");
#endif
    if (!found) why = "the library has no vkGetInstanceProcAddr";
    return reinterpret_cast<PFN_vkGetInstanceProcAddr>(found);
}

inline std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

}  // namespace detail

/// The drivers of this process. They have threads, locks and exit handlers of their own, so they
/// serve neither a child of fork() nor what runs after those handlers.
class drivers {
public:
    /// Throws errc::forked or errc::exiting where no driver can be used any more.
    static void check() {
        if (ended())
            throw error(errc::exiting, "vulkan",
                        "the process is exiting, and its Vulkan driver has ended",
                        {"compute before: a handler that was registered by atexit before the first "
                         "use of a device runs after the driver's own",
                         "or on the host device: context{host_only{}}"});
        if (opened_.load(std::memory_order_acquire) > 0 &&
            process_.load(std::memory_order_relaxed) != pumice::detail::process_number())
            pumice::detail::throw_forked("vulkan", "a Vulkan driver was loaded before fork()");
    }
    /// True at exit, once the drivers' handlers may have run.
    static bool ended() noexcept { return ended_.load(std::memory_order_acquire); }
    /// From here on exit is watched. Called when a device was opened: then its driver has
    /// registered what it does at exit, and that runs later. In a child of fork() it must not:
    /// NVIDIA's would take the device from the parent, which then waits for it for ever.
    static void watch_exit() noexcept {
        static const int watched = register_at_exit();
        static_cast<void>(watched);
    }

    /// Counts an instance of the process; one that found no driver is taken back.
    class opening {
    public:
        opening() {
            pumice::detail::watch_forks();
            check();
            // The loader's own handlers run sooner. A child that is forked while another thread
            // opens the loader ends before libraries do: they would wait for that thread's locks.
            static const int watched = register_at_exit();
            static_cast<void>(watched);
            process_.store(pumice::detail::process_number(), std::memory_order_relaxed);
            opened_.fetch_add(1, std::memory_order_acq_rel);
        }
        opening(const opening&) = delete;
        opening& operator=(const opening&) = delete;
        ~opening() {
            if (!found) opened_.fetch_sub(1, std::memory_order_acq_rel);
        }
        bool found = false;
    };

private:
    static int register_at_exit() noexcept {
#ifdef __GLIBC__
        // A plugin that this is in has to stay: dlclose drops no handler of on_exit.
        if (::Dl_info self; ::dladdr(&opened_, &self) != 0)
            ::dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
        return ::on_exit(
            [](int status, void*) {
                if (opened_.load(std::memory_order_acquire) > 0 &&
                    process_.load(std::memory_order_relaxed) != pumice::detail::process_number()) {
                    std::fflush(nullptr);
                    ::_exit(status);
                }
                ended_.store(true, std::memory_order_release);
            },
            nullptr);
#else
        return std::atexit([] { ended_.store(true, std::memory_order_release); });
#endif
    }

    static inline constinit std::atomic<int> opened_{0};
    static inline constinit std::atomic<std::uint32_t> process_{0};
    static inline constinit std::atomic<bool> ended_{false};
};

/// Opens the loader. PUMICE_VULKAN_LOADER, where it is set, names the one library that is tried.
/// Throws errc::no_vulkan_loader, whose reasons are what was tried and what to do.
inline loader open_loader() {
#if defined(_WIN32)
    std::vector<std::string> names = {"vulkan-1.dll"};
    const std::string advice = "install a graphics driver: it brings vulkan-1.dll";
#elif defined(__APPLE__)
    std::vector<std::string> names = {"libvulkan.dylib", "libvulkan.1.dylib",
                                      "/usr/local/lib/libvulkan.dylib",
                                      "/opt/homebrew/lib/libvulkan.dylib", "libMoltenVK.dylib"};
    const std::string advice =
        "install the Vulkan SDK, or vulkan-loader and molten-vk from Homebrew";
#else
    std::vector<std::string> names = {"libvulkan.so.1", "libvulkan.so"};
    const std::string advice =
        "install the loader (Debian and Ubuntu: libvulkan1, Fedora: vulkan-loader, "
        "Arch: vulkan-icd-loader) and a driver";
#endif
    const std::string chosen = detail::environment("PUMICE_VULKAN_LOADER");
    if (!chosen.empty()) names = {chosen};
    std::vector<std::string> reasons;
    for (const std::string& name : names) {
        std::string why;
        if (const auto found = detail::open_library(name.c_str(), why)) return {found, name};
        reasons.push_back(cat({"tried ", name, ": ", why}));
    }
    reasons.push_back(chosen.empty()
                          ? advice
                          : "PUMICE_VULKAN_LOADER names it: correct or unset that variable");
    throw error(errc::no_vulkan_loader, "vulkan", "there is no Vulkan loader on this machine",
                std::move(reasons));
}

}}}  // namespace pumice::PUMICE_ABI::vulkan
