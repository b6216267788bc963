// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Finds Slang's compiler library by looking at files only, and opens it when a kernel has to be
// compiled: a program whose kernels are cached or packed runs without it.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/error.hpp>
#include <pumice/base/unique_ptr.hpp>
#include <pumice/slang/detail/com.hpp>
#include <pumice/slang/detail/os.hpp>

#include <algorithm>
#include <memory>
#include <mutex>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {
inline constinit std::atomic<std::uint64_t> slang_opens{0}, slang_sessions{0};
}

/// How often this process opened a Slang library. A warm start leaves it at 0.
inline std::uint64_t slang_library_opens() noexcept { return detail::slang_opens.load(); }

/// How many global sessions this process made: more than one where one was released in between.
inline std::uint64_t slang_sessions_made() noexcept { return detail::slang_sessions.load(); }

/// Where the library would be taken from, told without opening it.
struct slang_location {
    std::filesystem::path file;      // empty: not found, the dynamic loader is the last hope
    std::string identity;            // file, size and time; empty with `file`
    std::vector<std::string> tried;  // places without the library, for the message
    bool named = false;              // the program or the variable says where; nowhere else, then

    bool found() const noexcept { return !file.empty(); }
};

namespace detail {

/// The library's names, the preferred first.
inline std::vector<std::string> slang_names() {
#if defined(_WIN32)
    return {"slang-compiler.dll", "slang.dll"};
#elif defined(__APPLE__)
    return {"libslang-compiler.dylib", "libslang.dylib"};
#else
    return {"libslang-compiler.so", "libslang.so"};
#endif
}

/// Orders file names with their numbers as numbers: 2026.9 before 2026.12.
inline bool version_less(std::string_view a, std::string_view b) {
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    while (!a.empty() && !b.empty()) {
        std::size_t n = 0, m = 0;
        while (n < a.size() && digit(a[n])) ++n;
        while (m < b.size() && digit(b[m])) ++m;
        if (n > 0 && m > 0 && n != m) return n < m;
        const std::size_t step = n > 0 && m > 0 ? n : 1;
        if (const int order = a.substr(0, step).compare(b.substr(0, step)); order != 0)
            return order < 0;
        a.remove_prefix(step);
        b.remove_prefix(step);
    }
    return a.size() < b.size();
}

/// The last of the versioned names in `folder` that begin with `prefix`; empty where none does.
inline fs::path newest_in(const fs::path& folder, const std::string& prefix) {
    std::error_code failed;
    std::string best;
    fs::directory_iterator it(folder, failed), end;
    for (; !failed && it != end; it.increment(failed)) {
        const std::string name = to_utf8(it->path().filename());
        if (name.starts_with(prefix) && version_less(best, name)) best = name;
    }
    return best.empty() ? fs::path() : folder / best;
}
/// The library in `folder`: under its plain name, else the last of its versioned names.
inline fs::path slang_in(const fs::path& folder) {
    std::error_code failed;
    for (const std::string& name : slang_names())
        if (fs::is_regular_file(folder / name, failed)) return folder / name;
    return newest_in(folder, slang_names().front());
}

inline void add_path_list(array_list<fs::path>& folders, const std::string& list) {
#if defined(_WIN32)
    const char separator = ';';
#else
    const char separator = ':';
#endif
    for (std::size_t at = 0; at < list.size();) {
        const std::size_t end = std::min(list.find(separator, at), list.size());
        if (end > at) folders.emplace_back(list.substr(at, end - at));
        at = end + 1;
    }
}

/// Folders to look in, in order: beside the program, the Vulkan SDK, then where the dynamic loader
/// looks, as far as that can be known without it.
inline array_list<fs::path> library_folders() {
    array_list<fs::path> folders;
    for (const fs::path& folder : program_folders()) {
        folders.push_back(folder);
        folders.push_back(folder.parent_path() / "lib");
    }
    if (const std::string sdk = environment("VULKAN_SDK"); !sdk.empty()) {
        folders.push_back(fs::path(sdk) / "lib");
        folders.push_back(fs::path(sdk) / "bin");
    }
#if defined(_WIN32)
    add_path_list(folders, environment("PATH"));
#elif defined(__APPLE__)
    add_path_list(folders, environment("DYLD_LIBRARY_PATH"));
    add_path_list(folders, "/usr/local/lib:/opt/homebrew/lib");
#else
    add_path_list(folders, environment("LD_LIBRARY_PATH"));
    add_path_list(folders, "/usr/local/lib:/usr/lib:/usr/lib64:/lib");
#if defined(__x86_64__)
    add_path_list(folders, "/usr/lib/x86_64-linux-gnu");
#elif defined(__aarch64__)
    add_path_list(folders, "/usr/lib/aarch64-linux-gnu");
#endif
#endif
    return folders;
}

inline std::string identity_of(const fs::path& file) {
    std::error_code failed;
    const auto size = fs::file_size(file, failed);
    const auto time = fs::last_write_time(file, failed).time_since_epoch().count();
    return cat({to_utf8(file), " ", size, " ", time});
}

}  // namespace detail

