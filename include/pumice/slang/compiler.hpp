// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// From a request to SPIR-V through Slang: library modules, generated text, specialise, link.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/callback.hpp>
#include <pumice/base/log.hpp>
#include <pumice/slang/library.hpp>
#include <pumice/slang/request.hpp>

#include <array>
#include <mutex>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// PUMICE_SLANG_DEBUG=1: names and source in the SPIR-V, warnings in the log.
inline bool slang_debug() {
    const std::string value = environment("PUMICE_SLANG_DEBUG");
    return !value.empty() && value != "0";
}

/// The options of slang_compiler::fresh_session that change the code, for cache keys.
inline std::string compile_options(bool debug) {
    return std::string("spirv_1_6 O0 minimum scalar clayout") + (debug ? " debug" : "");
}

/// Diagnostics without the warnings before: mostly a library module's, which was read on the way.
inline std::string from_first_error(const std::string& text) {
    const std::size_t first = text.find("error"), line = text.rfind('\n', first);
    return first == text.npos || line == text.npos ? text : text.substr(line + 1);
}

/// The ops of a fused program's text, which a comment behind its imports lists; empty of other
/// texts.
inline std::string_view ops_of(std::string_view text) {
    if (!text.starts_with("import element;\n")) return {};
    for (std::size_t end = 0; text.starts_with("import "); text = text.substr(end + 1))
        if ((end = text.find('\n')) == text.npos) return {};
    return text.starts_with("// ") ? text.substr(3, text.find('\n') - 3) : std::string_view();
}

/// The lines with their numbers, as diagnostics give them: `#line` sets the next one's.
inline std::string numbered(std::string_view text) {
    constexpr std::string_view sets = "#line ";
    std::string out;
    std::size_t line = 1;
    for (std::size_t at = 0; at < text.size(); ++line) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        if (text.substr(at).starts_with(sets)) {
            line = 0;
            for (std::size_t k = at + sets.size(); k < end && text[k] >= '0' && text[k] <= '9'; ++k)
                line = 10 * line + static_cast<std::size_t>(text[k] - '0');
            append_text(out, {"\n", text.substr(at, end - at)});
            --line;
            at = end + 1;
            continue;
        }
        std::string number = std::to_string(line);
        number.insert(0, number.size() < 4 ? 4 - number.size() : 0, ' ');
        append_text(out, {"\n", number, " | "});
        out += text.substr(at, end - at);
        at = end + 1;
    }
    return out;
}

}  // namespace detail

/// Where compiled library modules rest between processes. Both functions may be empty.
struct module_store {
    callback<std::optional<std::string>(const std::string& name, const std::string& tag)> read;
    callback<void(const std::string& name, const std::string& tag, const std::string& blob)> write;
};

/// Compiles requests against a fixed set of library modules. Safe from any thread; one kernel at a
/// time, since Slang is one lock domain.
class slang_compiler {
public:
    /// Pre: `library` outlives the compiler (it does: libraries are never closed).
    slang_compiler(slang_library& library, const array_list<library_module>& modules,
                   module_store store = {}, bool debug = detail::slang_debug(),
                   bool messages = false)
        : library_(library), store_(std::move(store)), debug_(debug), tells_(debug || messages) {
        for (const library_module& m : modules)
            modules_.push_back({m.name, std::string(m.source), {}, false});
        files_.lookup = [this](std::string_view path) { return file(path); };
    }
    slang_compiler(const slang_compiler&) = delete;
    slang_compiler& operator=(const slang_compiler&) = delete;
    ~slang_compiler() {
        const std::lock_guard lock(library_.mutex);
        end_session();
    }

    /// The SPIR-V of a kernel. Throws errc::compile_failed with Slang's diagnostics and the
    /// generated text as reasons.
    spirv_code compile(const kernel_request& request);

    /// Compiles every library module and gives it to the store. Throws as compile() does.
    void compile_library();

    /// Releases this compiler's session, and all that Slang holds where no other compiler has one;
    /// the next kernel makes it again (0.2 s). False, and nothing has changed, while a kernel is
    /// being compiled.
    bool release() noexcept {
        const std::unique_lock lock(library_.mutex, std::try_to_lock);
        if (!lock || detail::session_keeper::get().exiting) return false;
        end_session();
        library_.drop_unused();
        return true;
    }

private:
    friend shader_builder build_shader;

    struct module_state {
        std::string name, source;
        std::string blob;     // compiled by this very Slang; empty: none
        bool looked = false;  // whether the store was asked
    };

    struct generated_state {
        std::string name, text;
        slang::IModule* module;
    };
    /// The entry of that name, or null.
    template <class List>
    static auto find(List& list, std::string_view name) -> decltype(list.data()) {
        for (auto& each : list)
            if (each.name == name) return &each;
        return nullptr;
    }

