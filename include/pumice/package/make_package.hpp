// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Packages by the library's engines: a plan, what it is bound to, and its kernels. Needs
// FlatBuffers and nlohmann/json.
#pragma once

#include <pumice/base/unique_ptr.hpp>
#include <pumice/exec/make_engine.hpp>
#include <pumice/exec/null_engine.hpp>
#include <pumice/exec/plan/bind.hpp>
#include <pumice/exec/plan/json.hpp>
#include <pumice/exec/record_pack.hpp>
#include <pumice/package/detail/nodes.hpp>
#include <pumice/package/detail/writer.hpp>

#include <set>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// A context like another, of a device that is only described, which tells of its kernels.
struct described_as {
    const policy_set& like;
    const device_info& device;
    const std::shared_ptr<pack_recorder>& recorder;
    template <int = 0>
    void apply(policy_set& set) const {
        set = like;
        null_device{device}.apply(set);
        recorded_into{recorder}.apply(set);
    }
};

/// A pack of the kernels that a device takes for the plan, by rates that were measured for it and
/// by those of its kind: whoever loads the package may have measured or not.
inline std::string kernels_for(const plan& p, const policy_set& like, const device_info& device) {
    const auto recorder = std::make_shared<pack_recorder>();
    const auto gather = [&](const device_info& d) {
        const context home(described_as{like, d, recorder});
        std::vector<any_tensor> constants, inputs;
        for (const int i : p.constants) {
            const plan_value& v = p.at(i);
            constants
                .emplace_back(given_in(v,
                                       home.get()->create(v.type, elements_given(v), nullptr)->data,
                                       home.get()));
        }
        for (const int i : p.inputs)
            inputs.emplace_back(home.get()->create(p.at(i).type, p.at(i).extent, nullptr));
        pumice::bind(home, p, constants).run(inputs);
    };
    gather(device);
    if (device.measured.known()) {
        device_info usual = device;
        usual.measured = {};
        gather(usual);
    }
    return recorder->bytes();
}

/// Memory of the host's in a mapped file, which it keeps.
struct mapped_storage {
    std::shared_ptr<const mapped_file> file;
    host_storage memory;
    mapped_storage(std::shared_ptr<const mapped_file> f, std::byte* data, std::int64_t bytes)
        : file(std::move(f)), memory(bytes, host_memory::as_they_lie{data}) {}
};

/// Bytes of a weight in its file.
class weight_bytes final : public byte_source {
public:
    weight_bytes(std::shared_ptr<const input_file> file, std::uint64_t begin)
        : file_(std::move(file)), begin_(begin) {}
    void read(std::int64_t begin, span<std::byte> into) const override {
        file_->read(begin_ + static_cast<std::uint64_t>(begin), into);
    }

private:
    std::shared_ptr<const input_file> file_;
    std::uint64_t begin_;
};

/// The plan's constants: on the host where the file is mapped, elsewhere read to where they belong.
inline std::vector<any_tensor> constants_from(const package_reader& from, const plan& p,
                                              const context& home) {
    const auto& stored_ones = *from.index().constants();
    if (stored_ones.size() != p.constants.size())
        from.refuse({"the graph has ", p.constants.size(), " constants, the package ",
                     stored_ones.size()});
    const std::shared_ptr<engine>& by = home.get();
    const auto file = from.weights_file();
    const bool mapped = dynamic_cast<host_engine*>(by.get()) != nullptr;
    const auto whole = mapped ? std::make_shared<const mapped_file>(*file) : nullptr;
    std::vector<any_tensor> list;
    std::vector<unique_ptr<weight_bytes>> sources;
    array_list<filling> rooms;
    for (std::size_t i = 0; i < p.constants.size(); ++i) {
        const plan_value& v = p.at(p.constants[i]);
        const tables::Weight& w = *stored_ones.Get(static_cast<flatbuffers::uoffset_t>(i));
        const std::int64_t bytes = bytes_of_given(v);
        if (from.type_of(*w.type()) != v.type ||
            w.at()->bytes() != static_cast<std::uint64_t>(bytes))
            from.refuse({"constant ", i, " has ", w.at()->bytes(), " bytes of ",
                         w.type()->string_view(), ", the graph has ", bytes, " of ",
                         to_string(v.type)});
        const std::uint64_t begin = from.weights_begin() + w.at()->begin();
        if (bytes == 0) {
            list.emplace_back(given_in(v, by->create(v.type, {0}, nullptr)->data, by));
        } else if (mapped) {
            const auto held = std::make_shared<mapped_storage>(whole, whole->data() + begin, bytes);
            list.emplace_back(given_in(v, std::shared_ptr<storage>(held, &held->memory), by));
        } else {
            const node_ptr room =
                by->reserve(v.type, elements_given(v),
                            w.name() ? w.name()->string_view() : std::string_view());
            sources.push_back(make_owned<weight_bytes>(file, begin));
            rooms.push_back({room, sources.back().get()});
            list.emplace_back(given_in(v, room->data, by));
        }
    }
    if (!rooms.empty()) by->fill(rooms);
    return list;
}

