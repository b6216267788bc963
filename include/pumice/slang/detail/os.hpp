// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the operating system gives to slang/: shared libraries, environment, whole-file I/O.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/file_name.hpp>
#include <pumice/base/text.hpp>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#if defined(_WIN32)
#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

#include <fstream>
#else
#include <dlfcn.h>
#include <fcntl.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

namespace fs = std::filesystem;

/// The value of an environment variable; empty when it is not set.
inline std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

inline std::string to_utf8(const fs::path& path) {
    const auto text = path.u8string();
    return {text.begin(), text.end()};
}

/// Memory that was freed goes back to the system, where its allocator keeps it otherwise.
inline void return_free_memory() noexcept {
#if defined(__GLIBC__)
    ::malloc_trim(0);
#endif
}

/// Runs f and rethrows what it throws; in a thread of its own where memory lies by threads (glibc's
/// arenas). What f frees is then not strewn among what others keep, and return_free_memory() gives
/// it back.
template <class F>
void in_own_arena(const F& f) {
#if defined(__GLIBC__)
    std::exception_ptr thrown;
    std::thread thread;
    try {
        thread = std::thread([&] {
            try {
                f();
            } catch (...) {
                thrown = std::current_exception();
            }
        });
    } catch (const std::system_error&) {  // the system gives no thread: here, then
        return f();
    }
    thread.join();
    if (thrown) std::rethrow_exception(thrown);
#else
    f();
#endif
}

/// Who may read a file that is written.
enum class readable_by : unsigned { owner = 0600, others = 0666 };  // as far as the umask lets them

#if defined(_WIN32)

inline void* open_library(const fs::path& path, std::string& why) {
    void* handle =
        reinterpret_cast<void*>(LoadLibraryExW(path.c_str(), nullptr,
                                               path.is_absolute() ? LOAD_WITH_ALTERED_SEARCH_PATH
                                                                  : 0));
    if (!handle) why = std::system_category().message(static_cast<int>(GetLastError()));
    return handle;
}

inline void* find_symbol(void* library, const char* name) {
    return reinterpret_cast<void*>(GetProcAddress(reinterpret_cast<HMODULE>(library), name));
}

/// The file that a loaded library came from; empty when the system does not tell.
inline fs::path library_file(void* library, void*) {
    wchar_t name[4096];
    const DWORD n = GetModuleFileNameW(reinterpret_cast<HMODULE>(library), name, 4096);
    return n > 0 && n < 4096 ? fs::path(name) : fs::path();
}

/// Folders in which a program keeps its own libraries.
inline array_list<fs::path> program_folders() {
    return {library_file(nullptr, nullptr).parent_path()};
}

/// The bytes of a regular file of at most `limit` bytes; nothing when it cannot be read whole.
inline std::optional<std::string> read_file(const fs::path& path, std::size_t limit) {
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    const auto size = in ? static_cast<std::streamoff>(in.tellg()) : std::streamoff(-1);
    if (size < 0 || static_cast<std::uintmax_t>(size) > limit) return std::nullopt;
    std::string bytes(static_cast<std::size_t>(size), '\0');
    in.seekg(0);
    if (!in.read(bytes.data(), size)) return std::nullopt;
    return bytes;
}

/// Writes all of `bytes` to a new file; an error leaves no file.
inline std::error_code write_whole(const fs::path& temporary, const fs::path& final_path,
                                   std::string_view bytes, readable_by = readable_by::owner) {
    std::error_code failed;
    {
        std::ofstream out(temporary, std::ios::binary);
        out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        out.flush();
        if (!out) failed = std::make_error_code(std::errc::io_error);
    }
    if (!failed) fs::rename(temporary, final_path, failed);
    std::error_code ignored;
    if (failed) fs::remove(temporary, ignored);
    return failed;
}

/// Removes a temporary file whose writer is gone; an open file refuses to be removed.
inline void remove_if_abandoned(const fs::path& temporary) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
}

#else

inline void* open_library(const fs::path& path, std::string& why) {
    void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char* text = ::dlerror();
        why = text ? text : "dlopen failed";
    }
    return handle;
}

