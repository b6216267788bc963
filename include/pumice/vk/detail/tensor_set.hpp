// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a shader operator or a data graph sees as tensors of VK_ARM_tensors: they lie where the
// buffers lie, and elsewhere only where a device wants it so.
#pragma once

#include <pumice/base/shader_language.hpp>
#include <pumice/vk/barrier.hpp>
#include <pumice/vk/detail/tensor_type.hpp>
#include <pumice/vk/memory_block.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// What one binding of a dispatch shows.
struct pushed_range : buffer_range {
    shader_descriptor as = shader_descriptor::storage_buffer;
    VkFormat format = VK_FORMAT_UNDEFINED;        // of texels, and of a tensor
    std::uint32_t width = 0, height = 0;          // of an image: its elements are those bytes
    bool written = false;                         // by the dispatch; of an image or tensor
    shape extent = {};                            // of a tensor
    const detail::memory_block* block = nullptr;  // where the buffer is Pumice's own
};

namespace detail {

#ifdef VK_ARM_data_graph

/// VkTensorDescriptionARM, which points into `of`.
inline VkTensorDescriptionARM describe_tensor(const tensor_type& of, bool graph) noexcept {
    VkTensorDescriptionARM d{};
    d.sType = VK_STRUCTURE_TYPE_TENSOR_DESCRIPTION_ARM;
    d.tiling = VK_TENSOR_TILING_LINEAR_ARM;
    d.format = of.format;
    d.dimensionCount = static_cast<std::uint32_t>(of.extent.rank());
    d.pDimensions = of.extent.begin();
    d.usage = graph ? VK_TENSOR_USAGE_DATA_GRAPH_BIT_ARM : VK_TENSOR_USAGE_SHADER_BIT_ARM;
    return d;
}

/// A tensor over bytes of a buffer, or over memory of its own that those are copied to and from.
/// Destroys its Vulkan objects: hold it until the last submit that uses them is done.
class shader_tensor {
public:
    shader_tensor(const device& d, const pushed_range& r, bool graph, const std::string& who)
        : device_(d) {
        try {
            open(r, graph, who);
        } catch (...) {
            close();
            throw;
        }
    }
    shader_tensor(const shader_tensor&) = delete;
    shader_tensor& operator=(const shader_tensor&) = delete;
    ~shader_tensor() { close(); }

    VkTensorViewARM view() const noexcept { return view_; }
    /// A buffer over its own memory; null where it lies where the bytes are.
    VkBuffer copy() const noexcept { return buffer_; }

private:
    void open(const pushed_range& r, bool graph, const std::string& who) {
        const device& d = device_;
        const auto handle = d.handle();
        const tensor_type type{r.format, r.extent, 0};
        const VkTensorDescriptionARM described = describe_tensor(type, graph);
        VkTensorCreateInfoARM info{};
        info.sType = VK_STRUCTURE_TYPE_TENSOR_CREATE_INFO_ARM;
        info.pDescription = &described;
        info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
        d.check((d.table().vkCreateTensorARM(handle, &info, nullptr, &tensor_)),
                "vkCreateTensorARM", who);
        VkTensorMemoryRequirementsInfoARM of{};
        of.sType = VK_STRUCTURE_TYPE_TENSOR_MEMORY_REQUIREMENTS_INFO_ARM;
        of.tensor = tensor_;
        VkMemoryRequirements2 found{};
        found.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2;
        d.table().vkGetTensorMemoryRequirementsARM(handle, &of, &found);
        const VkMemoryRequirements& needs = found.memoryRequirements;
        VkBindTensorMemoryInfoARM bind{};
        bind.sType = VK_STRUCTURE_TYPE_BIND_TENSOR_MEMORY_INFO_ARM;
        bind.tensor = tensor_;
        if (r.block && (needs.memoryTypeBits >> r.block->memory_type & 1u) &&
            r.offset % needs.alignment == 0 && r.offset <= r.block->size &&
            needs.size <= r.block->size - r.offset) {
            bind.memory = r.block->memory;
            bind.memoryOffset = r.offset;
        } else {
            bind.memory = own_memory(needs, r.size, who);
        }
        d.check((d.table().vkBindTensorMemoryARM(handle, 1, &bind)), "vkBindTensorMemoryARM", who);
        VkTensorViewCreateInfoARM seen{};
        seen.sType = VK_STRUCTURE_TYPE_TENSOR_VIEW_CREATE_INFO_ARM;
        seen.tensor = tensor_;
        seen.format = r.format;
        d.check((d.table().vkCreateTensorViewARM(handle, &seen, nullptr, &view_)),
                "vkCreateTensorViewARM", who);
    }
    /// Memory with the buffer over it.
    VkDeviceMemory own_memory(const VkMemoryRequirements& tensor, std::uint64_t bytes,
                              const std::string& who) {
        const device& d = device_;
        structure<VkBufferCreateInfo> info;
        info.size = bytes;
        info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
        d.check(d.table().vkCreateBuffer(d.handle(), &info, nullptr, &buffer_), "vkCreateBuffer",
                who);
        VkMemoryRequirements buffer{};
        d.table().vkGetBufferMemoryRequirements(d.handle(), buffer_, &buffer);
        memory_ = allocate_for(d, std::max<std::uint64_t>(tensor.size, buffer.size),
                               tensor.memoryTypeBits & buffer.memoryTypeBits, who);
        structure<VkBindBufferMemoryInfo> bind;
        bind.buffer = buffer_;
        bind.memory = memory_;
        d.check(d.table().vkBindBufferMemory2(d.handle(), 1, &bind), "vkBindBufferMemory2", who);
        return memory_;
    }
    void close() noexcept {
        const device& d = device_;
        const auto handle = d.handle();
        if (view_) d.table().vkDestroyTensorViewARM(handle, view_, nullptr);
        if (tensor_) d.table().vkDestroyTensorARM(handle, tensor_, nullptr);
        d.table().vkDestroyBuffer(d.handle(), buffer_, nullptr);
        d.table().vkFreeMemory(d.handle(), memory_, nullptr);
    }

