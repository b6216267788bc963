// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Compute pipelines from SPIR-V, and the driver's cache of them on disk.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/span.hpp>
#include <pumice/vk/cache_file.hpp>
#include <pumice/vk/check_spirv.hpp>
#include <pumice/vk/detail/tensor_set.hpp>
#include <pumice/vk/device.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

inline vk::DescriptorType type_of(shader_descriptor d) noexcept {
    constexpr vk::DescriptorType types[] = {
        vk::DescriptorType::eStorageBuffer,
        vk::DescriptorType::eUniformBuffer,
        vk::DescriptorType::eStorageTexelBuffer,
        vk::DescriptorType::eUniformTexelBuffer,
        vk::DescriptorType::eStorageImage,
        static_cast<vk::DescriptorType>(1000460000)};  // eTensorARM
    return types[static_cast<int>(d)];
}

/// Destroys its VkPipeline: hold it until the last submit that uses it is done.
class pipeline {
public:
    pipeline(std::shared_ptr<const device> owner, vk::Pipeline handle, vk::PipelineLayout layout,
             vk::DescriptorSetLayout set = {}, bool graph = false) noexcept
        : device_(std::move(owner)), handle_(handle), layout_(layout), set_(set), graph_(graph) {}
    pipeline(const pipeline&) = delete;
    pipeline& operator=(const pipeline&) = delete;
    ~pipeline() {
        device_->handle().destroyPipeline(handle_, nullptr, device_->table());
        if (!set_) return;
        device_->handle().destroyPipelineLayout(layout_, nullptr, device_->table());
        device_->handle().destroyDescriptorSetLayout(set_, nullptr, device_->table());
    }

    vk::Pipeline handle() const noexcept { return handle_; }
    vk::PipelineLayout layout() const noexcept { return layout_; }
    /// Of one that is given descriptors.
    vk::DescriptorSetLayout set() const noexcept { return set_; }
    bool is_graph() const noexcept { return graph_; }
    vk::PipelineBindPoint binds_to() const noexcept {
        constexpr auto graphs = static_cast<vk::PipelineBindPoint>(1000507000);
        return graph_ ? graphs : vk::PipelineBindPoint::eCompute;  // eDataGraphARM
    }

private:
    std::shared_ptr<const device> device_;
    vk::Pipeline handle_{};
    vk::PipelineLayout layout_{};
    vk::DescriptorSetLayout set_{};  // of one whose layout is its own
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
    std::shared_ptr<const pipeline> create(span<const std::uint32_t> spirv, const std::string& name,
                                           const pipeline_options& options = {}) {
        check_options(name, options);
        check_spirv(spirv, name, device_->made_from(), options);
        if (options.validate) options.validate(spirv);
        const device& d = *device_;
        vk::ShaderModuleCreateInfo code{};
        code.codeSize = spirv.size_bytes();
        code.pCode = spirv.data();
        module_guard shader{d, {}};
        layout_guard own{d};
        if (!options.descriptors.empty()) own.open(options, name);
        d.check(d.handle().createShaderModule(&code, nullptr, &shader.handle, d.table()),
                "vkCreateShaderModule", "kernel " + name);

        array_list<vk::SpecializationMapEntry> entries(options.constants.size());
        for (std::size_t i = 0; i < entries.size(); ++i) {
            entries[i].constantID = options.constants[i].id;
            entries[i].offset =
                static_cast<std::uint32_t>(i * sizeof(constant) + offsetof(constant, value));
            entries[i].size = sizeof(std::uint32_t);
        }
        vk::SpecializationInfo special{};
        special.mapEntryCount = static_cast<std::uint32_t>(entries.size());
        special.pMapEntries = entries.data();
        special.dataSize = options.constants.size_bytes();
        special.pData = options.constants.data();

        vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup{};
        subgroup.requiredSubgroupSize = static_cast<std::uint32_t>(options.subgroup_size);
        vk::PipelineCreationFeedback feedback{};
        vk::PipelineCreationFeedbackCreateInfo feedbacks{};
        feedbacks.pPipelineCreationFeedback = &feedback;
        vk::ComputePipelineCreateInfo info{};
        info.pNext = &feedbacks;
        info.stage.stage = vk::ShaderStageFlagBits::eCompute;
        info.stage.module = shader.handle;
        info.stage.pName = options.entry;
        if (!entries.empty()) info.stage.pSpecializationInfo = &special;
        if (options.subgroup_size > 0) info.stage.pNext = &subgroup;
        if (options.full_subgroups)
            info.stage.flags = vk::PipelineShaderStageCreateFlags(
                VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT);
        info.layout = own.set ? own.layout : layout_;
        vk::Pipeline made{};
        d.stats().pipelines += 1;
        const vk::Result result =
            d.handle().createComputePipelines(cache_, 1, &info, nullptr, &made, d.table());
        // Text is made for an error alone: without memory for it what was made would be lost.
        if (result != vk::Result::eSuccess)
            d.check(result, "vkCreateComputePipelines", "kernel " + name);
        const auto flags = static_cast<VkPipelineCreationFeedbackFlags>(feedback.flags);
        if (flags & VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT)
            d.stats().pipeline_cache_hits += 1;
        else changed_.store(true, std::memory_order_relaxed);
        d.name(VK_OBJECT_TYPE_PIPELINE,
               reinterpret_cast<std::uint64_t>(static_cast<VkPipeline>(made)), name.c_str());
        return wrap(made, own);
    }

