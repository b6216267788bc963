// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Compute pipelines from SPIR-V, and the driver's cache of them on disk.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/vk/cache_file.hpp>
#include <pumice/vk/check_spirv.hpp>
#include <pumice/vk/detail/tensor_set.hpp>
#include <pumice/vk/device.hpp>

#include <span>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

inline VkDescriptorType type_of(shader_descriptor d) noexcept {
    constexpr VkDescriptorType types[] = {
        VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
        VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
        VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER,
        VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
        VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
        static_cast<VkDescriptorType>(1000460000)};  // VK_DESCRIPTOR_TYPE_TENSOR_ARM
    return types[static_cast<int>(d)];
}

/// Destroys its VkPipeline: hold it until the last submit that uses it is done.
class pipeline {
public:
    pipeline(std::shared_ptr<const device> owner, VkPipeline handle, VkPipelineLayout layout,
             VkDescriptorSetLayout set = {}, bool graph = false) noexcept
        : device_(std::move(owner)), handle_(handle), layout_(layout), set_(set), graph_(graph) {}
    pipeline(const pipeline&) = delete;
    pipeline& operator=(const pipeline&) = delete;
    ~pipeline() {
        device_->table().vkDestroyPipeline(device_->handle(), handle_, nullptr);
        if (!set_) return;
        device_->table().vkDestroyPipelineLayout(device_->handle(), layout_, nullptr);
        device_->table().vkDestroyDescriptorSetLayout(device_->handle(), set_, nullptr);
    }

    VkPipeline handle() const noexcept { return handle_; }
    VkPipelineLayout layout() const noexcept { return layout_; }
    /// Of one that is given descriptors.
    VkDescriptorSetLayout set() const noexcept { return set_; }
    bool is_graph() const noexcept { return graph_; }
    VkPipelineBindPoint binds_to() const noexcept {
        constexpr auto graphs = static_cast<VkPipelineBindPoint>(1000507000);
        return graph_ ? graphs : VK_PIPELINE_BIND_POINT_COMPUTE;  // .._DATA_GRAPH_ARM
    }

private:
    std::shared_ptr<const device> device_;
    VkPipeline handle_{};
    VkPipelineLayout layout_{};
    VkDescriptorSetLayout set_{};  // of one whose layout is its own
    bool graph_ = false;
};

/// A constant that a data graph asks for by its id.
struct graph_constant {
    std::uint32_t id = 0;
    tensor_type type;
    const void* data = nullptr;
};

/// Makes pipelines; all share one layout: no descriptors, `push_bytes` of push constants. Those
/// that are given descriptors have one of their own. Any thread may create, several at once.
/// Pipelines need it for recording (the layout), so it outlives recording with them.
class pipeline_factory {
public:
    static constexpr std::uint32_t push_bytes = detail::spirv_check::push_bytes;

    /// `folder` is where the driver's cache lives; empty: it is not kept. A file that is damaged,
    /// foreign or unreadable is as good as none.
    explicit pipeline_factory(std::shared_ptr<const device> owner,
                              std::filesystem::path folder = {})
        : device_(std::move(owner)), identity_(identity_of(device_->info())) {
        if (!folder.empty())
            path_ = std::move(folder) / ("pipelines-" + name_of(identity_) + ".bin");
        try {
            open_layout();
            open_cache();
        } catch (...) {
            close();
            throw;
        }
    }
    pipeline_factory(const pipeline_factory&) = delete;
    pipeline_factory& operator=(const pipeline_factory&) = delete;
    ~pipeline_factory() {
        save();
        close();
    }

