// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A file mapped for reading: what weights are uploaded from. The first step of a model's way.
#pragma once

#include <pumice/base/error.hpp>

#include <mio/mmap.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#ifndef _WIN32
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace pumice::inline PUMICE_ABI {

namespace detail {

[[noreturn]] inline void throw_io(const std::filesystem::path& file, const std::string& why) {
    throw error(errc::io_failed, "mapped_file", file.string() + ": " + why);
}

#ifndef _WIN32
/// A file descriptor that closes itself.
class descriptor {
public:
    explicit descriptor(int fd) noexcept : fd_(fd) {}
    descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    int get() const noexcept { return fd_; }

private:
    int fd_;
};

inline std::string last_io_error() { return std::generic_category().message(errno); }
#endif

}  // namespace detail

/// A regular file in memory, never written. Lives as long as someone holds the pointer.
class mapped_file {
public:
    /// Maps the file that `path` names, symbolic links followed. Throws errc::io_failed.
    static std::shared_ptr<const mapped_file> open(const std::filesystem::path& path) {
#ifdef _WIN32
        std::error_code code;
        const auto status = std::filesystem::status(path, code);
        if (code) detail::throw_io(path, code.message());
        if (!std::filesystem::is_regular_file(status))
            detail::throw_io(path, "is not a regular file");
        return std::shared_ptr<const mapped_file>(new mapped_file(path, path.string()));
#else
        // O_NONBLOCK: opening a FIFO must not wait for a writer.
        detail::descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (fd.get() < 0) detail::throw_io(path, detail::last_io_error());
        return std::shared_ptr<const mapped_file>(new mapped_file(path, fd.get(), false));
#endif
    }

    /// Maps a file that another file names: `relative` stays beneath `folder`. Absolute paths, "..",
    /// symbolic links, hard links and anything but a regular file are refused, and the checks are made
    /// on what was opened, not on the name. Throws errc::bad_file for the name, errc::io_failed.
    static std::shared_ptr<const mapped_file> open_beneath(const std::filesystem::path& folder,
                                                           std::string_view relative) {
        const auto refuse = [&](const char* why) {
            throw error(errc::bad_file, "mapped_file", "\"" + std::string(relative) + "\" " + why);
        };
        if (relative.empty() || relative.find('\0') != relative.npos) refuse("is not a file name");
        const std::filesystem::path name(relative);
        if (name.is_absolute() || name.has_root_path())
            refuse("is not relative to the model's folder");
        for (const auto& part : name)
            if (part == "..") refuse("leaves the model's folder");
        if (!name.has_filename() || name.filename() == ".") refuse("is not a file name");
        const std::filesystem::path full = folder / name;
#ifdef _WIN32
        std::filesystem::path walked = folder;
        for (const auto& part : name)
            if (std::filesystem::is_symlink(walked /= part))
                refuse("leads through a symbolic link");
        if (std::filesystem::is_regular_file(full) && std::filesystem::hard_link_count(full) > 1)
            refuse("has several hard links, so it may belong elsewhere");
        return open(full);
#else
        detail::descriptor at(::open(folder.empty() ? "." : folder.c_str(),
                                     O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (at.get() < 0) detail::throw_io(folder, detail::last_io_error());
        for (auto part = name.begin(); part != name.end(); ++part) {
            if (part->empty() || *part == ".") continue;
            const bool last = std::next(part) == name.end();
            const int kind = last ? O_NONBLOCK : O_DIRECTORY;
            at = detail::descriptor(::openat(at.get(), part->c_str(),
                                             O_RDONLY | O_CLOEXEC | O_NOFOLLOW | kind));
            if (at.get() < 0)
                detail::throw_io(full, errno == ELOOP || errno == EMLINK
                                           ? "symbolic links are not followed"
                                           : detail::last_io_error());
        }
        return std::shared_ptr<const mapped_file>(new mapped_file(full, at.get(), true));
#endif
    }

    std::span<const std::byte> bytes() const noexcept { return {map_.data(), map_.size()}; }
    const std::filesystem::path& path() const noexcept { return path_; }

private:
    using mapping = mio::basic_mmap_source<std::byte>;

#ifdef _WIN32
    mapped_file(const std::filesystem::path& path, const std::string& name) : path_(path) {
        if (std::filesystem::file_size(path) == 0) return;
        std::error_code code;
        map_.map(name, code);
        if (code) detail::throw_io(path, code.message());
    }
#else
    mapped_file(const std::filesystem::path& path, int fd, bool single) : path_(path) {
        struct ::stat status{};
        if (::fstat(fd, &status) != 0) detail::throw_io(path, detail::last_io_error());
        if (!S_ISREG(status.st_mode)) detail::throw_io(path, "is not a regular file");
        if (single && status.st_nlink > 1)
            detail::throw_io(path, "has several hard links, so it may belong elsewhere; copy it");
        if (status.st_size == 0) return;  // nothing can be mapped, and there is nothing to read
        std::error_code code;
        map_.map(fd, code);
        if (code) detail::throw_io(path, code.message());
    }
#endif

    std::filesystem::path path_;
    mapping map_;
};

}  // namespace pumice::inline PUMICE_ABI
