// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a barrier says: who wrote before it, and who reads after it.
#pragma once

#include <pumice/vk/result.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// Who touches memory, before or after a barrier; may be joined with |. `constants`: shaders that
/// read uniform buffers and uniform texel buffers, for which devices have caches of their own.
/// `graph`: data graphs, of a device that has them.
enum class scope : unsigned { compute = 1, transfer = 2, host = 4, constants = 8, graph = 16 };
constexpr scope operator|(scope a, scope b) noexcept {
    return static_cast<scope>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool includes(scope set, scope one) noexcept {
    return (static_cast<unsigned>(set) & static_cast<unsigned>(one)) != 0;
}

/// Bytes of a buffer that a barrier is about.
struct buffer_range {
    VkBuffer buffer = VK_NULL_HANDLE;
    std::uint64_t offset = 0, size = 0;
};

namespace detail {

/// For vk::MemoryBarrier2 and vk::BufferMemoryBarrier2.
template <class Barrier>
void set_scopes(Barrier& b, scope before, scope after) noexcept {
    VkPipelineStageFlags2 from = 0, to = 0;
    VkAccessFlags2 writes = 0, uses = 0;
    if (includes(before, scope::compute)) {
        from |= VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
        writes |= VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT;
    }
    if (includes(before, scope::transfer)) {
        from |= VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
        writes |= VK_ACCESS_2_TRANSFER_WRITE_BIT;
    }
    if (includes(before, scope::host)) {
        from |= VK_PIPELINE_STAGE_2_HOST_BIT;
        writes |= VK_ACCESS_2_HOST_WRITE_BIT;
    }
#ifdef VK_ARM_data_graph
    if (includes(before, scope::graph)) {
        from |= VK_PIPELINE_STAGE_2_DATA_GRAPH_BIT_ARM;
        writes |= VK_ACCESS_2_DATA_GRAPH_WRITE_BIT_ARM;
    }
    if (includes(after, scope::graph)) {
        to |= VK_PIPELINE_STAGE_2_DATA_GRAPH_BIT_ARM;
        uses |= VK_ACCESS_2_DATA_GRAPH_READ_BIT_ARM | VK_ACCESS_2_DATA_GRAPH_WRITE_BIT_ARM;
    }
#endif
    if (includes(after, scope::compute)) {
        to |= VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
        uses |= VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT;
    }
    if (includes(after, scope::constants)) {
        to |= VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
        uses |= VK_ACCESS_2_UNIFORM_READ_BIT | VK_ACCESS_2_SHADER_SAMPLED_READ_BIT;
    }
    if (includes(after, scope::transfer)) {
        to |= VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
        uses |= VK_ACCESS_2_TRANSFER_READ_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT;
    }
    if (includes(after, scope::host)) {
        to |= VK_PIPELINE_STAGE_2_HOST_BIT;
        uses |= VK_ACCESS_2_HOST_READ_BIT | VK_ACCESS_2_HOST_WRITE_BIT;
    }
    b.srcStageMask = vk::PipelineStageFlags2(from);
    b.srcAccessMask = vk::AccessFlags2(writes);
    b.dstStageMask = vk::PipelineStageFlags2(to);
    b.dstAccessMask = vk::AccessFlags2(uses);
}

}  // namespace detail
}}}  // namespace pumice::PUMICE_ABI::vulkan