    /// `name` stands in errors and debuggers. Throws what check_spirv throws, errc::unsupported for
    /// a subgroup size that the device does not have, or what the driver reports.
    std::shared_ptr<const pipeline> create(std::span<const std::uint32_t> spirv,
                                           const std::string& name,
                                           const pipeline_options& options = {}) {
        check_options(name, options);
        check_spirv(spirv, name, device_->made_from(), options);
        const device& d = *device_;
        structure<VkShaderModuleCreateInfo> code;
        code.codeSize = spirv.size_bytes();
        code.pCode = spirv.data();
        module_guard shader{d, {}};
        layout_guard own{d};
        if (!options.descriptors.empty()) own.open(options, name);
        d.check(d.table().vkCreateShaderModule(d.handle(), &code, nullptr, &shader.handle),
                "vkCreateShaderModule", "kernel " + name);

        array_list<VkSpecializationMapEntry> entries(options.constants.size());
        for (std::size_t i = 0; i < entries.size(); ++i) {
            entries[i].constantID = options.constants[i].id;
            entries[i].offset =
                static_cast<std::uint32_t>(i * sizeof(constant) + offsetof(constant, value));
            entries[i].size = sizeof(std::uint32_t);
        }
        VkSpecializationInfo special{};
        special.mapEntryCount = static_cast<std::uint32_t>(entries.size());
        special.pMapEntries = entries.data();
        special.dataSize = options.constants.size_bytes();
        special.pData = options.constants.data();

        structure<VkPipelineShaderStageRequiredSubgroupSizeCreateInfo> subgroup;
        subgroup.requiredSubgroupSize = static_cast<std::uint32_t>(options.subgroup_size);
        VkPipelineCreationFeedback feedback{};
        structure<VkPipelineCreationFeedbackCreateInfo> feedbacks;
        feedbacks.pPipelineCreationFeedback = &feedback;
        structure<VkComputePipelineCreateInfo> info;
        info.pNext = &feedbacks;
        info.stage = structure<VkPipelineShaderStageCreateInfo>();
        info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
        info.stage.module = shader.handle;
        info.stage.pName = options.entry;
        if (!entries.empty()) info.stage.pSpecializationInfo = &special;
        if (options.subgroup_size > 0) info.stage.pNext = &subgroup;
        if (options.full_subgroups)
            info.stage.flags = VkPipelineShaderStageCreateFlags(
                VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT);
        info.layout = own.set ? own.layout : layout_;
        VkPipeline made{};
        d.stats().pipelines += 1;
        const VkResult result =
            d.table().vkCreateComputePipelines(d.handle(), cache_, 1, &info, nullptr, &made);
        // Text is made for an error alone: without memory for it what was made would be lost.
        if (result != VK_SUCCESS) d.check(result, "vkCreateComputePipelines", "kernel " + name);
        const auto flags = static_cast<VkPipelineCreationFeedbackFlags>(feedback.flags);
        if (flags & VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT)
            d.stats().pipeline_cache_hits += 1;
        else changed_.store(true, std::memory_order_relaxed);
        d.name(VK_OBJECT_TYPE_PIPELINE, reinterpret_cast<std::uint64_t>(made), name.c_str());
        return wrap(made, own);
    }

    /// A pipeline that runs a data graph over `options.tensors`, which was checked by whoever read
    /// it. Pre: the device has data graphs. Throws what the driver reports.
    std::shared_ptr<const pipeline> create_graph(std::span<const std::uint32_t> spirv,
                                                 const std::string& name,
                                                 const pipeline_options& options,
                                                 std::span<const graph_constant> constants);

    VkPipelineLayout layout() const noexcept { return layout_; }
    const std::filesystem::path& path() const noexcept { return path_; }

    /// Writes the driver's cache if it has grown, joined with what other processes wrote meanwhile.
    /// The destructor does it too. Trouble with the file is a line in the log and nothing else.
    void save() noexcept {
        if (path_.empty() || device_->lost() || !changed_.exchange(false)) return;
        try {
            const bytes before = read_file();
            if (!before.empty() && detail::xxh3(before.data(), before.size()) != seen_)
                merge(before);
            bytes blob;
            if (!cache_data(blob) || blob == before) return;
            std::string why;
            if (!write_cache_file(path_, identity_, blob, why))
                write_log(severity::warning, "pipeline cache " + path_.string() + ": " + why);
        } catch (...) {  // no memory for it: the file stays as it was
        }
    }

private:
    struct module_guard {
        const device& d;
        VkShaderModule handle;
        ~module_guard() { d.table().vkDestroyShaderModule(d.handle(), handle, nullptr); }
    };

    /// The layout of a pipeline that is given descriptors.
    struct layout_guard {
        const device& d;
        VkDescriptorSetLayout set{};
        VkPipelineLayout layout{};

        void open(const pipeline_options& options, const std::string& name, bool graph = false) {
            bool pushed = !graph;
            const auto count = static_cast<std::uint32_t>(options.descriptors.size());
            array_list<VkDescriptorSetLayoutBinding> bindings(count);
            for (std::uint32_t i = 0; i < count; ++i) {
                bindings[i].binding = i;
                bindings[i].descriptorType = type_of(options.descriptors[i]);
                bindings[i].descriptorCount = 1;
                bindings[i].stageFlags = graph ? VK_SHADER_STAGE_ALL : VK_SHADER_STAGE_COMPUTE_BIT;
                pushed = pushed && options.descriptors[i] != shader_descriptor::tensor;
            }
            structure<VkDescriptorSetLayoutCreateInfo> of;
            if (pushed) of.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
            of.bindingCount = count;
            of.pBindings = bindings.data();
            d.check(d.table().vkCreateDescriptorSetLayout(d.handle(), &of, nullptr, &set),
                    "vkCreateDescriptorSetLayout", "kernel " + name);
            VkPushConstantRange range{};
            range.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
            range.size = options.pushed;
            structure<VkPipelineLayoutCreateInfo> info;
            info.setLayoutCount = 1;
            info.pSetLayouts = &set;
            info.pushConstantRangeCount = options.pushed > 0;
            info.pPushConstantRanges = &range;
            d.check(d.table().vkCreatePipelineLayout(d.handle(), &info, nullptr, &layout),
                    "vkCreatePipelineLayout", "kernel " + name);
        }
        ~layout_guard() {
            d.table().vkDestroyPipelineLayout(d.handle(), layout, nullptr);
            d.table().vkDestroyDescriptorSetLayout(d.handle(), set, nullptr);
        }
    };

