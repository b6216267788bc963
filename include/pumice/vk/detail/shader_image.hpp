// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The storage image through which a shader operator sees a tensor: its elements are copied there
// before the dispatch, or from there behind it.
#pragma once

#include <pumice/vk/memory_block.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan { namespace detail {

/// Destroys its Vulkan objects: hold it until the last submit that uses them is done.
class shader_image {
public:
    /// Throws errc::out_of_memory, and what else the driver reports.
    shader_image(std::shared_ptr<const device> owner, VkFormat format, std::uint32_t width,
                 std::uint32_t height, const std::string& name)
        : device_(std::move(owner)), width_(width), height_(height) {
        try {
            open(format, "kernel " + name);
        } catch (...) {
            close();
            throw;
        }
    }
    shader_image(const shader_image&) = delete;
    shader_image& operator=(const shader_image&) = delete;
    ~shader_image() { close(); }

    vk::Image image() const noexcept { return image_; }
    vk::ImageView view() const noexcept { return view_; }
    /// The whole of it, from byte `offset` of a buffer on, or to there.
    vk::BufferImageCopy region(std::uint64_t offset) const noexcept {
        vk::BufferImageCopy r{};
        r.bufferOffset = offset;
        r.imageSubresource.aspectMask = vk::ImageAspectFlags(vk::ImageAspectFlagBits::eColor);
        r.imageSubresource.layerCount = 1;
        r.imageExtent = VkExtent3D{width_, height_, 1};
        return r;
    }
    static vk::ImageSubresourceRange whole() noexcept {
        vk::ImageSubresourceRange r{};
        r.aspectMask = vk::ImageAspectFlags(vk::ImageAspectFlagBits::eColor);
        r.levelCount = r.layerCount = 1;
        return r;
    }

private:
    void open(VkFormat format, const std::string& who) {
        const device& d = *device_;
        vk::ImageCreateInfo info{};
        info.imageType = vk::ImageType::e2D;
        info.format = static_cast<vk::Format>(format);
        info.extent = VkExtent3D{width_, height_, 1};
        info.mipLevels = info.arrayLayers = 1;
        info.samples = vk::SampleCountFlagBits::e1;
        info.usage =
            vk::ImageUsageFlags(VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                VK_IMAGE_USAGE_TRANSFER_DST_BIT);
        d.check(d.handle().createImage(&info, nullptr, &image_, d.table()), "vkCreateImage", who);
        vk::MemoryRequirements needs{};
        d.handle().getImageMemoryRequirements(image_, &needs, d.table());
        memory_ = allocate_for(d, needs.size, needs.memoryTypeBits, who);
        d.check(vk::Result(d.table().vkBindImageMemory(static_cast<VkDevice>(d.handle()),
                                                       static_cast<VkImage>(image_),
                                                       static_cast<VkDeviceMemory>(memory_), 0)),
                "vkBindImageMemory", who);
        vk::ImageViewCreateInfo seen{};
        seen.image = image_;
        seen.viewType = vk::ImageViewType::e2D;
        seen.format = info.format;
        seen.subresourceRange = whole();
        d.check(d.handle().createImageView(&seen, nullptr, &view_, d.table()), "vkCreateImageView",
                who);
    }
    void close() noexcept {
        const device& d = *device_;
        d.handle().destroyImageView(view_, nullptr, d.table());
        d.handle().destroyImage(image_, nullptr, d.table());
        d.handle().freeMemory(memory_, nullptr, d.table());
    }

    std::shared_ptr<const device> device_;
    std::uint32_t width_, height_;
    vk::Image image_{};
    vk::DeviceMemory memory_{};
    vk::ImageView view_{};
};

}}}}  // namespace pumice::PUMICE_ABI::vulkan::detail
