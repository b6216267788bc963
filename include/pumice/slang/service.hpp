// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Kernels on request: memory, then disk, then a pack, then Slang.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/callback.hpp>
#include <pumice/base/unique_ptr.hpp>
#include <pumice/slang/cache.hpp>
#include <pumice/slang/compiler.hpp>
#include <pumice/slang/pack.hpp>
#include <pumice/slang/precompiled.hpp>

#include <memory>
#include <mutex>

namespace pumice { inline namespace PUMICE_ABI {

/// What a service did so far.
struct kernel_counters {
    std::atomic<std::uint64_t> memory_hits{0};
    std::atomic<std::uint64_t> disk_hits{0};
    std::atomic<std::uint64_t> pack_hits{0};
    std::atomic<std::uint64_t> compiles{0};
    std::atomic<std::uint64_t> library_opens{0};  // 0 at a warm start
};

struct service_options {
    array_list<library_module> modules = {};
    std::string slang_library = {};  // file or folder; empty: see find_slang
    std::filesystem::path cache_folder = default_cache_folder();
    std::uint64_t cache_limit = disk_cache::default_limit;
    bool messages = false;  // what Slang says of kernels that compile goes to the log
    /// A shipped pack; asked after the disk. The digest names the kernel whatever Slang made it.
    callback<std::shared_ptr<const spirv_code>(const digest&)> pack = {};
    /// Told of each kernel the first time that this service gives it: how a pack is recorded.
    callback<void(const digest&, const kernel_request&, const spirv_code&)> record = {};
};

/// Gives compiled kernels. Safe from any thread: a kernel that several threads want compiles once,
/// and who waits for a compilation holds up nobody else.
class kernel_service {
public:
    explicit kernel_service(service_options options)
        : options_(std::move(options)), cache_(options_.cache_folder, options_.cache_limit),
          dump_(detail::environment("PUMICE_DUMP")),
          library_digest_(to_string(digest_of_library(options_.modules))) {}

    /// Names the modules that kernels are made from.
    static digest digest_of_library(const array_list<library_module>& modules) {
        std::string text;
        for (const library_module& m : modules)
            part(part(text, "name", m.name), "source", m.source);
        return digest_of(text);
    }

    /// The kernel's code. Throws errc::compile_failed, or errc::no_slang when only Slang could
    /// make it and there is none; a later call tries again.
    std::shared_ptr<const spirv_code> get(const kernel_request& request) {
        const std::string key = key_of(request);
        const digest name = digest_of(key);
        std::shared_ptr<std::mutex> turn;
        {
            const std::lock_guard lock(mutex_);
            if (auto code = ready_.find(name)) {
                ++counters_.memory_hits;
                return code;
            }
            for (const auto& [other, its] : sought_)
                if (other == name) turn = its;
            if (!turn) sought_.push_back({name, turn = std::make_shared<std::mutex>()});
        }
        const std::lock_guard one_at_a_time(*turn);
        {
            const std::lock_guard lock(mutex_);
            if (auto code = ready_.find(name)) {
                ++counters_.memory_hits;
                return code;
            }
        }
        std::shared_ptr<const spirv_code> code;
        try {
            code = find_or_compile(request, key, name);
            if (options_.record) options_.record(name, request, *code);
            if (!dump_.empty()) dump(request, name, *code);
        } catch (...) {
            const std::lock_guard lock(mutex_);
            forget(name);
            throw;
        }
        const std::lock_guard lock(mutex_);
        ready_.set(name, code);
        forget(name);
        return code;
    }

    /// Everything that the code depends on but the compiler itself, as text.
    std::string key_of(const kernel_request& request) const {
        std::string text = "kernel\n";
        part(text, "options", detail::compile_options(debug_));
        part(text, "library", library_digest_);
        part(text, "module", request.module);
        part(text, "entry", request.entry);
        if (request.language) part(text, "shader in", to_string(*request.language));
        for (const std::string& a : request.arguments) part(text, "argument", a);
        for (const generated_module& g : request.generated)
            part(part(text, "name", g.name), "text", g.text);
        return text;
    }

    /// What names the request in packs: the same for every Slang and every machine.
    digest name_of(const kernel_request& request) const { return digest_of(key_of(request)); }

    /// Kernels that were compiled before, beside those of the options' pack.
    void add(const kernel_pack& more) {
        const std::lock_guard lock(mutex_);
        for (const auto& [name, code] : more.kernels())
            if (!added_.find(name)) added_.set(name, code);
    }

    /// Releases Slang's sessions (170 MB, and 0.2 s to make again) where nothing has been compiled
    /// for so long.
    void release_compiler(std::chrono::nanoseconds idle) noexcept {
        const std::int64_t last = compiled_at_.load(std::memory_order_relaxed);
        if (last == 0 || now() - last < idle.count()) return;
        const std::unique_lock lock(compiler_mutex_, std::try_to_lock);
        if (!lock || !compiler_ || !compiler_->release()) return;
        compiled_at_ = 0;
        detail::return_free_memory();
    }

    const kernel_counters& counters() const noexcept { return counters_; }

private:
    static std::int64_t now() noexcept {
        return std::chrono::steady_clock::now().time_since_epoch().count();
    }
    static std::string& part(std::string& text, std::string_view label, std::string_view value) {
        text.append(label).append(" ");
        append_number(text, value.size());
        return text.append("\n").append(value).append("\n");
    }

    void forget(const digest& name) {
        erase_if(sought_, [&](const sought& s) { return s.name == name; });
    }

