// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Recording: a command buffer, and the few commands that Pumice uses.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/vk/barrier.hpp>
#include <pumice/vk/detail/pushed_buffers.hpp>
#include <pumice/vk/memory.hpp>
#include <pumice/vk/pipeline.hpp>
#include <pumice/vk/query.hpp>

#include <algorithm>
#include <array>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// Offsets within the two allocations.
struct copy_region {
    std::uint64_t from = 0, to = 0, size = 0;
};

/// A command buffer with a pool of its own, so that threads record at the same time. Move-only; one
/// thread at a time. Without memory of what it was told: hazards are the caller's.
class commands {
public:
    explicit commands(std::shared_ptr<const device> owner)
        : commands(owner, owner->queue().family) {}
    /// For queues of that family.
    commands(std::shared_ptr<const device> owner, std::uint32_t family)
        : device_(std::move(owner)) {
        vk::CommandPoolCreateInfo info{};
        info.flags = vk::CommandPoolCreateFlags(vk::CommandPoolCreateFlagBits::eTransient);
        info.queueFamilyIndex = family;
        device_->check(device_->handle().createCommandPool(&info, nullptr, &pool_, table()),
                       "vkCreateCommandPool");
        vk::CommandBufferAllocateInfo what{};
        what.commandPool = pool_;
        what.level = vk::CommandBufferLevel::ePrimary;
        what.commandBufferCount = 1;
        if (const vk::Result result =
                device_->handle().allocateCommandBuffers(&what, &buffer_, table());
            result != vk::Result::eSuccess) {
            device_->handle().destroyCommandPool(pool_, nullptr, table());
            device_->check(result, "vkAllocateCommandBuffers");
        }
    }
    commands(commands&& other) noexcept
        : device_(std::move(other.device_)), pool_(std::exchange(other.pool_, {})),
          buffer_(other.buffer_), bound_(other.bound_), layout_(other.layout_),
          dispatches_(other.dispatches_), graphs_(other.graphs_),
          pushed_(std::move(other.pushed_)) {}
    commands& operator=(commands&& other) noexcept {
        std::swap(device_, other.device_);
        std::swap(pool_, other.pool_);
        std::swap(buffer_, other.buffer_);
        std::swap(bound_, other.bound_);
        std::swap(layout_, other.layout_);
        std::swap(dispatches_, other.dispatches_);
        std::swap(graphs_, other.graphs_);
        pushed_.swap(other.pushed_);
        return *this;
    }
    ~commands() {
        if (device_ && pool_) device_->handle().destroyCommandPool(pool_, nullptr, table());
    }

    vk::CommandBuffer handle() const noexcept { return buffer_; }
    /// What is recorded.
    std::uint64_t dispatches() const noexcept { return dispatches_; }
    /// Of them, those of data graphs.
    std::uint64_t data_graphs() const noexcept { return graphs_; }

    /// Starts over. `reusable`: it will be submitted more than once, also while the device is at
    /// it. pre: the device does not use it any more.
    void begin(bool reusable = false) {
        device_
            ->check(vk::Result(table().vkResetCommandPool(static_cast<VkDevice>(device_->handle()),
                                                          static_cast<VkCommandPool>(pool_), 0)),
                    "vkResetCommandPool");
        bound_ = vk::Pipeline{};
        dispatches_ = graphs_ = 0;
        pushed_.clear();
        vk::CommandBufferBeginInfo info{};
        info.flags =
            vk::CommandBufferUsageFlags(reusable ? vk::CommandBufferUsageFlagBits::eSimultaneousUse
                                                 : vk::CommandBufferUsageFlagBits::eOneTimeSubmit);
        device_->check(buffer_.begin(&info, table()), "vkBeginCommandBuffer");
        device_->stats().recordings += 1;
    }
    void end() {
        device_
            ->check(vk::Result(table().vkEndCommandBuffer(static_cast<VkCommandBuffer>(buffer_))),
                    "vkEndCommandBuffer");
    }

    void bind(const pipeline& p) noexcept {
        layout_ = p.layout();
        point_ = p.binds_to();
        if (bound_ == p.handle()) return;
        bound_ = p.handle();
        buffer_.bindPipeline(point_, bound_, table());
    }

    /// The address of the next dispatches' parameter block. pre: a pipeline is bound.
    void push(std::uint64_t address) noexcept { push(&address, sizeof address, 0); }
    void push(const void* data, std::uint32_t size, std::uint32_t offset = 0) noexcept {
        PUMICE_ASSERT(offset + size <= pipeline_factory::push_bytes);
        buffer_.pushConstants(layout_, vk::ShaderStageFlags(vk::ShaderStageFlagBits::eCompute),
                              offset, size, data, table());
    }

