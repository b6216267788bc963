// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a shader operator or a data graph sees as tensors of VK_ARM_tensors: they lie where the
// buffers lie, and elsewhere only where a device wants it so.
#pragma once

#include <pumice/base/shader_language.hpp>
#include <pumice/base/unique_ptr.hpp>
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

/// Points into `of`.
inline vk::TensorDescriptionARM describe_tensor(const tensor_type& of, bool graph) noexcept {
    vk::TensorDescriptionARM d{};
    d.tiling = vk::TensorTilingARM::eLinear;
    d.format = static_cast<vk::Format>(of.format);
    d.dimensionCount = static_cast<std::uint32_t>(of.extent.rank());
    d.pDimensions = of.extent.begin();
    d.usage = vk::TensorUsageFlagsARM(graph ? vk::TensorUsageFlagBitsARM::eDataGraph
                                            : vk::TensorUsageFlagBitsARM::eShader);
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

    vk::TensorViewARM view() const noexcept { return view_; }
    /// A buffer over its own memory; null where it lies where the bytes are.
    vk::Buffer copy() const noexcept { return buffer_; }

private:
    void open(const pushed_range& r, bool graph, const std::string& who) {
        const device& d = device_;
        const tensor_type type{r.format, r.extent, 0};
        const vk::TensorDescriptionARM described = describe_tensor(type, graph);
        vk::TensorCreateInfoARM info{};
        info.pDescription = &described;
        d.check(d.handle().createTensorARM(&info, nullptr, &tensor_, d.table()),
                "vkCreateTensorARM", who);
        vk::TensorMemoryRequirementsInfoARM of{};
        of.tensor = tensor_;
        vk::MemoryRequirements2 found{};
        d.handle().getTensorMemoryRequirementsARM(&of, &found, d.table());
        const vk::MemoryRequirements& needs = found.memoryRequirements;
        vk::BindTensorMemoryInfoARM bind{};
        bind.tensor = tensor_;
        if (r.block && (needs.memoryTypeBits >> r.block->memory_type & 1u) &&
            r.offset % needs.alignment == 0 && r.offset <= r.block->size &&
            needs.size <= r.block->size - r.offset) {
            bind.memory = r.block->memory;
            bind.memoryOffset = r.offset;
        } else {
            bind.memory = own_memory(needs, r.size, who);
        }
        d.check(d.handle().bindTensorMemoryARM(1, &bind, d.table()), "vkBindTensorMemoryARM", who);
        vk::TensorViewCreateInfoARM seen{};
        seen.tensor = tensor_;
        seen.format = static_cast<vk::Format>(r.format);
        d.check(d.handle().createTensorViewARM(&seen, nullptr, &view_, d.table()),
                "vkCreateTensorViewARM", who);
    }
    /// Memory with the buffer over it.
    vk::DeviceMemory own_memory(const vk::MemoryRequirements& tensor, std::uint64_t bytes,
                                const std::string& who) {
        const device& d = device_;
        vk::BufferCreateInfo info{};
        info.size = bytes;
        info.usage = vk::BufferUsageFlags(VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                          VK_BUFFER_USAGE_TRANSFER_DST_BIT);
        d.check(d.handle().createBuffer(&info, nullptr, &buffer_, d.table()), "vkCreateBuffer",
                who);
        vk::MemoryRequirements buffer{};
        d.handle().getBufferMemoryRequirements(buffer_, &buffer, d.table());
        memory_ = allocate_for(d, std::max<std::uint64_t>(tensor.size, buffer.size),
                               tensor.memoryTypeBits & buffer.memoryTypeBits, who);
        vk::BindBufferMemoryInfo bind{};
        bind.buffer = buffer_;
        bind.memory = memory_;
        d.check(d.handle().bindBufferMemory2(1, &bind, d.table()), "vkBindBufferMemory2", who);
        return memory_;
    }
    void close() noexcept {
        const device& d = device_;
        if (view_) d.handle().destroyTensorViewARM(view_, nullptr, d.table());
        if (tensor_) d.handle().destroyTensorARM(tensor_, nullptr, d.table());
        d.handle().destroyBuffer(buffer_, nullptr, d.table());
        d.handle().freeMemory(memory_, nullptr, d.table());
    }

    const device& device_;
    vk::TensorARM tensor_{};
    vk::TensorViewARM view_{};
    vk::Buffer buffer_{};
    vk::DeviceMemory memory_{};
};

