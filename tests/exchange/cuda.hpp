// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What tests need of CUDA's driver API, where the machine has it: memory of another API's behind a
// file descriptor, and copies from and to it.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace pumice_test {

class cuda {
public:
    /// Of a machine without CUDA or a device of it is_there() is false.
    cuda() : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
        if (!library_) return;
        int count = 0;
        there_ =
            call<unsigned>("cuInit", 0u) == 0 && call("cuDeviceGetCount", &count) == 0 && count > 0;
        if (!there_) return;
        void* context = nullptr;
        int device = 0;
        need("cuDeviceGet", &device, 0);
        need("cuDevicePrimaryCtxRetain", &context, device);
        need("cuCtxSetCurrent", context);
    }
    cuda(const cuda&) = delete;
    bool is_there() const { return there_; }

    /// Memory behind an opaque descriptor, which it takes over, of a dedicated allocation.
    class imported {
    public:
        imported(const cuda& api, int fd, std::int64_t bytes) : api_(api) {
            handle_description of{};
            of.type = 1;  // CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD
            of.handle.fd = fd;
            of.size = static_cast<unsigned long long>(bytes);
            of.flags = 1;  // CUDA_EXTERNAL_MEMORY_DEDICATED
            api.need("cuImportExternalMemory", &memory_, &of);
            buffer_description all{};
            all.size = of.size;
            api.need("cuExternalMemoryGetMappedBuffer", &place_, memory_, &all);
        }
        imported(const imported&) = delete;
        ~imported() {
            api_.call("cuMemFree_v2", place_);
            api_.call("cuDestroyExternalMemory", memory_);
        }
        void read(std::int64_t offset, std::span<std::byte> to) const {
            api_.need("cuMemcpyDtoH_v2", static_cast<void*>(to.data()),
                      place_ + static_cast<unsigned long long>(offset), to.size());
        }
        void write(std::int64_t offset, std::span<const std::byte> from) const {
            api_.need("cuMemcpyHtoD_v2", place_ + static_cast<unsigned long long>(offset),
                      static_cast<const void*>(from.data()), from.size());
            api_.need("cuCtxSynchronize");
        }

    private:
        const cuda& api_;
        void* memory_ = nullptr;
        unsigned long long place_ = 0;
    };

private:
    struct handle_description {  // CUDA_EXTERNAL_MEMORY_HANDLE_DESC
        int type;
        union {
            int fd;
            struct {
                void* handle;
                const void* name;
            } win32;
        } handle;
        unsigned long long size;
        unsigned flags, reserved[16];
    };
    struct buffer_description {  // CUDA_EXTERNAL_MEMORY_BUFFER_DESC
        unsigned long long offset, size;
        unsigned flags, reserved[16];
    };

    template <class... A>
    int call(const char* name, A... arguments) const {
        void* const f = dlsym(library_, name);
        if (!f) throw std::runtime_error(std::string("CUDA has no ") + name);
        return reinterpret_cast<int (*)(A...)>(f)(arguments...);
    }
    template <class... A>
    void need(const char* name, A... arguments) const {
        if (const int error = call(name, arguments...); error != 0)
            throw std::runtime_error(std::string(name) + " gives " + std::to_string(error));
    }

    void* library_;  // stays open: it has threads of its own
    bool there_ = false;
};

}  // namespace pumice_test