    static cache_identity identity_of(const device_info& info) noexcept {
        cache_identity id{};
        std::memcpy(id.data(), info.driver_uuid.data(), 16);
        std::memcpy(id.data() + 16, info.device_uuid.data(), 16);
        const std::uint32_t rest[] = {info.driver_version, info.vendor_id, info.device_id,
                                      info.api_version};
        std::memcpy(id.data() + 32, rest, sizeof rest);
        return id;
    }

    static std::string name_of(const cache_identity& identity) {
        const std::uint64_t hash = detail::xxh3(identity.data(), identity.size());
        std::string text;
        for (int shift = 60; shift >= 0; shift -= 4)
            text.push_back("0123456789abcdef"[(hash >> shift) & 15]);
        return text;
    }

    void check_options(const std::string& name, const pipeline_options& options) const {
        const device_info& info = device_->info();
        if (options.subgroup_size == 0 && !options.full_subgroups) return;
        const int size = options.subgroup_size;
        if (!info.subgroup_size_control)
            throw error(errc::unsupported, "vulkan",
                        cat({"kernel ", name, " wants to control its subgroups"}),
                        {info.name + " has no subgroupSizeControl with computeFullSubgroups"});
        if (size != 0 && (size < info.min_subgroup_size || size > info.max_subgroup_size ||
                          (size & (size - 1)) != 0))
            throw error(errc::unsupported, "vulkan",
                        cat({"kernel ", name, " wants subgroups of ", size}),
                        {info.name + " has " + std::to_string(info.min_subgroup_size) + " to " +
                         std::to_string(info.max_subgroup_size)});
    }

    void open_layout() {
        VkPushConstantRange range{};
        range.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
        range.size = push_bytes;
        structure<VkPipelineLayoutCreateInfo> info;
        info.pushConstantRangeCount = 1;
        info.pPushConstantRanges = &range;
        device_->check(device_->table().vkCreatePipelineLayout(device_->handle(), &info, nullptr,
                                                               &layout_),
                       "vkCreatePipelineLayout");
    }

    bytes read_file() const {
        std::string why;
        bytes blob = path_.empty() ? bytes{} : read_cache_file(path_, identity_, why);
        if (!why.empty())
            write_log(severity::info, "pipeline cache " + path_.string() + " is not used: " + why);
        return blob;
    }

    VkResult create_cache(const bytes& blob, VkPipelineCache& made) const {
        structure<VkPipelineCacheCreateInfo> info;
        info.initialDataSize = blob.size();
        info.pInitialData = blob.data();
        return device_->table().vkCreatePipelineCache(device_->handle(), &info, nullptr, &made);
    }

    void open_cache() {
        bytes blob = read_file();
        seen_ = detail::xxh3(blob.data(), blob.size());
        VkResult result = create_cache(blob, cache_);
        if (result != VK_SUCCESS && !blob.empty()) result = create_cache({}, cache_);
        device_->check(result, "vkCreatePipelineCache");
    }

    void merge(const bytes& blob) const {
        VkPipelineCache other{};
        if (create_cache(blob, other) != VK_SUCCESS) return;
        device_->note(device_->table().vkMergePipelineCaches(device_->handle(), cache_, 1, &other));
        device_->table().vkDestroyPipelineCache(device_->handle(), other, nullptr);
    }

    bool cache_data(bytes& blob) {
        std::size_t size = 0;
        if (device_->table().vkGetPipelineCacheData(device_->handle(), cache_, &size, nullptr) !=
            VK_SUCCESS)
            return false;
        blob.resize(size);
        // VK_INCOMPLETE: another thread made a pipeline in between. What was written is a valid
        // cache.
        if (static_cast<int>(device_->table().vkGetPipelineCacheData(device_->handle(), cache_,
                                                                     &size, blob.data())) < 0)
            return false;
        blob.resize(size);
        seen_ = detail::xxh3(blob.data(), blob.size());
        return true;
    }