    /// What the next dispatch works on, which is kept until recording starts over. pre: a pipeline
    /// is bound that is given descriptors.
    void push(std::shared_ptr<const pushed_buffers> pushed) {
        const pushed_buffers& what = *pushed_.emplace_back(std::move(pushed));
        constexpr auto compute = vk::ShaderStageFlagBits::eCompute;
        if (!what.numbers.empty())
            buffer_.pushConstants(layout_, vk::ShaderStageFlags(compute), 0,
                                  static_cast<std::uint32_t>(what.numbers.size()),
                                  what.numbers.data(), table());
        if (const detail::tensor_set* const set = what.set()) {
            const vk::DescriptorSet handle = set->handle();
            return buffer_.bindDescriptorSets(point_, layout_, 0, 1, &handle, 0, nullptr, table());
        }
        const pushed_buffers::writes all(what);
        buffer_.pushDescriptorSetKHR(vk::PipelineBindPoint::eCompute, layout_, 0,
                                     static_cast<std::uint32_t>(what.list.size()), all.list.data(),
                                     table());
    }

    /// Makes images of what the next dispatch reads as such. pre: they are open.
    void fill_images(const pushed_buffers& what) {
        if (!what.has_images()) return;
        barrier(scope::compute | scope::transfer, scope::transfer);
        array_list<vk::ImageMemoryBarrier2> fresh;
        for (std::size_t i = 0; i < what.list.size(); ++i) {
            if (!what.image(i)) continue;
            vk::ImageMemoryBarrier2& b = fresh.emplace_back();
            detail::set_scopes(b, scope::compute | scope::transfer,
                               scope::compute | scope::transfer);
            b.newLayout = vk::ImageLayout::eGeneral;
            b.srcQueueFamilyIndex = b.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
            b.image = what.image(i)->image();
            b.subresourceRange = detail::shader_image::whole();
        }
        vk::DependencyInfo info{};
        info.imageMemoryBarrierCount = static_cast<std::uint32_t>(fresh.size());
        info.pImageMemoryBarriers = fresh.data();
        buffer_.pipelineBarrier2(&info, table());
        for (std::size_t i = 0; i < what.list.size(); ++i) {
            if (!what.image(i) || what.list[i].written) continue;
            const vk::BufferImageCopy region = what.image(i)->region(what.list[i].offset);
            buffer_.copyBufferToImage(vk::Buffer(what.list[i].buffer), what.image(i)->image(),
                                      vk::ImageLayout::eGeneral, 1, &region, table());
        }
        barrier(scope::transfer, scope::compute);
    }
    /// Brings what the next dispatch reads to tensors that lie elsewhere, and lets a data graph see
    /// it. pre: they are open.
    void fill_tensors(const pushed_buffers& what) {
        const detail::tensor_set* const set = what.set();
        if (!set) return;
        constexpr scope any = scope::compute | scope::transfer;
        if (copies_tensors(what)) {
            barrier(any, scope::transfer);
            copy_tensors(what, false);
        }
        if (set->is_graph()) barrier(any, any | scope::graph);
        else if (copies_tensors(what)) barrier(scope::transfer, any);
    }
    /// The same behind it.
    void store_tensors(const pushed_buffers& what) {
        const detail::tensor_set* const set = what.set();
        if (!set) return;
        constexpr scope any = scope::compute | scope::transfer;
        if (set->is_graph()) barrier(scope::graph, any);
        else if (copies_tensors(what)) barrier(scope::compute, scope::transfer);
        if (!copies_tensors(what)) return;
        copy_tensors(what, true);
        barrier(scope::transfer, any);
    }

    /// Brings what the last dispatch wrote to images to where others look for it.
    void store_images(const pushed_buffers& what) {
        if (!what.has_images()) return;
        barrier(scope::compute, scope::transfer);
        for (std::size_t i = 0; i < what.list.size(); ++i) {
            if (!what.image(i) || !what.list[i].written) continue;
            const vk::BufferImageCopy region = what.image(i)->region(what.list[i].offset);
            buffer_.copyImageToBuffer(what.image(i)->image(), vk::ImageLayout::eGeneral,
                                      vk::Buffer(what.list[i].buffer), 1, &region, table());
        }
        barrier(scope::transfer, scope::compute | scope::transfer);
    }

    /// pre: within device_info::max_workgroup_count; no group at all is no dispatch.
    void dispatch(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1) noexcept {
        if (x == 0 || y == 0 || z == 0) return;
        buffer_.dispatch(x, y, z, table());
        device_->stats().dispatches += 1;
        ++dispatches_;
    }

    /// Runs the data graph of the pipeline that is bound. pre: what it works on was pushed.
    void dispatch_graph(const pushed_buffers& what) noexcept {
        what.set()->dispatch(buffer_);
        device_->stats().data_graphs += 1;
        ++dispatches_;
        ++graphs_;
    }

    /// What `before` wrote, `after` sees. (What the host wrote before a submit is visible without.)
    void barrier(scope before, scope after) noexcept {
        vk::MemoryBarrier2 memory{};
        detail::set_scopes(memory, before, after);
        vk::DependencyInfo info{};
        info.memoryBarrierCount = 1;
        info.pMemoryBarriers = &memory;
        buffer_.pipelineBarrier2(&info, table());
        device_->stats().barriers += 1;
    }
    void barrier(scope before, scope after, span<const buffer_range> only) {
        if (only.empty()) return;
        array_list<vk::BufferMemoryBarrier2> memory(only.size());
        for (std::size_t i = 0; i < only.size(); ++i) {
            detail::set_scopes(memory[i], before, after);
            memory[i].srcQueueFamilyIndex = memory[i].dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
            memory[i].buffer = vk::Buffer(only[i].buffer);
            memory[i].offset = only[i].offset;
            memory[i].size = only[i].size;
        }
        vk::DependencyInfo info{};
        info.bufferMemoryBarrierCount = static_cast<std::uint32_t>(memory.size());
        info.pBufferMemoryBarriers = memory.data();
        buffer_.pipelineBarrier2(&info, table());
        device_->stats().barriers += 1;
    }

