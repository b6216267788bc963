// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What Vulkan was asked to do on a device: tests pin these figures, `stats()` shows them.
#pragma once

#include <pumice/base/counter.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// One call of the named kind each, since the device was made.
struct counters {
    counter submits;      // vkQueueSubmit2
    counter host_waits;   // waits for a value that was not there yet
    counter allocations;  // vkAllocateMemory, and not the pieces handed out of it
    counter maps;         // vkMapMemory
    counter recordings;   // vkBeginCommandBuffer
    counter dispatches;
    counter data_graphs;          // vkCmdDispatchDataGraphARM
    counter barriers;             // vkCmdPipelineBarrier2
    counter copies;               // vkCmdCopyBuffer
    counter fills;                // vkCmdFillBuffer
    counter pipelines;            // vkCreateComputePipelines
    counter pipeline_cache_hits;  // those of them that the driver found in its cache
};

}}}  // namespace pumice::PUMICE_ABI::vulkan