/// Kernels of the package for the context's device; of any where none is called so.
inline void take_kernels(const package_reader& from, const context& home) {
    auto* const by = dynamic_cast<vulkan_engine*>(home.get().get());
    if (!by) return;
    const std::vector<std::string>& devices = from.contents().devices;
    const bool named =
        std::find(devices.begin(), devices.end(), home.device().name) != devices.end();
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (named && devices[i] != home.device().name) continue;
        const std::string bytes = from.kernels(i);
        try {
            by->runtime().kernels().add(kernel_pack(as_bytes(span(bytes)), pack_recorder::library(),
                                                    "the package"));
        } catch (const error& e) {  // of another version of Pumice: they are compiled anew
            write_log(severity::info,
                      cat({"[package] kernels for ", devices[i], " are not taken: ", e.message()}));
        }
    }
}

/// What is wrong with a plan is the file's fault.
template <class F>
auto as_bad_file(const package_reader& from, const F& f) {
    try {
        return f();
    } catch (const error& e) {
        if (e.code() != errc::invalid_argument && e.code() != errc::size_overflow &&
            e.code() != errc::shape_mismatch && e.code() != errc::dtype_mismatch &&
            e.code() != errc::rank_mismatch)
            throw;
        from.refuse({e.what()});
    } catch (const plan_json::exception& e) {
        from.refuse({e.what()});
    }
}

inline plan plan_from(const package_reader& from, const package_names& names) {
    plan_names known{names.ops, names.kernels, "package_names"};
    for (auto& k : read_compute_nodes(from)) known.kernels.push_back(std::move(k));
    return as_bad_file(from, [&] {
        plan p = plan_from_json(from.graph(), known);
        const auto compare = [&](const auto& numbers, const std::vector<package_value>& list) {
            if (numbers.size() != list.size())
                from.refuse({"the graph has ", numbers.size(), " values where the signature has ",
                             list.size()});
            for (std::size_t i = 0; i < list.size(); ++i)
                if (p.at(numbers[i]).type != list[i].dtype ||
                    p.at(numbers[i]).extent != list[i].shape)
                    from.refuse({"the graph's \"", list[i].name, "\" is ",
                                 to_string(p.at(numbers[i]).type), " ",
                                 to_string(p.at(numbers[i]).extent), ", the signature has ",
                                 to_string(list[i].dtype), " ", to_string(list[i].shape)});
        };
        compare(p.inputs, from.contents().inputs);
        compare(p.outputs, from.contents().outputs);
        return p;
    });
}

template <int>
void save_package(const std::filesystem::path& to, const executable& e,
                  const package_contents& signature, const package_options& options) {
    for (const auto* list : {&signature.inputs, &signature.outputs}) {
        std::set<std::string_view> names;
        for (const package_value& v : *list)
            if (!names.insert(v.name).second)
                fail(errc::invalid_argument, "package", {"two values are called \"", v.name, "\""});
    }
    const plan& p = e.planned();
    const context& home = e.where();
    std::vector<compute_node> nodes;
    find_compute_nodes(p, nodes);
    const std::vector<any_tensor> constants = e.constants();
    package_source from{signature, to_json(p), {}, {}, {}, {}};
    for (std::size_t i = 0; i < constants.size(); ++i) {
        const plan_value& v = p.at(p.constants[i]);
        from.weights.push_back({std::string(v.label.name()), v.type,
                                static_cast<std::uint64_t>(bytes_of_given(v))});
    }
    from.bytes_of = [&](std::size_t i) {
        return as_given(p.at(p.constants[i]), constants[i].get(), *home.get());
    };
    from.nodes = [&](flatbuffers::FlatBufferBuilder& b) { return write_compute_nodes(b, nodes); };
    const auto add = [&](const device_info& d) {
        for (const auto& [name, pack] : from.kernels)
            if (name == d.name) return;
        from.kernels.emplace_back(d.name, kernels_for(p, home.get()->policies(), d));
    };
    if (options.own_kernels && home.device().type != device_type::host) add(home.device());
    for (const device_info& d : options.devices) add(d);
    package_writer(to, options.form, from).write();
}

template <int>
loaded_package load_package(const std::filesystem::path& from, const context& home,
                            const package_names& names) {
    const package_reader file(from);
    plan p = plan_from(file, names);
    take_kernels(file, home);
    std::vector<any_tensor> constants = constants_from(file, p, home);
    executable made =
        as_bad_file(file, [&] { return pumice::bind(home, std::move(p), constants); });
    return {file.contents(), std::move(made)};
}

template <int>
package_contents look_into_package(const std::filesystem::path& from, bool whole) {
    const package_reader file(from);
    file.graph();
    for (std::size_t i = 0; i < file.contents().devices.size(); ++i) file.kernels(i);
    if (whole) file.check_weights();
    return file.contents();
}

template <int>
bool has_package_magic(const std::filesystem::path& from) {
    return package_reader::has_magic(from);
}

}}}  // namespace pumice::PUMICE_ABI::detail