    void fresh_session();
    void end_session() noexcept {
        if (!session_) return;
        generated_.clear();
        detail::session_keeper::get().drop(std::move(session_));
        --library_.sessions;
    }
    detail::com_ptr<ISlangBlob> file(std::string_view path);
    bool fits(const std::string& blob);
    void keep_modules();
    void check(const kernel_request& request, const char* step, bool good,
               ISlangBlob* diagnostics) const;
    slang::IModule* generated(const kernel_request& request, const generated_module& module);
    spirv_code compile_here(const kernel_request& request);
    spirv_code build(const kernel_request& request);
    spirv_code finish(const kernel_request& request, slang::IComponentType* program);

    /// A session keeps 1.5 MB a kernel and grows slower with each, and a fresh one takes 20 ms: it
    /// is replaced after this many.
    static constexpr int kernels_per_session = 8;

    slang_library& library_;
    module_store store_;
    bool debug_, tells_;
    array_list<module_state> modules_;
    array_list<generated_state> generated_;  // of this session
    detail::memory_files files_;
    detail::com_ptr<slang::ISession> session_;
    std::string tag_;
    std::size_t loaded_ = 0;
    int kernels_ = 0;
};

inline spirv_code slang_compiler::compile(const kernel_request& request) {
    const std::lock_guard lock(library_.mutex);
    spirv_code code;
    detail::in_own_arena([&] { code = compile_here(request); });
    return code;
}

inline spirv_code slang_compiler::compile_here(const kernel_request& request) {
    if (request.build) {
        spirv_code code = request.build(*this, request);
        detail::session_keeper::watch_exit();
        return code;
    }
    bool clash = false;  // a session never forgets a name
    for (const generated_module& g : request.generated) {
        const generated_state* known = find(generated_, g.name);
        clash = clash || (known && known->text != g.text);
    }
    if (!session_ || clash || ++kernels_ > kernels_per_session) fresh_session();
    spirv_code code = build(request);
    detail::session_keeper::watch_exit();
    keep_modules();
    return code;
}

inline void slang_compiler::compile_library() {
    const std::lock_guard lock(library_.mutex);
    fresh_session();
    for (const module_state& m : modules_) {
        if (m.name.find('/') != m.name.npos) continue;  // a part of another
        detail::com_ptr<ISlangBlob> said;
        slang::IModule* const loaded = session_->loadModule(m.name.c_str(), said.out());
        check({m.name, "*"}, "loading the library module", loaded != nullptr, said.get());
    }
    keep_modules();
    detail::session_keeper::watch_exit();
}

inline void slang_compiler::fresh_session() {
    using slang::CompilerOptionName;
    end_session();
    loaded_ = 0;
    kernels_ = 1;
    slang::IGlobalSession& global = library_.session();
    tag_ = library_.build_tag();

    const auto option = [](CompilerOptionName name, int value) {
        slang::CompilerOptionEntry entry{};
        entry.name = name;
        entry.value.kind = slang::CompilerOptionValueKind::Int;
        entry.value.intValue0 = value;
        return entry;
    };
    const std::array options{
        option(CompilerOptionName::Optimization, SLANG_OPTIMIZATION_LEVEL_NONE),
        option(CompilerOptionName::MinimumSlangOptimization, 1),
        option(CompilerOptionName::SkipSPIRVValidation, 1),
        option(CompilerOptionName::ForceCLayout, 1),
        option(CompilerOptionName::DebugInformation,
               debug_ ? SLANG_DEBUG_INFO_LEVEL_STANDARD : SLANG_DEBUG_INFO_LEVEL_NONE)};
    slang::TargetDesc target{};
    target.format = SLANG_SPIRV;
    target.profile = global.findProfile("spirv_1_6");
    target.forceGLSLScalarBufferLayout = true;
    slang::SessionDesc description{};
    description.targets = &target;
    description.targetCount = 1;
    description.fileSystem = &files_;
    description.compilerOptionEntries = options.data();
    description.compilerOptionEntryCount = static_cast<std::uint32_t>(options.size());
    if (SLANG_FAILED(global.createSession(description, session_.out())))
        fail(errc::compile_failed, "slang", {"Slang ", tag_, " made no session"});
    ++library_.sessions;
}

/// What an import finds: a compiled module if one was kept, else its source.
inline detail::com_ptr<ISlangBlob> slang_compiler::file(std::string_view path) {
    constexpr std::string_view compiled = ".slang-module", text = ".slang";
    const bool binary = path.ends_with(compiled);
    if (!binary && !path.ends_with(text)) return {};
    path.remove_suffix(binary ? compiled.size() : text.size());
    module_state* const found = find(modules_, path);
    if (!found) return {};
    module_state& m = *found;
    if (!binary) return detail::memory_blob::make(m.source);
    if (!m.looked && store_.read) {
        std::optional<std::string> blob = store_.read(m.name, tag_);
        if (blob && fits(*blob)) m.blob = std::move(*blob);
    }
    m.looked = true;
    return m.blob.empty() ? detail::com_ptr<ISlangBlob>() : detail::memory_blob::make(m.blob);
}

/// Whether this very build of Slang made the blob: another's crashes the process when loaded.
inline bool slang_compiler::fits(const std::string& blob) {
    SlangInt version = 0;
    const char *compiler = nullptr, *name = nullptr;
    const detail::com_ptr<ISlangBlob> bytes = detail::memory_blob::make(blob);
    return SLANG_SUCCEEDED(session_->loadModuleInfoFromIRBlob(bytes.get(), version, compiler,
                                                              name)) &&
           compiler && tag_ == compiler;
}

