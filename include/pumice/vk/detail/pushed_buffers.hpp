// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a dispatch of a shader operator or a data graph is given: descriptors and push constants.
#pragma once

#include <pumice/base/unique_ptr.hpp>
#include <pumice/vk/detail/shader_image.hpp>
#include <pumice/vk/detail/tensor_set.hpp>
#include <pumice/vk/memory.hpp>
#include <pumice/vk/pipeline.hpp>

#include <algorithm>
#include <array>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

class commands;

/// What a dispatch is given, by its binding, and its push constants.
class pushed_buffers {
public:
    using range = pushed_range;
    static constexpr std::size_t most = 32;  // that every device with the extension takes
    array_list<range> list;
    array_list<std::byte> numbers;
    bool has_constants = false;  // a dispatch reads some of it as scope::constants does
    /// Records the dispatch that works on it; `dispatch_pushed`, by name, so that who makes none of
    /// these compiles nothing of it.
    void (*dispatch)(commands& buffer, std::shared_ptr<const pushed_buffers> own,
                     std::array<std::uint32_t, 3> grid) = nullptr;

    pushed_buffers() = default;
    pushed_buffers(const pushed_buffers&) = delete;
    ~pushed_buffers() {
        for (const vk::BufferView view : views_)
            device_->handle().destroyBufferView(view, nullptr, device_->table());
    }

    /// Makes the views of texel buffers, images, and tensors with a set for the pipeline. `name`
    /// stands in errors and debuggers.
    void open(const std::shared_ptr<const device>& owner, const std::string& name,
              const pipeline& with) {
        device_ = owner;
        name_ = name;
        bool tensors = false;
        for (const range& r : list) {
            vk::BufferView& view = views_.emplace_back();
            unique_ptr<detail::shader_image>& image = images_.emplace_back();
            tensors |= r.as == shader_descriptor::tensor;
            if (r.as == shader_descriptor::storage_image)
                image =
                    make_owned<detail::shader_image>(device_, r.format, r.width, r.height, name_);
            if (!has_texels(r.as) || image) continue;
            vk::BufferViewCreateInfo info{};
            info.buffer = vk::Buffer(r.buffer);
            info.format = static_cast<vk::Format>(r.format);
            info.offset = r.offset;
            info.range = r.size;
            device_->check(device_->handle().createBufferView(&info, nullptr, &view,
                                                              device_->table()),
                           "vkCreateBufferView", cat({"kernel ", name}));
        }
        if (!tensors) return;
        set_ = make_owned<detail::tensor_set>(device_, cat({"kernel ", name}));
        writes all(*this);
        set_->open({list.data(), list.size()}, with.set(),
                   with.is_graph() ? with.handle() : vk::Pipeline{},
                   {all.list.data(), list.size()});
    }
    /// What its descriptors are, but for tensors.
    struct writes {
        explicit writes(const pushed_buffers& of) {
            for (std::uint32_t i = 0; i < of.list.size(); ++i) {
                buffers[i].buffer = vk::Buffer(of.list[i].buffer);
                buffers[i].offset = of.list[i].offset;
                buffers[i].range = of.list[i].size;
                list[i].dstBinding = i;
                list[i].descriptorCount = 1;
                list[i].descriptorType = type_of(of.list[i].as);
                list[i].pBufferInfo = &buffers[i];
                list[i].pTexelBufferView = of.view(i);
                list[i].pImageInfo = &images[i];
                images[i].imageLayout = vk::ImageLayout::eGeneral;
                if (of.image(i)) images[i].imageView = of.image(i)->view();
            }
        }
        std::array<vk::DescriptorBufferInfo, most> buffers{};
        std::array<vk::DescriptorImageInfo, most> images{};
        std::array<vk::WriteDescriptorSet, most> list{};
    };
    /// Of those that see tensors; else null. Pre: they are open.
    const detail::tensor_set* set() const noexcept { return set_.get(); }
    const std::string& name() const noexcept { return name_; }
    /// Of a range; null unless it has texels. Pre: they are open.
    const vk::BufferView* view(std::size_t i) const noexcept { return &views_[i]; }
    /// Of a range; null unless it is one. Pre: they are open.
    const detail::shader_image* image(std::size_t i) const noexcept { return images_[i].get(); }
    bool has_images() const noexcept {
        for (const auto& each : images_)
            if (each) return true;
        return false;
    }

    friend bool operator==(const pushed_buffers& a, const pushed_buffers& b) noexcept {
        return std::equal(a.list.begin(), a.list.end(), b.list.begin(), b.list.end(),
                          [](const range& x, const range& y) {
                              return x.buffer == y.buffer && x.offset == y.offset &&
                                     x.size == y.size;
                          });
    }

private:
    std::shared_ptr<const device> device_;
    std::string name_;
    array_list<vk::BufferView> views_;                     // of each range, or null
    array_list<unique_ptr<detail::shader_image>> images_;  // likewise
    unique_ptr<detail::tensor_set> set_;
};

}}}  // namespace pumice::PUMICE_ABI::vulkan