    std::shared_ptr<const spirv_code> find_or_compile(const kernel_request& request,
                                                      const std::string& key, const digest& name) {
        if (const std::optional<std::string> kept = cache_.read(key, identity())) {
            if (auto code = words_of(*kept)) {
                ++counters_.disk_hits;
                return code;
            }
        }
        if (auto packed = packed_code(name)) {
            ++counters_.pack_hits;
            return packed;
        }
        auto code = std::make_shared<const spirv_code>(compiler_for(request).compile(request));
        ++counters_.compiles;
        compiled_at_ = now();
        cache_.write(key, identity(),
                     {reinterpret_cast<const char*>(code->words.data()),
                      code->words.size() * sizeof(std::uint32_t)});
        return code;
    }

    std::shared_ptr<const spirv_code> packed_code(const digest& name) const {
        if (options_.pack)
            if (auto code = options_.pack(name)) return code;
        const std::lock_guard lock(mutex_);
        return added_.find(name);
    }

    /// Null where these are no SPIR-V.
    static std::shared_ptr<const spirv_code> words_of(const std::string& bytes) {
        if (bytes.size() < 5 * sizeof(std::uint32_t) || bytes.size() % sizeof(std::uint32_t) != 0)
            return nullptr;
        spirv_code code;
        code.words.resize(bytes.size() / sizeof(std::uint32_t));
        std::memcpy(code.words.data(), bytes.data(), code.words.size() * sizeof(std::uint32_t));
        if (code.words[0] != 0x07230203u) return nullptr;
        return std::make_shared<const spirv_code>(std::move(code));
    }

    /// The Slang that would compile, told by its file alone; empty when no file is found, and then
    /// an entry by any Slang will do.
    std::string identity() {
        const std::lock_guard lock(compiler_mutex_);
        if (library_) return library_->identity();
        if (!place_) place_ = find_slang(options_.slang_library);
        return place_->identity;
    }

    /// The compiler. Where there is none, the fault may be the pack's.
    slang_compiler& compiler_for(const kernel_request& request) {
        if (!options_.pack) return compiler();
        try {
            return compiler();
        } catch (const error& e) {
            std::vector<std::string> reasons{
                cat({"the pack does not hold ", to_string(request), ": record it anew"})};
            for (const std::string& r : e.reasons()) reasons.push_back(r);
            throw error(e.code(), "slang", e.message(), std::move(reasons));
        }
    }

    slang_compiler& compiler() {
        const std::lock_guard lock(compiler_mutex_);
        if (compiler_) return *compiler_;
        if (!place_ || !place_->found())
            place_ = find_slang(options_.slang_library);  // installed since?
        bool opened = false;
        library_ = &slang_library::open(*place_, &opened);
        if (opened) ++counters_.library_opens;
        module_store store;
        store.read = [this](const std::string& module,
                            const std::string& tag) -> std::optional<std::string> {
            if (const std::string_view blob = precompiled(module, tag); !blob.empty())
                return std::string(blob);
            return cache_.read(module_key(module, tag), library_->identity());
        };
        store.write = [this](const std::string& module, const std::string& tag,
                             const std::string& blob) {
            cache_.write(module_key(module, tag), library_->identity(), blob);
        };
        compiler_ = make_owned<slang_compiler>(*library_, options_.modules, std::move(store),
                                               debug_, options_.messages);
        return *compiler_;
    }

    /// What was compiled with the program, if it was from the same text by the same Slang.
    std::string_view precompiled(std::string_view module, std::string_view tag) const {
        const precompiled_library* const built = detail::precompiled;
        return built && built->sources == library_digest_ && built->tag == tag &&
                       built->options == detail::compile_options(debug_)
                   ? built->find(module)
                   : std::string_view();
    }

    std::string module_key(const std::string& module, const std::string& tag) const {
        std::string text = "module\n";
        part(text, "options", detail::compile_options(debug_));
        part(text, "library", library_digest_);
        part(text, "name", module);
        return part(text, "tag", tag);
    }

    /// PUMICE_DUMP: each kernel's texts and code as files of that folder.
    void dump(const kernel_request& request, const digest& name, const spirv_code& code) const {
        std::string text = cat({"// ", to_string(request), "\n"});
        for (const generated_module& g : request.generated)
            append_text(text, {"// module ", g.name, "\n", g.text, "\n"});
        const std::string stem = cat({request.entry, "_", to_string(name).substr(0, 16)});
        std::error_code failed;
        std::filesystem::create_directories(dump_, failed);
        const auto keep = [this](const std::string& file, std::string_view bytes) {
            return detail::write_whole(dump_ / (file + "." + detail::unique_name()), dump_ / file,
                                       bytes);
        };
        failed = keep(stem + ".slang", text);
        if (!failed)
            failed = keep(stem + ".spv", {reinterpret_cast<const char*>(code.words.data()),
                                          code.words.size() * sizeof(std::uint32_t)});
        if (failed) write_log(severity::warning, "[slang] PUMICE_DUMP: " + failed.message());
    }

    service_options options_;
    disk_cache cache_;
    std::filesystem::path dump_;
    const bool debug_ = detail::slang_debug();
    std::string library_digest_;
    kernel_counters counters_;

    struct sought {
        digest name;
        std::shared_ptr<std::mutex> turn;
    };
    mutable std::mutex mutex_;  // of the next three
    spirv_table ready_;
    spirv_table added_;          // asked like the pack
    array_list<sought> sought_;  // what some thread is making right now

    std::atomic<std::int64_t> compiled_at_{0};  // nanoseconds of steady_clock; 0: none is held
    std::mutex compiler_mutex_;                 // of the rest
    std::optional<slang_location> place_;
    slang_library* library_ = nullptr;
    unique_ptr<slang_compiler> compiler_;
};

}}  // namespace pumice::PUMICE_ABI