    /// pre: the regions lie within the allocations and do not overlap. Empty ones are left out.
    void copy(const allocation& from, const allocation& to, span<const copy_region> regions) {
        array_list<vk::BufferCopy> list;
        list.reserve(regions.size());
        for (const copy_region& r : regions) {
            PUMICE_ASSERT(r.from + r.size <= from.size && r.to + r.size <= to.size);
            if (r.size == 0) continue;
            vk::BufferCopy& each = list.emplace_back();
            each.srcOffset = from.offset + r.from;
            each.dstOffset = to.offset + r.to;
            each.size = r.size;
        }
        if (list.empty()) return;
        buffer_.copyBuffer(vk::Buffer(from.buffer), vk::Buffer(to.buffer),
                           static_cast<std::uint32_t>(list.size()), list.data(), table());
        device_->stats().copies += 1;
    }
    void copy(const allocation& from, const allocation& to, const copy_region& region) {
        copy(from, to, span(&region, 1));
    }

    /// Repeats a 32-bit word. `offset` and `size` are multiples of 4.
    void fill(const allocation& to, std::uint64_t offset, std::uint64_t size,
              std::uint32_t word) noexcept {
        PUMICE_ASSERT(offset % 4 == 0 && size % 4 == 0 && offset + size <= (to.size + 3) / 4 * 4);
        if (size == 0) return;
        buffer_.fillBuffer(vk::Buffer(to.buffer), to.offset + offset, size, word, table());
        device_->stats().fills += 1;
    }

    void reset(const timestamp_pool& pool, std::uint32_t first, std::uint32_t count) noexcept {
        buffer_.resetQueryPool(pool.handle(), first, count, table());
    }
    /// The time when all dispatches and copies before it are done.
    void timestamp(const timestamp_pool& pool, std::uint32_t index) noexcept {
        buffer_.writeTimestamp2(vk::PipelineStageFlags2(vk::PipelineStageFlagBits2::eAllCommands),
                                pool.handle(), index, table());
    }

    /// A named stretch for debuggers, closed by `end_label`. Nothing without VK_EXT_debug_utils.
    void label(const char* name) noexcept {
        if (!device_->parent().debug_utils() || !table().vkCmdBeginDebugUtilsLabelEXT) return;
        vk::DebugUtilsLabelEXT info{};
        info.pLabelName = name;
        buffer_.beginDebugUtilsLabelEXT(&info, table());
    }
    void end_label() noexcept {
        if (device_->parent().debug_utils() && table().vkCmdEndDebugUtilsLabelEXT)
            buffer_.endDebugUtilsLabelEXT(table());
    }

private:
    const dispatcher& table() const noexcept { return device_->table(); }

    static bool copies_tensors(const pushed_buffers& what) noexcept {
        for (std::size_t i = 0; i < what.list.size(); ++i)
            if (what.set()->copy_of(i)) return true;
        return false;
    }
    void copy_tensors(const pushed_buffers& what, bool back) {
        for (std::size_t i = 0; i < what.list.size(); ++i) {
            const vk::Buffer copy = what.set()->copy_of(i), there = vk::Buffer(what.list[i].buffer);
            if (!copy || what.list[i].written != back) continue;
            vk::BufferCopy region{};
            region.size = what.list[i].size;
            (back ? region.dstOffset : region.srcOffset) = what.list[i].offset;
            buffer_.copyBuffer(back ? copy : there, back ? there : copy, 1, &region, table());
        }
    }

    std::shared_ptr<const device> device_;
    vk::CommandPool pool_{};
    vk::CommandBuffer buffer_{};
    vk::Pipeline bound_{};
    vk::PipelineLayout layout_{};
    vk::PipelineBindPoint point_ = vk::PipelineBindPoint::eCompute;
    std::uint64_t dispatches_ = 0, graphs_ = 0;
    array_list<std::shared_ptr<const pushed_buffers>> pushed_;
};

/// Pre: the pipeline is bound.
inline void dispatch_pushed(commands& buffer, std::shared_ptr<const pushed_buffers> what,
                            std::array<std::uint32_t, 3> grid) {
    buffer.label(what->name().c_str());
    buffer.fill_images(*what);
    buffer.fill_tensors(*what);
    buffer.push(what);
    if (what->set() && what->set()->is_graph()) buffer.dispatch_graph(*what);
    else buffer.dispatch(grid[0], grid[1], grid[2]);
    buffer.store_tensors(*what);
    buffer.store_images(*what);
    buffer.end_label();
}

}}}  // namespace pumice::PUMICE_ABI::vulkan
