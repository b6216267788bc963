// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Tensors to and from other processes and other APIs, as CUDA (cuImportExternalMemory) or another
// Vulkan device, by memory of a device's behind a file descriptor. Without pumice::compiled one
// file of the program includes <pumice/engine.hpp>.
#pragma once

#include <pumice/tensor/compile.hpp>
#include <pumice/tensor/memory.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Memory behind a file descriptor and where in it a tensor lies, in row-major order.
struct fd_memory {
    int fd = -1;              // opaque: for the same driver and device
    std::int64_t bytes = 0;   // of the whole allocation, as who imports it names them
    std::int64_t offset = 0;  // of the first element, in bytes
    bool dma_buf = false;     // for any device and subsystem instead
};

/// The values of a tensor, evaluated, in memory of their own that goes with its last descriptor:
/// the caller closes this one. They are there when this returns. Of a Vulkan device the memory is a
/// dedicated allocation (CUDA_EXTERNAL_MEMORY_DEDICATED), of the host device a memfd. Throws what
/// an evaluation throws; errc::unsupported where the device exports no such memory, or the system
/// has no file descriptors.
inline fd_memory to_fd(const any_tensor& x, bool dma_buf = false) {
    const context home(x.get()->owner);
    const placed_request wanted{memory_kind::fd, x.size_bytes(), nullptr, -1, dma_buf};
    const auto memory = detail::of_engine(&place_memory<>)(home.get(), wanted);
    if (x.size() > 0) {
        const executable::value same{x.dtype(), x.shape()};
        any_tensor there = memory->tensor(x.dtype(), x.shape(), 0);
        const executable copy = trace(home, span(&same, 1), [](span<const any_tensor> in) {
            return std::vector<any_tensor>(in.begin(), in.end());
        });
        copy.run_into(span(&there, 1), span(&x, 1)).wait();
    }
    return {memory->export_fd(), memory->allocated(), 0, dma_buf};
}

/// A tensor that holds a copy of what somebody has exported, as it is when this is called: what
/// writes it is done. The descriptor stays the caller's, and may be closed afterwards. Throws
/// errc::unsupported where the device does not import such memory, or the descriptor is not open,
/// none of memory, or of less than it says; errc::invalid_argument for one below 0, bytes that are
/// fewer than the tensor's, and an offset that is no multiple of 16. Of the host device nobody may
/// make the file shorter meanwhile.
inline any_tensor from_fd(const fd_memory& from, dtype type, const shape& extent,
                          const context& home = default_context()) {
    const std::int64_t bytes = byte_count(type, element_count(extent));
    if (from.fd < 0) fail(errc::invalid_argument, "from_fd", {from.fd, " is no file descriptor"});
    if (from.offset < 0 || bytes > from.bytes || from.offset > from.bytes - bytes)
        fail(errc::invalid_argument, "from_fd",
             {bytes, " bytes from ", from.offset, " on in memory of ", from.bytes});
    const placed_request wanted{memory_kind::fd, from.bytes, nullptr, from.fd, from.dma_buf};
    const auto memory = detail::of_engine(&place_memory<>)(home.get(), wanted);
    if (bytes == 0) return from_bytes(type, extent, {}, home);
    const any_tensor there = memory->tensor(type, extent, from.offset);
    const any_tensor made = detail::copied(there);
    memory->used(there);  // so that the memory waits before it goes
    return made;
}

}}  // namespace pumice::PUMICE_ABI