/// Keeps the compiled form of library modules that this session had to read as source.
inline void slang_compiler::keep_modules() {
    const auto count = static_cast<std::size_t>(session_->getLoadedModuleCount());
    for (; loaded_ < count; ++loaded_) {
        slang::IModule* module = session_->getLoadedModule(static_cast<SlangInt>(loaded_));
        module_state* const m = find(modules_, module->getName());
        if (!m || !m->blob.empty()) continue;
        detail::com_ptr<ISlangBlob> blob;
        if (SLANG_FAILED(module->serialize(blob.out())) || !blob) continue;
        m->blob = detail::text_of(blob.get());
        if (store_.write) store_.write(m->name, tag_, m->blob);
    }
}

inline void slang_compiler::check(const kernel_request& request, const char* step, bool good,
                                  ISlangBlob* diagnostics) const {
    std::string text(detail::text_of(diagnostics));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\0')) text.pop_back();
    if (good) {
        if (!text.empty() && tells_) write_log(severity::warning, cat({"[slang] ", text}));
        return;
    }
    std::vector<std::string> reasons{cat({step, " failed in Slang ", tag_})};
    if (!text.empty()) reasons.push_back(detail::from_first_error(text));
    for (auto g = request.generated.rbegin(); g != request.generated.rend(); ++g)
        reasons.push_back(cat({g->name, ".slang:", detail::numbered(g->text)}));
    std::string what = cat({"Slang refused the kernel ", to_string(request)});
    for (const auto& g : request.generated)
        if (const std::string_view ops = detail::ops_of(g.text); !ops.empty())
            append_text(what, {", which computes ", ops});
    throw error(errc::compile_failed, "slang", std::move(what), std::move(reasons));
}

inline slang::IModule* slang_compiler::generated(const kernel_request& request,
                                                 const generated_module& module) {
    if (const generated_state* known = find(generated_, module.name)) return known->module;
    detail::com_ptr<ISlangBlob> said;
    slang::IModule* loaded =
        session_->loadModuleFromSourceString(module.name.c_str(), (module.name + ".slang").c_str(),
                                             module.text.c_str(), said.out());
    check(request, "checking the generated text", loaded != nullptr, said.get());
    generated_.push_back({module.name, module.text, loaded});
    return loaded;
}

inline spirv_code slang_compiler::build(const kernel_request& request) {
    array_list<slang::IComponentType*> parts;
    slang::IModule* home = nullptr;
    detail::com_ptr<ISlangBlob> said;
    if (find(modules_, request.module)) {
        home = session_->loadModule(request.module.c_str(), said.out());
        check(request, "loading the library module", home != nullptr, said.get());
        parts.push_back(home);
    }
    for (const generated_module& g : request.generated) {
        parts.push_back(generated(request, g));
        if (g.name == request.module) home = static_cast<slang::IModule*>(parts.back());
    }
    check(request, "finding the module", home != nullptr, nullptr);

    detail::com_ptr<slang::IEntryPoint> entry;
    home->findEntryPointByName(request.entry.c_str(), entry.out());
    check(request, "finding the entry point", static_cast<bool>(entry), nullptr);
    parts.push_back(entry.get());

    detail::com_ptr<slang::IComponentType> program, special;
    bool good =
        SLANG_SUCCEEDED(session_->createCompositeComponentType(parts.data(),
                                                               static_cast<SlangInt>(parts.size()),
                                                               program.out(), said.out()));
    check(request, "joining the modules", good && program, said.get());

    array_list<slang::SpecializationArg> arguments;
    for (const std::string& a : request.arguments)
        arguments.push_back(slang::SpecializationArg::fromExpr(a.c_str()));
    if (arguments.empty()) {
        special = program;
    } else {
        good = SLANG_SUCCEEDED(program->specialize(arguments.data(),
                                                   static_cast<SlangInt>(arguments.size()),
                                                   special.out(), said.out()));
        check(request, "specialising", good && special, said.get());
    }
    return finish(request, special.get());
}

inline spirv_code slang_compiler::finish(const kernel_request& request,
                                         slang::IComponentType* program) {
    detail::com_ptr<slang::IComponentType> linked;
    detail::com_ptr<ISlangBlob> said;
    bool good = SLANG_SUCCEEDED(program->link(linked.out(), said.out()));
    check(request, "linking", good && linked, said.get());
    detail::com_ptr<ISlangBlob> spirv;
    good = SLANG_SUCCEEDED(linked->getEntryPointCode(0, 0, spirv.out(), said.out()));
    check(request, "making SPIR-V", good && spirv, said.get());

    spirv_code code;
    code.words.resize(spirv->getBufferSize() / sizeof(std::uint32_t));
    std::memcpy(code.words.data(), spirv->getBufferPointer(),
                code.words.size() * sizeof(std::uint32_t));
    return code;
}

}}  // namespace pumice::PUMICE_ABI
