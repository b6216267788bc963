// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the Slang service is asked for, and where a context lets it look.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/expr/emit.hpp>
#include <pumice/kernels/launch.hpp>
#include <pumice/policy/policies.hpp>
#include <pumice/shaders.hpp>
#include <pumice/slang/pack.hpp>
#include <pumice/slang/service.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// The library's shaders, as the Slang service takes them. The environment variable PUMICE_SHADERS
/// names a folder from which they are read instead, so that an edit needs no C++ compiler. Throws
/// errc::io_failed where one is missing there.
inline array_list<library_module> shader_library() {
    const std::string folder = detail::environment("PUMICE_SHADERS");
    array_list<library_module> modules;
    for (const shader_source& s : shader_sources) {
        library_module m{std::string(s.name), {}};
        if (folder.empty()) {
            for (std::string_view piece : s.pieces) m.source += piece;
        } else {
            const std::string file = cat({folder, "/", s.name, ".slang"});
            std::optional<std::string> text = detail::read_file(file, std::size_t{1} << 24);
            if (!text)
                fail(errc::io_failed, "shaders",
                     {file, ": the file cannot be read (PUMICE_SHADERS names its folder)"});
            m.source = std::move(*text);
        }
        modules.push_back(std::move(m));
    }
    return modules;
}

inline std::filesystem::path cache_folder_of(const policy_set& policies) {
    return policies.cache_folder.empty() ? default_cache_folder()
                                         : std::filesystem::path(policies.cache_folder);
}

/// Where a context's kernels come from and whom they are told to. Throws errc::bad_file and
/// errc::io_failed for its pack.
inline service_options service_options_of(const policy_set& policies) {
    service_options o;
    o.modules = shader_library();
    o.cache_folder = cache_folder_of(policies);
    o.messages = policies.compiler_messages;
    if (!policies.pack_file.empty() || !policies.pack_bytes.empty()) {
        std::string kept;
        span<const std::byte> bytes = policies.pack_bytes;
        const std::string& from = policies.pack_file;
        if (!from.empty()) {
            std::optional<std::string> read = detail::read_file(from, std::size_t{1} << 30);
            if (!read) {
                std::error_code why;
                const auto kind = std::filesystem::status(from, why).type();
                using what = std::filesystem::file_type;
                fail(errc::io_failed, "pack",
                     {from, kind == what::regular ? ": it may not be read, or has more than 1 GiB"
                            : kind == what::not_found ? ": there is no such file"
                                                      : ": it is no regular file"});
            }
            kept = std::move(*read);
            bytes = as_bytes(span(kept));
        }
        const digest library = kernel_service::digest_of_library(o.modules);
        const auto pack =
            std::make_shared<const kernel_pack>(bytes, library, from.empty() ? "the pack" : from);
        o.pack = [pack](const digest& name) { return pack->find(name); };
    }
    if (policies.kernel_sink)
        o.record = [sink = policies.kernel_sink](const digest& name, const kernel_request&,
                                                 const spirv_code& code) {
            sink({name.high, name.low}, code.words);
        };
    return o;
}

class vulkan_runtime;
namespace vulkan {
class pipeline;
class pushed_buffers;
}  // namespace vulkan

struct given_memory;

/// What shader operators ask of a Vulkan device (exec/vulkan/own_shader.hpp).
struct shader_functions {
    kernel_request (*request)(const launch&);
    std::shared_ptr<const vulkan::pipeline> (*create)(vulkan_runtime&, const launch&);
    /// What it is given, in the order of its `bound`; still to be opened. Throws errc::unsupported
    /// for memory that lies where the device has none begin.
    std::shared_ptr<vulkan::pushed_buffers> (*push)(const launch&, const device_info&,
                                                    span<const given_memory> places);
    void (*open)(vulkan::pushed_buffers&, const vulkan_runtime&, const launch&,
                 const vulkan::pipeline& with);
};

/// What the Slang service is asked for a launch.
inline kernel_request request_for(const launch& l) {
    if (l.shader) return l.shader_asks->request(l);
    kernel_request r{l.module, l.entry, l.arguments, {}};
    for (const auto& p : l.programs) {
        const std::string name = emitted_name(p->view());
        bool known = false;
        for (const generated_module& g : r.generated) known |= g.name == name;
        if (!known) r.generated.push_back({name, emit(p->view())});
    }
    if (l.text) r.generated.push_back({l.module, *l.text});
    return r;
}

}}  // namespace pumice::PUMICE_ABI
