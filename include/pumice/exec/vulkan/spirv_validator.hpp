// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// SPIR-V that files bring, validated by SPIRV-Tools: drivers take modules for valid, and may end
// the process over one that is not. The library is opened at run time, as Slang is.
#pragma once

#include <pumice/base/log.hpp>
#include <pumice/base/span.hpp>
#include <pumice/base/unique_ptr.hpp>
#include <pumice/slang/library.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// SPIRV-Tools' shared library; where there is none, the SPIRV-Tools within libslang-glslang, which
/// lies beside Slang. Any thread may ask.
class spirv_validator {
public:
    /// The one of this process; null where there is none, which is looked for again then.
    static const spirv_validator* get() {
        // Never freed, like Slang.
        static std::mutex& guard = *new std::mutex;
        static const spirv_validator* found = nullptr;
        const std::lock_guard lock(guard);
        if (!found) found = open().release();
        return found;
    }
    /// The same, opened anew. PUMICE_SPIRV_TOOLS names the one library that is tried; "off" none.
    /// Throws errc::io_failed where what it names validates nothing.
    static unique_ptr<spirv_validator> open() {
        const std::string named = detail::environment("PUMICE_SPIRV_TOOLS");
        if (named == "off") return nullptr;
        std::string why;
        for (const detail::fs::path& file :
             named.empty() ? usual_files() : array_list<detail::fs::path>{named})
            if (void* const library = detail::open_library(file, why)) {
                unique_ptr<spirv_validator> made(new spirv_validator);
                if (made->take(library, why)) return made;
            }
        if (!named.empty())
            throw error(errc::io_failed, "vulkan",
                        cat({"PUMICE_SPIRV_TOOLS names ", named,
                             ", by which SPIR-V of files "
                             "cannot be validated"}),
                        {why, "name " + file_name() + " or libslang-glslang, or unset it"});
        write_log(severity::info, cat({"[vulkan] SPIR-V of files is not validated: there is no ",
                                       file_name(), " and no libslang-glslang"}));
        return nullptr;
    }

    spirv_validator(const spirv_validator&) = delete;
    spirv_validator& operator=(const spirv_validator&) = delete;
    ~spirv_validator() {
        for (void* const context : {older_, newer_})
            if (context) destroy_context_(context);
        if (options_) destroy_options_(options_);
    }

    /// Throws errc::compile_failed where the words are not valid for a device of this version of
    /// Vulkan (VK_MAKE_API_VERSION). `name` and `file` stand in the error.
    void check(span<const std::uint32_t> words, std::string_view name, std::string_view file,
               std::uint32_t vulkan) const {
        std::string why = refusal(words, vulkan);
        if (why.empty()) return;
        std::vector<std::string> reasons{std::move(why)};
        if (!file.empty()) reasons.push_back(cat({"it comes from ", file}));
        reasons.push_back(cat({name_,
                               " says so; without it drivers may crash "
                               "(PUMICE_SPIRV_TOOLS=off takes the risk)"}));
        throw error(errc::compile_failed, "vulkan", cat({"kernel ", name, " is not valid SPIR-V"}),
                    std::move(reasons));
    }
    const std::string& name() const noexcept { return name_; }

private:
    spirv_validator() = default;

    // As <spirv-tools/libspirv.h> has them.
    struct binary {
        const std::uint32_t* code;
        std::size_t words;
    };
    struct diagnostic {
        std::size_t line, column, index;
        char* text;
        bool is_text_source;
    };
    enum environment : int { vulkan_1_3 = 25, vulkan_1_4 = 26 };