    /// Takes over what is in `own`.
    std::shared_ptr<const pipeline> wrap(VkPipeline made, layout_guard& own,
                                         bool graph = false) const {
        try {
            auto p = std::make_shared<const pipeline>(device_, made, own.set ? own.layout : layout_,
                                                      own.set, graph);
            own.set = VkDescriptorSetLayout{};
            own.layout = VkPipelineLayout{};
            return p;
        } catch (...) {
            device_->table().vkDestroyPipeline(device_->handle(), made, nullptr);
            throw;
        }
    }

    void close() noexcept {
        device_->table().vkDestroyPipelineCache(device_->handle(), cache_, nullptr);
        device_->table().vkDestroyPipelineLayout(device_->handle(), layout_, nullptr);
    }

    std::shared_ptr<const device> device_;
    cache_identity identity_;
    std::filesystem::path path_;
    VkPipelineLayout layout_{};
    VkPipelineCache cache_{};
    std::uint64_t seen_ = 0;  // hash of the file's blob as we know it
    std::atomic<bool> changed_{false};
};

inline std::shared_ptr<const pipeline> pipeline_factory::create_graph(
    std::span<const std::uint32_t> spirv, const std::string& name, const pipeline_options& options,
    std::span<const graph_constant> constants) {
    const device& d = *device_;
    layout_guard own{d};
    own.open(options, name, true);
    VkPipeline handle = VK_NULL_HANDLE;
#ifdef VK_ARM_data_graph
    const std::string who = "data graph " + name;
    structure<VkShaderModuleCreateInfo> code;
    code.codeSize = spirv.size_bytes();
    code.pCode = spirv.data();
    module_guard module{d, {}};
    d.check(d.table().vkCreateShaderModule(d.handle(), &code, nullptr, &module.handle),
            "vkCreateShaderModule", who);
    const auto described = [](const tensor_type& t) { return detail::describe_tensor(t, true); };
    array_list<VkTensorDescriptionARM> types;
    for (const tensor_type& t : options.tensors) types.push_back(described(t));
    for (const graph_constant& c : constants) {
        types.push_back(described(c.type));
        types.back().usage = VK_TENSOR_USAGE_DATA_GRAPH_BIT_ARM;
    }
    array_list<VkDataGraphPipelineResourceInfoARM> resources(options.tensors.size());
    for (std::size_t i = 0; i < resources.size(); ++i) {
        resources[i] = {};
        resources[i].sType = VK_STRUCTURE_TYPE_DATA_GRAPH_PIPELINE_RESOURCE_INFO_ARM;
        resources[i].pNext = &types[i];
        resources[i].binding = static_cast<std::uint32_t>(i);
    }
    array_list<VkDataGraphPipelineConstantARM> values(constants.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = {};
        values[i].sType = VK_STRUCTURE_TYPE_DATA_GRAPH_PIPELINE_CONSTANT_ARM;
        values[i].pNext = &types[resources.size() + i];
        values[i].id = constants[i].id;
        values[i].pConstantData = constants[i].data;
    }
    VkDataGraphPipelineShaderModuleCreateInfoARM graph{};
    graph.sType = VK_STRUCTURE_TYPE_DATA_GRAPH_PIPELINE_SHADER_MODULE_CREATE_INFO_ARM;
    graph.module = module.handle;
    graph.pName = options.entry;
    graph.constantCount = static_cast<std::uint32_t>(values.size());
    graph.pConstants = values.data();
    VkDataGraphPipelineCreateInfoARM info{};
    info.sType = VK_STRUCTURE_TYPE_DATA_GRAPH_PIPELINE_CREATE_INFO_ARM;
    info.pNext = &graph;
    info.layout = own.layout;
    info.resourceInfoCount = static_cast<std::uint32_t>(resources.size());
    info.pResourceInfos = resources.data();
    d.stats().pipelines += 1;
    d.check(d.table().vkCreateDataGraphPipelinesARM(d.handle(), VK_NULL_HANDLE, VK_NULL_HANDLE, 1,
                                                    &info, nullptr, &handle),
            "vkCreateDataGraphPipelinesARM", who);
    // Without a name: Arm's emulation layer hands that on to a driver that has no such pipeline.
#else
    static_cast<void>(spirv), static_cast<void>(constants);
    fail(errc::unsupported, "vulkan", {"the Vulkan headers have no data graphs"});
#endif
    return wrap(handle, own, true);
}

}}}  // namespace pumice::PUMICE_ABI::vulkan