inline void* find_symbol(void* library, const char* name) { return ::dlsym(library, name); }

/// The file that holds `symbol`; empty when the system does not tell.
inline fs::path library_file(void*, void* symbol) {
    Dl_info found{};
    return ::dladdr(symbol, &found) != 0 && found.dli_fname ? fs::path(found.dli_fname)
                                                            : fs::path();
}

/// Folders in which a program keeps its own libraries: of the library that contains Pumice (a
/// plug-in, a Python module), then of the executable.
inline array_list<fs::path> program_folders() {
    array_list<fs::path> folders;
    std::error_code failed;
    const fs::path own = library_file(nullptr, reinterpret_cast<void*>(&program_folders));
    if (own.has_parent_path()) folders.push_back(fs::weakly_canonical(own, failed).parent_path());
    const fs::path executable = fs::read_symlink("/proc/self/exe", failed);
    if (!failed && (folders.empty() || folders.front() != executable.parent_path()))
        folders.push_back(executable.parent_path());
    return folders;
}

/// Closes a descriptor at the end of the scope, and with it frees its lock.
struct file_descriptor {
    int value;
    explicit file_descriptor(int v) noexcept : value(v) {}
    file_descriptor(const file_descriptor&) = delete;
    file_descriptor& operator=(const file_descriptor&) = delete;
    ~file_descriptor() {
        if (value >= 0) ::close(value);
    }
};

inline std::error_code last_error() { return {errno, std::generic_category()}; }

/// The bytes of a regular file of at most `limit` bytes; nothing when it cannot be read whole.
inline std::optional<std::string> read_file(const fs::path& path, std::size_t limit) {
    const file_descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status{};
    if (file.value < 0 || ::fstat(file.value, &status) != 0 || !S_ISREG(status.st_mode) ||
        static_cast<std::uintmax_t>(status.st_size) > limit)
        return std::nullopt;
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t n = ::read(file.value, bytes.data() + at, bytes.size() - at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return std::nullopt;
        at += static_cast<std::size_t>(n);
    }
    return bytes;
}

/// Opens a new file, locked; a value below 0 where it cannot.
inline int create_locked(const fs::path& path, readable_by who) {
    for (int tries = 0;; ++tries) {
        const int file =
            ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, static_cast<mode_t>(who));
        if (file < 0) return file;
        while (::flock(file, LOCK_EX) != 0 && errno == EINTR) {
        }
        // Before it was locked, whoever removes leftovers may have taken it for one.
        struct stat status{};
        if (::fstat(file, &status) != 0 || status.st_nlink != 0 || tries == 100) return file;
        ::close(file);
    }
}

/// Writes a file so that `final_path` is at any time absent, the old file or the whole new one.
/// The temporary file is locked while its writer lives, so that others can tell it from a
/// leftover. An error leaves no file.
inline std::error_code write_whole(const fs::path& temporary, const fs::path& final_path,
                                   std::string_view bytes, readable_by who = readable_by::owner) {
    const file_descriptor file(create_locked(temporary, who));
    if (file.value < 0) return last_error();
    std::error_code failed;
    while (!failed && !bytes.empty()) {
        const ssize_t n = ::write(file.value, bytes.data(), bytes.size());
        if (n >= 0) bytes.remove_prefix(static_cast<std::size_t>(n));
        else if (errno != EINTR) failed = last_error();
    }
    if (!failed && ::fsync(file.value) != 0) failed = last_error();
    if (!failed && ::rename(temporary.c_str(), final_path.c_str()) != 0) failed = last_error();
    if (failed) ::unlink(temporary.c_str());
    return failed;
}

/// Removes a temporary file whose writer is gone, which is when its lock is free.
inline void remove_if_abandoned(const fs::path& temporary) {
    const file_descriptor file(::open(temporary.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.value >= 0 && ::flock(file.value, LOCK_EX | LOCK_NB) == 0) ::unlink(temporary.c_str());
}

#endif

}}}  // namespace pumice::PUMICE_ABI::detail
