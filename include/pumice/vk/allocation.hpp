// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What `memory` hands out, and what may be set and read about it.
#pragma once

#include <pumice/vk/memory_block.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// A piece of a buffer; a plain handle that is given back with memory::free.
struct allocation {
    VkBuffer buffer = VK_NULL_HANDLE;
    std::uint64_t offset = 0;          // in the buffer, a multiple of 256
    std::uint64_t size = 0;            // as asked for
    std::uint64_t device_address = 0;  // of its first byte
    void* mapped = nullptr;            // its first byte, or null where the host cannot see it
    memory_usage usage = memory_usage::device;
    bool coherent = true;  // needs neither flush nor invalidate
    detail::memory_block* block = nullptr;
    std::uint32_t node = ranges::none;
    std::uint64_t busy = 0;  // timeline value until which earlier work may use it

    explicit operator bool() const noexcept { return block != nullptr; }
};

/// Who holds what nobody says more of.
constexpr memory_label usual_label(memory_usage usage) noexcept {
    return {usage == memory_usage::device       ? memory_role::temporaries
            : usage == memory_usage::parameters ? memory_role::parameters
                                                : memory_role::staging,
            {}};
}

struct memory_options {
    /// Size of the blocks that small requests share, by usage. A request above a quarter has its
    /// own block.
    std::uint64_t block_size[memory_usages] = {64u << 20, 32u << 20, 32u << 20, 4u << 20};
    std::uint64_t limit = ~std::uint64_t{0};  // bytes that all blocks together may take
    /// Bytes of what was given back that may wait for the device (far_ahead); 0: an eighth of the
    /// limit or of the device's memory, at most 1 GiB.
    std::uint64_t ahead = 0;
    std::uint64_t largest = ~std::uint64_t{0};  // bytes of one allocation, below the device's limit
    std::uint64_t keep =
        ~std::uint64_t{0};  // bytes in unused blocks that are kept; default: a quarter of the heap
};

struct memory_stats {
    std::uint64_t in_use = 0;      // bytes handed out, waiting ones included
    std::uint64_t waiting = 0;     // of them: given back, but the device may still use them
    std::uint64_t high_water = 0;  // the most that `in_use` has been
    std::uint64_t reserved = 0;    // bytes of all blocks
    std::uint64_t blocks = 0;
    std::uint64_t allocations = 0;  // live ones
    memory_bytes held;              // of `in_use` what does not wait; the rest is pooled
};

}}}  // namespace pumice::PUMICE_ABI::vulkan