    const device& device_;
    VkTensorARM tensor_ = VK_NULL_HANDLE;
    VkTensorViewARM view_ = VK_NULL_HANDLE;
    VkBuffer buffer_{};
    VkDeviceMemory memory_{};
};

/// A run of a data graph's pipeline: what it keeps in between, with the memory for it.
class graph_session {
public:
    graph_session(const device& d, VkPipeline graph, const std::string& who) : device_(d) {
        try {
            open(graph, who);
        } catch (...) {
            close();
            throw;
        }
    }
    graph_session(const graph_session&) = delete;
    graph_session& operator=(const graph_session&) = delete;
    ~graph_session() { close(); }

    VkDataGraphPipelineSessionARM handle() const noexcept { return session_; }

private:
    void open(VkPipeline graph, const std::string& who) {
        const device& d = device_;
        const auto handle = d.handle();
        VkDataGraphPipelineSessionCreateInfoARM info{};
        info.sType = VK_STRUCTURE_TYPE_DATA_GRAPH_PIPELINE_SESSION_CREATE_INFO_ARM;
        info.dataGraphPipeline = graph;
        d.check((d.table().vkCreateDataGraphPipelineSessionARM(handle, &info, nullptr, &session_)),
                "vkCreateDataGraphPipelineSessionARM", who);
        VkDataGraphPipelineSessionBindPointRequirementsInfoARM of{};
        of.sType = VK_STRUCTURE_TYPE_DATA_GRAPH_PIPELINE_SESSION_BIND_POINT_REQUIREMENTS_INFO_ARM;
        of.session = session_;
        std::uint32_t count = 0;
        const auto points = [&](VkDataGraphPipelineSessionBindPointRequirementARM* to) {
            d.check((d.table().vkGetDataGraphPipelineSessionBindPointRequirementsARM(handle, &of,
                                                                                     &count, to)),
                    "vkGetDataGraphPipelineSessionBindPointRequirementsARM", who);
        };
        points(nullptr);
        VkDataGraphPipelineSessionBindPointRequirementARM empty{};
        empty.sType = VK_STRUCTURE_TYPE_DATA_GRAPH_PIPELINE_SESSION_BIND_POINT_REQUIREMENT_ARM;
        array_list<VkDataGraphPipelineSessionBindPointRequirementARM> list(count, empty);
        if (count > 0) points(list.data());
        for (const auto& point : list)
            for (std::uint32_t i = 0; i < point.numObjects; ++i) bind(point.bindPoint, i, who);
    }
    void bind(VkDataGraphPipelineSessionBindPointARM point, std::uint32_t object,
              const std::string& who) {
        const device& d = device_;
        const auto handle = d.handle();
        VkDataGraphPipelineSessionMemoryRequirementsInfoARM of{};
        of.sType = VK_STRUCTURE_TYPE_DATA_GRAPH_PIPELINE_SESSION_MEMORY_REQUIREMENTS_INFO_ARM;
        of.session = session_;
        of.bindPoint = point;
        of.objectIndex = object;
        VkMemoryRequirements2 needs{};
        needs.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2;
        d.table().vkGetDataGraphPipelineSessionMemoryRequirementsARM(handle, &of, &needs);
        if (needs.memoryRequirements.size == 0) return;
        memory_.push_back(allocate_for(d, needs.memoryRequirements.size,
                                       needs.memoryRequirements.memoryTypeBits, who));
        VkBindDataGraphPipelineSessionMemoryInfoARM info{};
        info.sType = VK_STRUCTURE_TYPE_BIND_DATA_GRAPH_PIPELINE_SESSION_MEMORY_INFO_ARM;
        info.session = session_;
        info.bindPoint = point;
        info.objectIndex = object;
        info.memory = memory_.back();
        d.check((d.table().vkBindDataGraphPipelineSessionMemoryARM(handle, 1, &info)),
                "vkBindDataGraphPipelineSessionMemoryARM", who);
    }
    void close() noexcept {
        const device& d = device_;
        if (session_) d.table().vkDestroyDataGraphPipelineSessionARM(d.handle(), session_, nullptr);
        for (const VkDeviceMemory m : memory_) d.table().vkFreeMemory(d.handle(), m, nullptr);
    }

