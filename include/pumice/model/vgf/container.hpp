// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A VGF file as Arm's VGF library decodes it. All that it names is checked; constants stay in the
// file.
#pragma once

#include <pumice/base/error.hpp>
#include <pumice/model/detail/model_limits.hpp>
#include <pumice/model/detail/vk_formats.hpp>
#include <pumice/model/input_file.hpp>
#include <pumice/model/vgf/detail/contents.hpp>

#include <vgf/decoder.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf {

namespace detail {

/// Bytes of a file, or of memory.
class source {
public:
    explicit source(std::shared_ptr<const input_file> file)
        : file_(std::move(file)), size_(file_->size()) {}
    explicit source(span<const std::byte> bytes) : bytes_(bytes), size_(bytes.size()) {}

    std::uint64_t size() const noexcept { return size_; }
    /// Pre: the range is within.
    void read(std::uint64_t offset, span<std::byte> into) const {
        if (file_) return file_->read(offset, into);
        std::memcpy(into.data(), bytes_.data() + offset, into.size());
    }

private:
    std::shared_ptr<const input_file> file_;
    span<const std::byte> bytes_;
    std::uint64_t size_;
};

/// A decoder of Arm's, in memory of ours. It looks at the bytes of a section where they lie.
template <class Decoder>
struct decoder {
    std::vector<std::max_align_t> memory;
    Decoder* at = nullptr;

    template <class Make>
    decoder(std::size_t bytes, Make make)
        : memory((bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t)),
          at(make(static_cast<void*>(memory.data()))) {}
    decoder(const decoder&) = delete;
    decoder& operator=(const decoder&) = delete;
};

class reader {
public:
    reader(std::string name, const source& from, const model_limits& limits)
        : from_(from), limits_(limits) {
        made_.name = std::move(name);
    }

    contents run() {
        sections();
        read_modules();
        read_resources();
        read_constants();
        read_segments();
        return std::move(made_);
    }

private:
    [[noreturn, gnu::cold]] void refuse(errc code, std::initializer_list<piece> why) const {
        throw error(code, "vgf", cat({made_.name, ": ", cat(why)}));
    }
    [[noreturn, gnu::cold]] void broken(std::initializer_list<piece> why) const {
        refuse(errc::bad_file, why);
    }

    /// A section of the file, aligned as the decoders want it.
    struct section {
        std::unique_ptr<std::uint64_t[]> memory;
        std::uint64_t offset = 0, size = 0;
        std::byte* data() const { return reinterpret_cast<std::byte*>(memory.get()); }
    };

    void sections() {
        std::uint64_t header[32] = {};
        const std::size_t size = mlsdk_decoder_header_size();
        if (size > sizeof header || from_.size() < size) broken({"it is shorter than a header"});
        from_.read(0, {reinterpret_cast<std::byte*>(header), size});
        const decoder<mlsdk_decoder_header_decoder>
            d(mlsdk_decoder_header_decoder_mem_reqs(), [&](void* memory) {
                return mlsdk_decoder_create_header_decoder(header, size, from_.size(), memory);
            });
        if (!d.at)
            broken(
                {"its header is no VGF header of a version that Arm's library reads, or it "
                 "names parts that the file does not have"});
        const auto find = [&](mlsdk_decoder_section which, section& to) {
            mlsdk_decoder_vgf_section_info info{};
            mlsdk_decoder_get_header_section_info(d.at, which, &info);
            if (info.offset > from_.size() || info.size > from_.size() - info.offset)
                broken({"its header names parts that the file does not have"});
            to.offset = info.offset;
            to.size = info.size;
        };
        find(mlsdk_decoder_section_modules, modules_);
        find(mlsdk_decoder_section_model_sequence, sequence_);
        find(mlsdk_decoder_section_resources, resources_);
        find(mlsdk_decoder_section_constants, constants_);
    }
    void fetch(section& s, std::uint64_t bytes) const {
        if (bytes > static_cast<std::uint64_t>(limits_.structure_bytes))
            broken({"a part of it has ", bytes, " bytes, more than model_limits::structure_bytes"});
        // Of a part that is read in front only, the pages behind it are never touched.
        s.memory = std::make_unique_for_overwrite<std::uint64_t[]>(s.size / 8 + 1);
        from_.read(s.offset, {s.data(), static_cast<std::size_t>(bytes)});
    }
    void fetch(section& s) const { fetch(s, s.size); }

    std::uint32_t count(std::size_t n, const char* of) {
        items_ += static_cast<std::int64_t>(std::min<std::size_t>(n, 1u << 30));
        if (items_ > limits_.items)
            broken({"it has ", n, " ", of, ", more in all than model_limits::items"});
        return static_cast<std::uint32_t>(n);
    }
    /// A name, for messages too.
    static std::string text(const char* t) {
        std::string name = t ? std::string(t, ::strnlen(t, 256)) : std::string();
        for (char& c : name)
            if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
        return name;
    }