/// Looks for the library: `named` (a file or a folder) or, when that is empty, the variable
/// PUMICE_SLANG_LIBRARY, and only there if either is given; otherwise in the usual folders.
inline slang_location find_slang(const std::string& named = {}) {
    namespace fs = std::filesystem;
    slang_location place;
    const auto take = [&place](const fs::path& file) {
        std::error_code failed;
        const fs::path real = fs::canonical(file, failed);
        place.file = failed ? file : real;
        place.identity = detail::identity_of(place.file);
    };
    const std::string wish = named.empty() ? detail::environment("PUMICE_SLANG_LIBRARY") : named;
    if (!wish.empty()) {
        place.named = true;
        std::error_code failed;
        const fs::path file =
            fs::is_directory(wish, failed) ? detail::slang_in(wish) : fs::path(wish);
        if (fs::is_regular_file(file, failed)) take(file);
        else
            place.tried.push_back(wish + (named.empty() ? " (from PUMICE_SLANG_LIBRARY)"
                                                        : " (named by the program)"));
        return place;
    }
    for (const fs::path& folder : detail::library_folders()) {
        const fs::path file = detail::slang_in(folder);
        if (!file.empty()) {
            take(file);
            return place;
        }
        place.tried.push_back(detail::to_utf8(folder / detail::slang_names().front()));
    }
    return place;
}

/// An opened library with its one global session. Slang is one lock domain: whoever calls into it
/// holds `mutex`.
class slang_library {
public:
    /// The library at `place`, opened at most once per process and file and never closed.
    /// Throws errc::no_slang with every place that was tried and what can be done.
    static slang_library& open(const slang_location& place, bool* opened_now = nullptr);

    std::mutex mutex;
    /// The global session; made when it is not there (0.2 s, 170 MB). Call with `mutex` held.
    slang::IGlobalSession& session() { return get(session_, false); }
    /// One that also takes GLSL; likewise.
    slang::IGlobalSession& glsl_session() { return get(glsl_, true); }
    /// How many sessions of compilers live that were made from these. Such a session writes to its
    /// global one as it ends. Call with `mutex` held.
    int sessions = 0;
    /// Releases both, where no compiler has a session left. Call with `mutex` held.
    void drop_unused() noexcept {
        if (sessions > 0) return;
        session_.reset();
        glsl_.reset();
    }
    /// The compiler's own version text. Call with `mutex` held.
    std::string build_tag() { return session().getBuildTagString(); }
    /// As slang_location::identity, of the file that was really opened.
    const std::string& identity() const noexcept { return identity_; }

private:
    slang::IGlobalSession& get(detail::com_ptr<slang::IGlobalSession>& session, bool glsl) {
        if (session) return *session.get();
        SlangGlobalSessionDesc description{};
        description.enableGLSL = glsl;
        if (SLANG_FAILED(make_(&description, session.out())) || !session)
            throw error(errc::no_slang, "slang",
                        glsl ? "the library made no session for GLSL"
                             : "the library made no session",
                        {detail::to_utf8(file_), "use a library of version 2026.12 or newer"});
        ++detail::slang_sessions;
        return *session.get();
    }

    using maker = SlangResult (*)(const SlangGlobalSessionDesc*, slang::IGlobalSession**);

    slang_library(maker make, std::filesystem::path file)
        : make_(make), file_(std::move(file)), identity_(detail::identity_of(file_)) {}

    maker make_;
    std::filesystem::path file_;
    std::string identity_;
    detail::com_ptr<slang::IGlobalSession> session_, glsl_;
};

inline slang_library& slang_library::open(const slang_location& place, bool* opened_now) {
    // Never freed: a global session takes long to destroy and Slang must outlive every session.
    static std::mutex& guard = *new std::mutex;
    struct opened {
        std::filesystem::path file;
        slang_library* library;
    };
    static auto& libraries = *new array_list<opened>;
    const std::lock_guard lock(guard);
    for (const opened& known : libraries)
        if (known.file == place.file) return *known.library;

    std::vector<std::string> reasons;
    for (const std::string& path : place.tried) reasons.push_back(cat({"not there: ", path}));
    array_list<std::filesystem::path> files;
    if (place.found()) files.push_back(place.file);
    else if (!place.named)
        for (const std::string& name : detail::slang_names()) files.emplace_back(name);
    for (const std::filesystem::path& file : files) {
        std::string why;
        void* handle = detail::open_library(file, why);
        void* symbol = handle ? detail::find_symbol(handle, "slang_createGlobalSession2") : nullptr;
        if (symbol) {
            ++detail::slang_opens;
            if (opened_now) *opened_now = true;
            const std::filesystem::path real =
                place.found() ? file : detail::library_file(handle, symbol);
            auto library =
                unique_ptr<slang_library>(new slang_library(reinterpret_cast<maker>(symbol), real));
            libraries.push_back({place.file, library.get()});
            return *library.release();
        }
        reasons.push_back(handle ? detail::to_utf8(file) +
                                       " has no slang_createGlobalSession2: too old"
                                 : why);
    }
    reasons
        .push_back("install Slang (github.com/shader-slang/slang, the Vulkan SDK has it too), or");
    reasons.push_back("set PUMICE_SLANG_LIBRARY to libslang-compiler or its folder, or");
    reasons.push_back(
        "ship the kernels: run once where Slang is and keep a pack (PUMICE_RECORD_PACK=FILE)");
    throw error(errc::no_slang, "slang",
                "a kernel has to be compiled and there is no Slang library", std::move(reasons));
}

}}  // namespace pumice::PUMICE_ABI
