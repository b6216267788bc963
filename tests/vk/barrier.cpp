// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/vk/barrier.hpp>

using namespace pumice::vulkan;

TEST_CASE(
    "barrier: scopes become stages and accesses, and never ALL_COMMANDS, which costs twice as "
    "much") {
    vk::MemoryBarrier2 b{};
    const auto raw = [&b](scope before, scope after) {
        detail::set_scopes(b, before, after);
        return static_cast<const VkMemoryBarrier2&>(b);
    };
    VkMemoryBarrier2 r = raw(scope::compute, scope::compute);
    CHECK(r.srcStageMask == VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT);
    CHECK(r.dstStageMask == VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT);
    CHECK(r.srcAccessMask == VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT);
    CHECK(r.dstAccessMask ==
          (VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT));
    r = raw(scope::transfer | scope::compute, scope::host);
    CHECK(r.srcStageMask ==
          (VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT | VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT));
    CHECK(r.dstStageMask == VK_PIPELINE_STAGE_2_HOST_BIT);
    r = raw(scope::host, scope::transfer);
    CHECK(r.srcAccessMask == VK_ACCESS_2_HOST_WRITE_BIT);
    CHECK(r.dstAccessMask == (VK_ACCESS_2_TRANSFER_READ_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT));
    r = raw(scope::compute, scope::constants);
    CHECK(r.dstStageMask == VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT);
    CHECK(r.dstAccessMask == (VK_ACCESS_2_UNIFORM_READ_BIT | VK_ACCESS_2_SHADER_SAMPLED_READ_BIT));
    CHECK(includes(scope::compute | scope::host, scope::host));
    CHECK_FALSE(includes(scope::compute | scope::host, scope::transfer));
}