    void read_modules() {
        fetch(modules_);
        const decoder<mlsdk_decoder_module_table_decoder>
            d(mlsdk_decoder_module_table_decoder_mem_reqs(), [&](void* memory) {
                return mlsdk_decoder_create_module_table_decoder(modules_.data(), modules_.size,
                                                                 memory);
            });
        if (!d.at) broken({"its table of modules is damaged"});
        const std::uint32_t n = count(mlsdk_decoder_get_module_table_num_entries(d.at), "modules");
        for (std::uint32_t i = 0; i < n; ++i) {
            code_module& m = made_.modules.emplace_back();
            m.name = text(mlsdk_decoder_get_module_name(d.at, i));
            m.entry = text(mlsdk_decoder_get_module_entry_point(d.at, i));
            m.graph = mlsdk_decoder_get_module_type(d.at, i) == mlsdk_decoder_module_type_graph;
            if (mlsdk_decoder_module_is_spirv(d.at, i)) {
                if (!mlsdk_decoder_module_has_spirv_code(d.at, i)) continue;
                mlsdk_decoder_spirv_code code{};
                mlsdk_decoder_get_spirv_module_code(d.at, i, &code);
                m.words.assign(code.code, code.code + code.words);
            } else if (mlsdk_decoder_module_is_glsl(d.at, i)) {
                m.language = shader_language::glsl;
                if (mlsdk_decoder_module_has_glsl_code(d.at, i))
                    m.text = mlsdk_decoder_get_module_glsl_code(d.at, i);
            } else if (mlsdk_decoder_module_is_hlsl(d.at, i)) {
                m.language = shader_language::hlsl;
                if (mlsdk_decoder_module_has_hlsl_code(d.at, i))
                    m.text = mlsdk_decoder_get_module_hlsl_code(d.at, i);
            } else {
                broken({"module ", i, " has code of no kind that there is"});
            }
        }
        modules_.memory.reset();
    }

    void read_resources() {
        fetch(resources_);
        const decoder<mlsdk_decoder_model_resource_table_decoder>
            d(mlsdk_decoder_model_resource_table_decoder_mem_reqs(), [&](void* memory) {
                return mlsdk_decoder_create_model_resource_table_decoder(resources_.data(),
                                                                         resources_.size, memory);
            });
        if (!d.at) broken({"its table of resources is damaged"});
        const std::uint32_t n =
            count(mlsdk_decoder_get_model_resource_table_num_entries(d.at), "resources");
        for (std::uint32_t i = 0; i < n; ++i) {
            resource& r = made_.resources.emplace_back();
            r.format = static_cast<std::uint32_t>(mlsdk_decoder_get_vk_format(d.at, i));
            mlsdk_vk_descriptor_type descriptor{};
            if (mlsdk_decoder_get_vk_descriptor_type(d.at, i, &descriptor))
                r.descriptor = static_cast<std::uint32_t>(descriptor);
            r.constant = mlsdk_decoder_model_resource_table_get_category(d.at, i) ==
                         mlsdk_decoder_mrt_category_constant;
            mlsdk_alias_group_id group{};
            if (mlsdk_decoder_model_resource_table_get_alias_group_id(d.at, i, &group))
                r.alias = group;
            const auto* const format = pumice::detail::vk_format_of(r.format);
            if (!format)
                refuse(errc::unsupported, {"resource ", i, " has the VkFormat ", r.format,
                                           ", which Pumice has no element type for"});
            r.type = format->type;
            mlsdk_decoder_tensor_dimensions dims{}, steps{};
            mlsdk_decoder_model_resource_table_get_tensor_shape(d.at, i, &dims);
            mlsdk_decoder_model_resource_table_get_tensor_strides(d.at, i, &steps);
            if (dims.size > max_rank)
                refuse(errc::unsupported,
                       {"resource ", i, " has ", dims.size, " axes, Pumice has ", max_rank});
            for (std::size_t k = 0; k < dims.size; ++k) {
                const std::int64_t length = number_of(dims, k);
                if (length <= 0)
                    refuse(errc::unsupported, {"resource ", i, " has an axis of ", length,
                                               ": shapes that are not known are not taken"});
                r.shape.push_back(length);
            }
            if (!has_at_most(r.shape, limits_.elements))
                broken({"resource ", i, " has the shape ", to_string(r.shape),
                        ", more than model_limits::elements"});
            dense(i, r, *format, steps);
        }
        resources_.memory.reset();
    }
    /// Of a list that lies at any address in a damaged file.
    static std::int64_t number_of(const mlsdk_decoder_tensor_dimensions& list, std::size_t k) {
        std::int64_t n = 0;
        std::memcpy(&n, reinterpret_cast<const std::byte*>(list.data) + k * sizeof n, sizeof n);
        return n;
    }
    void dense(std::uint32_t i, const resource& r, const pumice::detail::vk_format& format,
               const mlsdk_decoder_tensor_dimensions& steps) const {
        if (steps.size == 0) return;
        const strides wanted = row_major_strides(r.shape);
        bool same = steps.size == r.shape.size();
        for (int k = 0; same && k < r.shape.rank(); ++k)
            same = number_of(steps, static_cast<std::size_t>(k)) ==
                   wanted[k] * (info(format.type).bits / 8);
        if (!same)
            refuse(errc::unsupported, {"resource ", i, " has strides; dense tensors are taken"});
    }