    /// A pipeline that runs a data graph over `options.tensors`, which was checked by whoever read
    /// it. Pre: the device has data graphs. Throws what the driver reports.
    std::shared_ptr<const pipeline> create_graph(span<const std::uint32_t> spirv,
                                                 const std::string& name,
                                                 const pipeline_options& options,
                                                 span<const graph_constant> constants);

    vk::PipelineLayout layout() const noexcept { return layout_; }
    const std::filesystem::path& path() const noexcept { return path_; }

    /// Writes the driver's cache if it has grown, joined with what other processes wrote meanwhile.
    /// The destructor does it too. Trouble with the file is a line in the log and nothing else.
    void save() noexcept {
        if (path_.empty() || device_->lost() || !changed_.exchange(false)) return;
        try {
            const cache_blob before = read_file();
            if (!before.empty() && detail::xxh3(before.data(), before.size()) != seen_)
                merge(before);
            cache_blob blob;
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
        vk::ShaderModule handle;
        ~module_guard() { d.handle().destroyShaderModule(handle, nullptr, d.table()); }
    };

    /// The layout of a pipeline that is given descriptors.
    struct layout_guard {
        const device& d;
        vk::DescriptorSetLayout set{};
        vk::PipelineLayout layout{};

        void open(const pipeline_options& options, const std::string& name, bool graph = false) {
            bool pushed = !graph;
            const auto count = static_cast<std::uint32_t>(options.descriptors.size());
            array_list<vk::DescriptorSetLayoutBinding> bindings(count);
            for (std::uint32_t i = 0; i < count; ++i) {
                bindings[i].binding = i;
                bindings[i].descriptorType = type_of(options.descriptors[i]);
                bindings[i].descriptorCount = 1;
                bindings[i].stageFlags =
                    vk::ShaderStageFlags(graph ? vk::ShaderStageFlagBits::eAll
                                               : vk::ShaderStageFlagBits::eCompute);
                pushed = pushed && options.descriptors[i] != shader_descriptor::tensor;
            }
            vk::DescriptorSetLayoutCreateInfo of{};
            if (pushed)
                of.flags = vk::DescriptorSetLayoutCreateFlags(
                    VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR);
            of.bindingCount = count;
            of.pBindings = bindings.data();
            d.check(d.handle().createDescriptorSetLayout(&of, nullptr, &set, d.table()),
                    "vkCreateDescriptorSetLayout", "kernel " + name);
            vk::PushConstantRange range{};
            range.stageFlags = vk::ShaderStageFlags(vk::ShaderStageFlagBits::eCompute);
            range.size = options.pushed;
            vk::PipelineLayoutCreateInfo info{};
            info.setLayoutCount = 1;
            info.pSetLayouts = &set;
            info.pushConstantRangeCount = options.pushed > 0;
            info.pPushConstantRanges = &range;
            d.check(d.handle().createPipelineLayout(&info, nullptr, &layout, d.table()),
                    "vkCreatePipelineLayout", "kernel " + name);
        }
        ~layout_guard() {
            d.handle().destroyPipelineLayout(layout, nullptr, d.table());
            d.handle().destroyDescriptorSetLayout(set, nullptr, d.table());
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
        vk::PushConstantRange range{};
        range.stageFlags = vk::ShaderStageFlags(vk::ShaderStageFlagBits::eCompute);
        range.size = push_bytes;
        vk::PipelineLayoutCreateInfo info{};
        info.pushConstantRangeCount = 1;
        info.pPushConstantRanges = &range;
        device_->check(device_->handle().createPipelineLayout(&info, nullptr, &layout_,
                                                              device_->table()),
                       "vkCreatePipelineLayout");
    }

    cache_blob read_file() const {
        std::string why;
        cache_blob blob = path_.empty() ? cache_blob{} : read_cache_file(path_, identity_, why);
        if (!why.empty())
            write_log(severity::info, "pipeline cache " + path_.string() + " is not used: " + why);
        return blob;
    }

    vk::Result create_cache(const cache_blob& blob, vk::PipelineCache& made) const {
        vk::PipelineCacheCreateInfo info{};
        info.initialDataSize = blob.size();
        info.pInitialData = blob.data();
        return device_->handle().createPipelineCache(&info, nullptr, &made, device_->table());
    }

    void open_cache() {
        cache_blob blob = read_file();
        seen_ = detail::xxh3(blob.data(), blob.size());
        vk::Result result = create_cache(blob, cache_);
        if (result != vk::Result::eSuccess && !blob.empty()) result = create_cache({}, cache_);
        device_->check(result, "vkCreatePipelineCache");
    }

    void merge(const cache_blob& blob) const {
        vk::PipelineCache other{};
        if (create_cache(blob, other) != vk::Result::eSuccess) return;
        device_->note(device_->handle().mergePipelineCaches(cache_, 1, &other, device_->table()));
        device_->handle().destroyPipelineCache(other, nullptr, device_->table());
    }

    bool cache_data(cache_blob& blob) {
        std::size_t size = 0;
        if (device_->handle().getPipelineCacheData(cache_, &size, nullptr, device_->table()) !=
            vk::Result::eSuccess)
            return false;
        blob.resize(size);
        // VK_INCOMPLETE: another thread made a pipeline in between. What was written is a valid
        // cache.
        if (static_cast<int>(device_->handle().getPipelineCacheData(cache_, &size, blob.data(),
                                                                    device_->table())) < 0)
            return false;
        blob.resize(size);
        seen_ = detail::xxh3(blob.data(), blob.size());
        return true;
    }

    /// Takes over what is in `own`.
    std::shared_ptr<const pipeline> wrap(vk::Pipeline made, layout_guard& own,
                                         bool graph = false) const {
        try {
            auto p = std::make_shared<const pipeline>(device_, made, own.set ? own.layout : layout_,
                                                      own.set, graph);
            own.set = vk::DescriptorSetLayout{};
            own.layout = vk::PipelineLayout{};
            return p;
        } catch (...) {
            device_->handle().destroyPipeline(made, nullptr, device_->table());
            throw;
        }
    }

    void close() noexcept {
        device_->handle().destroyPipelineCache(cache_, nullptr, device_->table());
        device_->handle().destroyPipelineLayout(layout_, nullptr, device_->table());
    }

    std::shared_ptr<const device> device_;
    cache_identity identity_;
    std::filesystem::path path_;
    vk::PipelineLayout layout_{};
    vk::PipelineCache cache_{};
    std::uint64_t seen_ = 0;  // hash of the file's blob as we know it
    std::atomic<bool> changed_{false};
};

inline std::shared_ptr<const pipeline> pipeline_factory::create_graph(
    span<const std::uint32_t> spirv, const std::string& name, const pipeline_options& options,
    span<const graph_constant> constants) {
    const device& d = *device_;
    layout_guard own{d};
    own.open(options, name, true);
    vk::Pipeline handle{};
#ifdef VK_ARM_data_graph
    const std::string who = "data graph " + name;
    if (options.validate) options.validate(spirv);
    vk::ShaderModuleCreateInfo code{};
    code.codeSize = spirv.size_bytes();
    code.pCode = spirv.data();
    module_guard module{d, {}};
    d.check(d.handle().createShaderModule(&code, nullptr, &module.handle, d.table()),
            "vkCreateShaderModule", who);
    array_list<vk::TensorDescriptionARM> types;
    for (const tensor_type& t : options.tensors) types.push_back(detail::describe_tensor(t, true));
    for (const graph_constant& c : constants)
        types.push_back(detail::describe_tensor(c.type, true));
    array_list<vk::DataGraphPipelineResourceInfoARM> resources(options.tensors.size());
    for (std::size_t i = 0; i < resources.size(); ++i) {
        resources[i].pNext = &types[i];
        resources[i].binding = static_cast<std::uint32_t>(i);
    }
    array_list<vk::DataGraphPipelineConstantARM> values(constants.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i].pNext = &types[resources.size() + i];
        values[i].id = constants[i].id;
        values[i].pConstantData = constants[i].data;
    }
    vk::DataGraphPipelineShaderModuleCreateInfoARM graph{};
    graph.module = module.handle;
    graph.pName = options.entry;
    graph.constantCount = static_cast<std::uint32_t>(values.size());
    graph.pConstants = values.data();
    vk::DataGraphPipelineCreateInfoARM info{};
    info.pNext = &graph;
    info.layout = own.layout;
    info.resourceInfoCount = static_cast<std::uint32_t>(resources.size());
    info.pResourceInfos = resources.data();
    d.stats().pipelines += 1;
    d.check(d.handle().createDataGraphPipelinesARM(vk::DeferredOperationKHR(), vk::PipelineCache(),
                                                   1, &info, nullptr, &handle, d.table()),
            "vkCreateDataGraphPipelinesARM", who);
    // Without a name: Arm's emulation layer hands that on to a driver that has no such pipeline.
#else
    static_cast<void>(spirv), static_cast<void>(constants);
    fail(errc::unsupported, "vulkan", {"the Vulkan headers have no data graphs"});
#endif
    return wrap(handle, own, true);
}

}}}  // namespace pumice::PUMICE_ABI::vulkan