    const device& device_;
    VkDataGraphPipelineSessionARM session_ = VK_NULL_HANDLE;
    array_list<VkDeviceMemory> memory_;
};

#endif

/// The set of a dispatch that sees tensors, which cannot be pushed, and what stands in it.
/// Destroys its Vulkan objects: hold it until the last submit that uses them is done.
class tensor_set {
public:
    tensor_set(std::shared_ptr<const device> owner, std::string who)
        : device_(std::move(owner)), who_(std::move(who)) {}
    tensor_set(const tensor_set&) = delete;
    tensor_set& operator=(const tensor_set&) = delete;
    ~tensor_set() {
        if (pool_) device_->table().vkDestroyDescriptorPool(device_->handle(), pool_, nullptr);
    }

    VkDescriptorSet handle() const noexcept { return set_; }

#ifdef VK_ARM_data_graph
    /// Makes the tensors, a session where the pipeline is a data graph's (else null), and a set of
    /// that layout, of which `writes` says what is no tensor. Throws errc::out_of_memory, and what
    /// else the driver reports.
    void open(std::span<const pushed_range> list, VkDescriptorSetLayout layout, VkPipeline graph,
              std::span<structure<VkWriteDescriptorSet>> writes) {
        const device& d = *device_;
        const auto handle = d.handle();
        array_list<VkDescriptorPoolSize> sizes;
        array_list<VkWriteDescriptorSetTensorARM> shown(list.size());
        array_list<VkTensorViewARM> views(list.size());
        for (std::size_t i = 0; i < list.size(); ++i) {
            sizes.push_back({writes[i].descriptorType, 1});
            auto& tensor = tensors_.emplace_back();
            if (list[i].as != shader_descriptor::tensor) continue;
            tensor = std::make_unique<shader_tensor>(d, list[i], graph != VK_NULL_HANDLE, who_);
            views[i] = tensor->view();
            shown[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_TENSOR_ARM;
            shown[i].tensorViewCount = 1;
            shown[i].pTensorViews = &views[i];
            writes[i].pNext = &shown[i];
        }
        if (graph) session_ = std::make_unique<graph_session>(d, graph, who_);
        VkDescriptorPoolCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
        info.maxSets = 1;
        info.poolSizeCount = static_cast<std::uint32_t>(sizes.size());
        info.pPoolSizes = sizes.data();
        d.check((d.table().vkCreateDescriptorPool(handle, &info, nullptr, &pool_)),
                "vkCreateDescriptorPool", who_);
        VkDescriptorSetAllocateInfo of{};
        of.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
        of.descriptorPool = pool_;
        of.descriptorSetCount = 1;
        of.pSetLayouts = &layout;
        d.check((d.table().vkAllocateDescriptorSets(handle, &of, &set_)),
                "vkAllocateDescriptorSets", who_);
        for (auto& w : writes) w.dstSet = set_;
        d.table().vkUpdateDescriptorSets(handle, static_cast<std::uint32_t>(writes.size()),
                                         writes.data(), 0, nullptr);
    }
    bool is_graph() const noexcept { return session_ != nullptr; }
    /// The buffer over the memory that tensor i has for itself; null where it has none.
    VkBuffer copy_of(std::size_t i) const noexcept {
        return tensors_[i] ? tensors_[i]->copy() : VkBuffer{VK_NULL_HANDLE};
    }
    void dispatch(VkCommandBuffer to) const noexcept {
        device_->table().vkCmdDispatchDataGraphARM(to, session_->handle(), nullptr);
    }

private:
    array_list<std::unique_ptr<shader_tensor>> tensors_;  // of each range, or null
    std::unique_ptr<graph_session> session_;
#else
    // Headers without the extensions: no device has tensors.
    void open(std::span<const pushed_range>, VkDescriptorSetLayout, VkPipeline,
              std::span<structure<VkWriteDescriptorSet>>) {}
    bool is_graph() const noexcept { return false; }
    VkBuffer copy_of(std::size_t) const noexcept { return VK_NULL_HANDLE; }
    void dispatch(VkCommandBuffer) const noexcept {}

private:
#endif
    std::shared_ptr<const device> device_;
    std::string who_;
    VkDescriptorPool pool_ = VK_NULL_HANDLE;
    VkDescriptorSet set_ = VK_NULL_HANDLE;
};

}  // namespace detail
}}}  // namespace pumice::PUMICE_ABI::vulkan