    void read_constants() {
        if (constants_.size == 0) return;
        // The front of the section says where its constants lie; the rest is left in the file. Of
        // an older version, that is not known, and all is read.
        constexpr std::uint64_t front = 16, record = 24;
        std::uint64_t start[2] = {}, wanted = constants_.size;
        if (constants_.size >= front) {
            from_.read(constants_.offset, {reinterpret_cast<std::byte*>(start), front});
            if (std::memcmp(start, "CONST", 5) == 0)
                wanted = start[1] > constants_.size / record
                             ? front
                             : std::min(constants_.size, front + start[1] * record);
        }
        fetch(constants_, wanted);
        const decoder<mlsdk_decoder_constant_table_decoder>
            d(mlsdk_decoder_constant_table_decoder_mem_reqs(), [&](void* memory) {
                return mlsdk_decoder_create_constant_table_decoder(constants_.data(),
                                                                   constants_.size, memory);
            });
        if (!d.at) broken({"its table of constants is damaged"});
        const std::uint32_t n =
            count(mlsdk_decoder_get_constant_table_num_entries(d.at), "constants");
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::uint32_t of = mlsdk_decoder_constant_table_get_mrt_index(d.at, i);
            if (of >= made_.resources.size()) broken({"constant ", i, " is of no resource"});
            if (mlsdk_decoder_constant_table_is_sparse(d.at, i))
                refuse(errc::unsupported, {"constant ", i, " is sparse"});
            mlsdk_decoder_constant_data bytes{};
            mlsdk_decoder_constant_table_get_data(d.at, i, &bytes);
            const resource& r = made_.resources[of];
            if (bytes.size !=
                static_cast<std::uint64_t>(byte_count(r.type, element_count(r.shape))))
                broken({"constant ", i, " has ", bytes.size, " bytes, its resource is ",
                        to_string(r.type), " ", to_string(r.shape)});
            const auto begin =
                static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(bytes.data) -
                                           constants_.data());
            if (begin > constants_.size || bytes.size > constants_.size - begin)
                broken({"constant ", i, " lies outside of its part"});
            made_.constants.push_back({of, constants_.offset + begin, bytes.size});
        }
        constants_.memory.reset();
    }

    void read_segments() {
        fetch(sequence_);
        decoder<mlsdk_decoder_model_sequence_decoder>
            d(mlsdk_decoder_model_sequence_decoder_mem_reqs(), [&](void* memory) {
                return mlsdk_decoder_create_model_sequence_decoder(sequence_.data(), sequence_.size,
                                                                   memory);
            });
        if (!d.at) broken({"its sequence of segments is damaged"});
        const std::uint32_t n =
            count(mlsdk_decoder_get_model_sequence_table_size(d.at), "segments");
        if (n > limits_.nodes) broken({"it has ", n, " segments, more than model_limits::nodes"});
        for (std::uint32_t i = 0; i < n; ++i) read_segment(d.at, i);
        const auto list = [&](mlsdk_decoder_binding_slots_handle slots,
                              mlsdk_decoder_names_handle names, std::vector<value>& to,
                              const char* otherwise) {
            const std::vector<slot> found = slots_of(d.at, slots, 0);
            const std::size_t named =
                names ? mlsdk_decoder_model_sequence_get_names_size(d.at, names) : 0;
            for (std::size_t k = 0; k < found.size(); ++k) {
                std::string name;
                if (k < named)
                    name =
                        text(mlsdk_decoder_model_sequence_get_name(d.at, names,
                                                                   static_cast<std::uint32_t>(k)));
                to.push_back({name.empty() ? cat({otherwise, k}) : name, found[k].resource});
            }
        };
        list(mlsdk_decoder_model_sequence_get_input_binding_slot(d.at),
             mlsdk_decoder_model_sequence_get_input_names(d.at), made_.inputs, "input_");
        list(mlsdk_decoder_model_sequence_get_output_binding_slot(d.at),
             mlsdk_decoder_model_sequence_get_output_names(d.at), made_.outputs, "output_");
        sequence_.memory.reset();
    }
    std::vector<slot> slots_of(const mlsdk_decoder_model_sequence_decoder* d,
                               mlsdk_decoder_binding_slots_handle slots, std::uint32_t set) {
        std::vector<slot> list;
        if (!slots) return list;
        const std::uint32_t n = count(mlsdk_decoder_binding_slot_size(d, slots), "bindings");
        for (std::uint32_t k = 0; k < n; ++k) {
            list.push_back({set, mlsdk_decoder_binding_slot_binding_id(d, slots, k),
                            mlsdk_decoder_binding_slot_mrt_index(d, slots, k)});
            if (list.back().resource >= made_.resources.size())
                broken({"a binding names resource ", list.back().resource, " of ",
                        made_.resources.size()});
        }
        return list;
    }
    void read_segment(mlsdk_decoder_model_sequence_decoder* d, std::uint32_t i) {
        segment& s = made_.segments.emplace_back();
        s.name = text(mlsdk_decoder_model_sequence_get_segment_name(d, i));
        if (s.name.empty()) s.name = cat({"segment_", i});
        s.module = mlsdk_decoder_model_sequence_get_segment_module_index(d, i);
        if (s.module >= made_.modules.size())
            broken({"segment ", i, " runs module ", s.module, " of ", made_.modules.size()});
        const bool graph =
            mlsdk_decoder_model_sequence_get_segment_type(d, i) == mlsdk_decoder_module_type_graph;
        if (graph != made_.modules[s.module].graph)
            broken({"segment ", i, " and its module are of different kinds"});
        const std::uint32_t sets =
            count(mlsdk_decoder_model_sequence_get_segment_descriptorset_info_size(d, i), "sets");
        for (std::uint32_t k = 0; k < sets; ++k) {
            const auto found =
                slots_of(d,
                         mlsdk_decoder_model_sequence_get_segment_descriptor_binding_slot(d, i, k),
                         mlsdk_decoder_model_sequence_get_segment_descriptorset_index(d, i, k));
            s.slots.insert(s.slots.end(), found.begin(), found.end());
        }
        for (const slot& at :
             slots_of(d, mlsdk_decoder_model_sequence_get_segment_input_binding_slot(d, i), 0))
            s.inputs.push_back(at.resource);
        for (const slot& at :
             slots_of(d, mlsdk_decoder_model_sequence_get_segment_output_binding_slot(d, i), 0))
            s.outputs.push_back(at.resource);
        mlsdk_decoder_dispatch_shape groups{};
        mlsdk_decoder_model_sequence_get_segment_dispatch_shape(d, i, &groups);
        std::copy(std::begin(groups.data), std::end(groups.data), s.groups.begin());
        const auto pushes = mlsdk_decoder_model_sequence_get_segment_push_constant_range(d, i);
        s.pushes = pushes && mlsdk_decoder_get_push_constant_ranges_size(d, pushes) > 0;
        graph_constants(d, i, s);
    }
    void graph_constants(const mlsdk_decoder_model_sequence_decoder* d, std::uint32_t i,
                         segment& s) {
        const auto bound = mlsdk_decoder_model_sequence_get_segment_constant_bindings(d, i);
        const std::uint32_t n =
            bound ? count(mlsdk_decoder_graph_constant_binding_size(d, bound), "constants") : 0;
        for (std::uint32_t k = 0; k < n; ++k) {
            mlsdk_decoder_graph_constant_binding b{};
            mlsdk_decoder_graph_constant_binding_get(d, bound, k, &b);
            s.constants.emplace_back(b.graph_constant_id, b.constant_table_index);
        }
        if (n == 0) {  // older files: constants of the graph in their order
            mlsdk_decoder_constant_indexes list{};
            mlsdk_decoder_model_sequence_get_segment_constant_indexes(d, i, &list);
            count(list.size, "constants");
            for (std::uint32_t k = 0; k < list.size; ++k) s.constants.emplace_back(k, list.data[k]);
        }
        for (const auto& [id, number] : s.constants)
            if (number >= made_.constants.size())
                broken({"segment ", i, " names constant ", number, " of ", made_.constants.size()});
    }

    const source& from_;
    const model_limits& limits_;
    contents made_;
    section modules_, sequence_, resources_, constants_;
    std::int64_t items_ = 0;
};

}  // namespace detail

/// Throws errc::bad_file for what is damaged or passes a limit, errc::unsupported for formats,
/// layouts and constants that Pumice does not take, errc::io_failed.
inline contents read(const std::shared_ptr<input_file>& file, const model_limits& limits = {}) {
    return detail::reader(file->path().string(), detail::source(file), limits).run();
}
inline contents read(span<const std::byte> bytes, const model_limits& limits = {}) {
    return detail::reader("model", detail::source(bytes), limits).run();
}

}}}  // namespace pumice::PUMICE_ABI::vgf
