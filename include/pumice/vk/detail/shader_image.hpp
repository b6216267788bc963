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

    VkImage image() const noexcept { return image_; }
    VkImageView view() const noexcept { return view_; }
    /// The whole of it, from byte `offset` of a buffer on, or to there.
    VkBufferImageCopy region(std::uint64_t offset) const noexcept {
        VkBufferImageCopy r{};
        r.bufferOffset = offset;
        r.imageSubresource.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT;
        r.imageSubresource.layerCount = 1;
        r.imageExtent = VkExtent3D{width_, height_, 1};
        return r;
    }
    static VkImageSubresourceRange whole() noexcept {
        VkImageSubresourceRange r{};
        r.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT;
        r.levelCount = r.layerCount = 1;
        return r;
    }

private:
    void open(VkFormat format, const std::string& who) {
        const device& d = *device_;
        structure<VkImageCreateInfo> info;
        info.imageType = VK_IMAGE_TYPE_2D;
        info.format = format;
        info.extent = VkExtent3D{width_, height_, 1};
        info.mipLevels = info.arrayLayers = 1;
        info.samples = VK_SAMPLE_COUNT_1_BIT;
        info.usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                     VK_IMAGE_USAGE_TRANSFER_DST_BIT;
        d.check(d.table().vkCreateImage(d.handle(), &info, nullptr, &image_), "vkCreateImage", who);
        VkMemoryRequirements needs{};
        d.table().vkGetImageMemoryRequirements(d.handle(), image_, &needs);
        memory_ = allocate_for(d, needs.size, needs.memoryTypeBits, who);
        d.check(d.table().vkBindImageMemory(d.handle(), image_, memory_, 0), "vkBindImageMemory",
                who);
        structure<VkImageViewCreateInfo> seen;
        seen.image = image_;
        seen.viewType = VK_IMAGE_VIEW_TYPE_2D;
        seen.format = info.format;
        seen.subresourceRange = whole();
        d.check(d.table().vkCreateImageView(d.handle(), &seen, nullptr, &view_),
                "vkCreateImageView", who);
    }
    void close() noexcept {
        const device& d = *device_;
        d.table().vkDestroyImageView(d.handle(), view_, nullptr);
        d.table().vkDestroyImage(d.handle(), image_, nullptr);
        d.table().vkFreeMemory(d.handle(), memory_, nullptr);
    }

    std::shared_ptr<const device> device_;
    std::uint32_t width_, height_;
    VkImage image_{};
    VkDeviceMemory memory_{};
    VkImageView view_{};
};

}}}}  // namespace pumice::PUMICE_ABI::vulkan::detail
