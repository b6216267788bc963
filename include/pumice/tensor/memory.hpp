// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Memory that a program places by itself: on the device, in pages of the host's that the device
// reads where they lie, or behind a file descriptor that another process may hold too.
#pragma once

#include <pumice/base/of_engine.hpp>
#include <pumice/tensor/engine.hpp>

#include <memory>

namespace pumice { inline namespace PUMICE_ABI {

/// Where the bytes of a runner's tensor lie.
enum class memory_kind : std::uint8_t {
    device,       // the device's own
    fd,           // the device's own, and exported as a file descriptor or imported from one
    host_import,  // pages of the host's that the device reads and writes in place
    host,         // ordinary memory, which the device does not see: copied
};
inline constexpr int memory_kinds = 4;
/// As text.
constexpr std::string_view to_string(memory_kind kind) noexcept {
    constexpr std::string_view names[] = {"device", "fd", "host_import", "host"};
    return names[static_cast<std::size_t>(kind)];
}

/// Which side is to see what the other has written.
enum class sync_direction : std::uint8_t { to_device, from_device };

struct placed_request {
    memory_kind kind = memory_kind::device;  // but not host
    std::int64_t bytes = 0;
    void* pages = nullptr;  // of host_import: the caller's, which outlive it
    int fd = -1;            // of fd: imported where it is not below 0; the caller's stays open
    bool dma_buf = false;   // of fd: for other subsystems, where the driver has it
    int heap = -1;          // of the device's memory heaps; below 0: the best
};

/// Such memory. Any thread may use it; destroying it waits for the work that uses it.
class placed_memory {
public:
    virtual ~placed_memory() = default;

    /// A tensor over some of its bytes, row-major; it must not outlive the memory. Throws
    /// errc::invalid_argument where no kernel could read from `begin`.
    virtual any_tensor tensor(dtype type, const shape& extent, std::int64_t begin) = 0;
    /// One that `tensor` gave is let go of: what was submitted with it may still be at work.
    virtual void used(const any_tensor&) noexcept {}
    /// Whether the work that wrote what `tensor` gave makes it visible to the host by itself.
    virtual bool shown(const any_tensor&) const noexcept { return false; }
    /// Where the host sees the bytes; null where it does not.
    virtual std::byte* mapped() const noexcept = 0;
    /// A descriptor of the memory, which the caller closes. Throws errc::unsupported.
    virtual int export_fd() const = 0;
    /// Bytes that were allocated for it, as who imports that descriptor names them.
    virtual std::int64_t allocated() const noexcept = 0;
    /// After `to_device` the device sees what the host has written, after `from_device` the host
    /// what finished work has, some of it where that is not `shown`. Where neither needs anything
    /// done for it, it does nothing.
    virtual void sync(sync_direction, std::int64_t begin, std::int64_t bytes, bool shown) = 0;
    /// Whether nothing ever needs that.
    virtual bool coherent() const noexcept { return true; }
    /// False where the engine keeps no values.
    virtual bool holds_values() const noexcept { return true; }
};

/// By the library's engines. Throws errc::unsupported that says why there is no such memory,
/// errc::invalid_argument for a heap that there is not.
template <int = 0>
PUMICE_OF_ENGINE std::shared_ptr<placed_memory> place_memory(const std::shared_ptr<engine>& home,
                                                             const placed_request& wanted);

}}  // namespace pumice::PUMICE_ABI