    template <class Function>
    static bool load(Function& to, void* library, const char* name) {
        to = reinterpret_cast<Function>(detail::find_symbol(library, name));
        return to != nullptr;
    }
    bool take(void* library, std::string& why) {
        if (load(slangs_, library, "glslang_validateSPIRV")) {
            name_ = "libslang-glslang";
            return true;
        }
        const char* (*version)() = nullptr;
        void* (*make_context)(int) = nullptr;
        void* (*make_options)() = nullptr;
        void (*set_scalar_layout)(void*, bool) = nullptr;
        if (!load(version, library, "spvSoftwareVersionString") ||
            !load(make_context, library, "spvContextCreate") ||
            !load(make_options, library, "spvValidatorOptionsCreate") ||
            !load(set_scalar_layout, library, "spvValidatorOptionsSetScalarBlockLayout") ||
            !load(validate_, library, "spvValidateWithOptions") ||
            !load(destroy_, library, "spvDiagnosticDestroy") ||
            !load(destroy_context_, library, "spvContextDestroy") ||
            !load(destroy_options_, library, "spvValidatorOptionsDestroy")) {
            why = "it is no SPIRV-Tools";
            return false;
        }
        // Older ones do not know what modules with tensors and data graphs say.
        constexpr std::string_view oldest = "v2025.5";
        name_ = cat({"SPIRV-Tools ", version()});
        if (detail::version_less(version(), oldest)) {
            why = cat({"it is ", name_, "; use ", oldest, " or newer"});
            return false;
        }
        older_ = make_context(vulkan_1_3);
        newer_ = make_context(vulkan_1_4);
        options_ = make_options();
        if (!older_ || !newer_ || !options_) throw std::bad_alloc();
        set_scalar_layout(options_, true);  // which each device of ours has
        return true;
    }

    /// "" for a valid module.
    std::string refusal(span<const std::uint32_t> words, std::uint32_t vulkan) const {
        if (slangs_)
            return slangs_(words.data(), static_cast<int>(words.size()))
                       ? ""
                       : "why is told on the standard error output";
        constexpr std::uint32_t since = 1u << 22 | 4u << 12;  // Vulkan 1.4
        const binary code{words.data(), words.size()};
        diagnostic* said = nullptr;
        const int status = validate_(vulkan >= since ? newer_ : older_, options_, &code, &said);
        std::string why = status == 0 ? "" : said ? said->text : cat({"code ", status});
        if (said) destroy_(said);
        while (why.ends_with('\n')) why.pop_back();
        return why;
    }

    static std::string file_name() {
#if defined(_WIN32)
        return "SPIRV-Tools-shared.dll";
#elif defined(__APPLE__)
        return "libSPIRV-Tools-shared.dylib";
#else
        return "libSPIRV-Tools-shared.so";
#endif
    }
    static array_list<detail::fs::path> usual_files() {
        array_list<detail::fs::path> files;
        std::error_code failed;
        for (const detail::fs::path& folder : detail::library_folders())
            if (detail::fs::is_regular_file(folder / file_name(), failed))
                files.push_back(folder / file_name());
        files.emplace_back(file_name());
#if defined(_WIN32)
        const std::string beside = "slang-glslang";
#else
        const std::string beside = "libslang-glslang";
#endif
        if (const slang_location slang = find_slang(); slang.found())
            if (detail::fs::path own = detail::newest_in(slang.file.parent_path(), beside);
                !own.empty())
                files.push_back(std::move(own));
        return files;
    }

    std::string name_;
    bool (*slangs_)(const std::uint32_t*, int) = nullptr;
    int (*validate_)(void*, void*, const binary*, diagnostic**) = nullptr;
    void (*destroy_)(diagnostic*) = nullptr;
    void (*destroy_context_)(void*) = nullptr;
    void (*destroy_options_)(void*) = nullptr;
    void *older_ = nullptr, *newer_ = nullptr, *options_ = nullptr;
};

/// Throws what spirv_validator::check throws; once for each module, as far as it is remembered.
inline void validate_spirv(span<const std::uint32_t> words, std::string_view name,
                           std::string_view file, std::uint32_t vulkan) {
    struct known {
        std::uint32_t vulkan;
        array_list<std::uint32_t> words;
    };
    static std::mutex& guard = *new std::mutex;
    static auto& valid = *new array_list<known>;
    static std::size_t held = 0;
    constexpr std::size_t most_held = 1 << 20;  // words
    const auto knows = [&](const known& k) {
        return k.vulkan == vulkan &&
               std::equal(k.words.begin(), k.words.end(), words.begin(), words.end());
    };
    {
        const std::lock_guard lock(guard);
        if (std::any_of(valid.begin(), valid.end(), knows)) return;
    }
    const spirv_validator* const validator = spirv_validator::get();
    if (!validator) return;
    validator->check(words, name, file, vulkan);
    if (words.size() > most_held) return;
    const std::lock_guard lock(guard);
    if (held + words.size() > most_held) valid.clear(), held = 0;
    valid.push_back({vulkan, {words.begin(), words.end()}});
    held += words.size();
}

}}  // namespace pumice::PUMICE_ABI