/// A run of a data graph's pipeline: what it keeps in between, with the memory for it.
class graph_session {
public:
    graph_session(const device& d, vk::Pipeline graph, const std::string& who) : device_(d) {
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

    vk::DataGraphPipelineSessionARM handle() const noexcept { return session_; }

private:
    void open(vk::Pipeline graph, const std::string& who) {
        const device& d = device_;
        vk::DataGraphPipelineSessionCreateInfoARM info{};
        info.dataGraphPipeline = graph;
        d.check(d.handle().createDataGraphPipelineSessionARM(&info, nullptr, &session_, d.table()),
                "vkCreateDataGraphPipelineSessionARM", who);
        vk::DataGraphPipelineSessionBindPointRequirementsInfoARM of{};
        of.session = session_;
        std::uint32_t count = 0;
        const auto points = [&](vk::DataGraphPipelineSessionBindPointRequirementARM* to) {
            d.check(d.handle().getDataGraphPipelineSessionBindPointRequirementsARM(&of, &count, to,
                                                                                   d.table()),
                    "vkGetDataGraphPipelineSessionBindPointRequirementsARM", who);
        };
        points(nullptr);
        array_list<vk::DataGraphPipelineSessionBindPointRequirementARM> list(count);
        if (count > 0) points(list.data());
        for (const auto& point : list)
            for (std::uint32_t i = 0; i < point.numObjects; ++i) bind(point.bindPoint, i, who);
    }
    void bind(vk::DataGraphPipelineSessionBindPointARM point, std::uint32_t object,
              const std::string& who) {
        const device& d = device_;
        vk::DataGraphPipelineSessionMemoryRequirementsInfoARM of{};
        of.session = session_;
        of.bindPoint = point;
        of.objectIndex = object;
        vk::MemoryRequirements2 needs{};
        d.handle().getDataGraphPipelineSessionMemoryRequirementsARM(&of, &needs, d.table());
        if (needs.memoryRequirements.size == 0) return;
        memory_.push_back(allocate_for(d, needs.memoryRequirements.size,
                                       needs.memoryRequirements.memoryTypeBits, who));
        vk::BindDataGraphPipelineSessionMemoryInfoARM info{};
        info.session = session_;
        info.bindPoint = point;
        info.objectIndex = object;
        info.memory = memory_.back();
        d.check(d.handle().bindDataGraphPipelineSessionMemoryARM(1, &info, d.table()),
                "vkBindDataGraphPipelineSessionMemoryARM", who);
    }
    void close() noexcept {
        const device& d = device_;
        if (session_) d.handle().destroyDataGraphPipelineSessionARM(session_, nullptr, d.table());
        for (const vk::DeviceMemory m : memory_) d.handle().freeMemory(m, nullptr, d.table());
    }

    const device& device_;
    vk::DataGraphPipelineSessionARM session_{};
    array_list<vk::DeviceMemory> memory_;
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
        if (pool_) device_->handle().destroyDescriptorPool(pool_, nullptr, device_->table());
    }

    vk::DescriptorSet handle() const noexcept { return set_; }

#ifdef VK_ARM_data_graph
    /// Makes the tensors, a session where the pipeline is a data graph's (else null), and a set of
    /// that layout, of which `writes` says what is no tensor. Throws errc::out_of_memory, and what
    /// else the driver reports.
    void open(span<const pushed_range> list, vk::DescriptorSetLayout layout, vk::Pipeline graph,
              span<vk::WriteDescriptorSet> writes) {
        const device& d = *device_;
        array_list<vk::DescriptorPoolSize> sizes(list.size());
        array_list<vk::WriteDescriptorSetTensorARM> shown(list.size());
        array_list<vk::TensorViewARM> views(list.size());
        for (std::size_t i = 0; i < list.size(); ++i) {
            sizes[i].type = writes[i].descriptorType;
            sizes[i].descriptorCount = 1;
            auto& tensor = tensors_.emplace_back();
            if (list[i].as != shader_descriptor::tensor) continue;
            tensor = make_owned<shader_tensor>(d, list[i], bool(graph), who_);
            views[i] = tensor->view();
            shown[i].tensorViewCount = 1;
            shown[i].pTensorViews = &views[i];
            writes[i].pNext = &shown[i];
        }
        if (graph) session_ = make_owned<graph_session>(d, graph, who_);
        vk::DescriptorPoolCreateInfo info{};
        info.maxSets = 1;
        info.poolSizeCount = static_cast<std::uint32_t>(sizes.size());
        info.pPoolSizes = sizes.data();
        d.check(d.handle().createDescriptorPool(&info, nullptr, &pool_, d.table()),
                "vkCreateDescriptorPool", who_);
        vk::DescriptorSetAllocateInfo of{};
        of.descriptorPool = pool_;
        of.descriptorSetCount = 1;
        of.pSetLayouts = &layout;
        d.check(d.handle().allocateDescriptorSets(&of, &set_, d.table()),
                "vkAllocateDescriptorSets", who_);
        for (auto& w : writes) w.dstSet = set_;
        d.handle().updateDescriptorSets(static_cast<std::uint32_t>(writes.size()), writes.data(), 0,
                                        nullptr, d.table());
    }
    bool is_graph() const noexcept { return session_ != nullptr; }
    /// The buffer over the memory that tensor i has for itself; null where it has none.
    vk::Buffer copy_of(std::size_t i) const noexcept {
        return tensors_[i] ? tensors_[i]->copy() : vk::Buffer{};
    }
    void dispatch(vk::CommandBuffer to) const noexcept {
        to.dispatchDataGraphARM(session_->handle(), nullptr, device_->table());
    }

private:
    array_list<unique_ptr<shader_tensor>> tensors_;  // of each range, or null
    unique_ptr<graph_session> session_;
#else
    // Headers without the extensions: no device has tensors.
    void open(span<const pushed_range>, vk::DescriptorSetLayout, vk::Pipeline,
              span<vk::WriteDescriptorSet>) {}
    bool is_graph() const noexcept { return false; }
    vk::Buffer copy_of(std::size_t) const noexcept { return {}; }
    void dispatch(vk::CommandBuffer) const noexcept {}

private:
#endif
    std::shared_ptr<const device> device_;
    std::string who_;
    vk::DescriptorPool pool_{};
    vk::DescriptorSet set_{};
};

}  // namespace detail
}}}  // namespace pumice::PUMICE_ABI::vulkan
