// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A file that is read by offset and length, into memory of the reader's own: what another process
// does to it meanwhile or later gives an error at most. The first step of a model's way.
#pragma once

#include <pumice/base/error.hpp>
#include <pumice/base/span.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#ifdef _WIN32
#include <fstream>
#include <mutex>
#else
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

[[noreturn]] inline void throw_io(const std::filesystem::path& file, const std::string& why) {
    throw error(errc::io_failed, "input_file", file.string() + ": " + why);
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

/// A regular file, open for reading. Reads may come from several threads; `close` may not run
/// beside them.
class input_file {
public:
    /// Opens the file that `path` names, symbolic links followed. Throws errc::io_failed.
    static std::shared_ptr<input_file> open(const std::filesystem::path& path) {
#ifdef _WIN32
        std::error_code code;
        const auto status = std::filesystem::status(path, code);
        if (code) detail::throw_io(path, code.message());
        if (!std::filesystem::is_regular_file(status))
            detail::throw_io(path, "is not a regular file");
        return std::shared_ptr<input_file>(new input_file(path));
#else
        // O_NONBLOCK: opening a FIFO must not wait for a writer.
        detail::descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (fd.get() < 0) detail::throw_io(path, detail::last_io_error());
        return std::shared_ptr<input_file>(new input_file(path, std::move(fd), false));
#endif
    }

    /// Opens a file that another file names: `relative` stays beneath `folder`. Absolute paths,
    /// "..", symbolic links, hard links and anything but a regular file are refused, and the checks
    /// are made on what was opened, not on the name. Throws errc::bad_file for the name,
    /// errc::io_failed.
    static std::shared_ptr<input_file> open_beneath(const std::filesystem::path& folder,
                                                    std::string_view relative) {
        const auto refuse = [&](const char* why) {
            throw error(errc::bad_file, "input_file",
                        "\"" + std::string(relative.substr(0, 128)) + "\" " + why);
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
        return std::shared_ptr<input_file>(new input_file(full, std::move(at), true));
#endif
    }

    std::uint64_t size() const noexcept { return size_; }  // when it was opened
    const std::filesystem::path& path() const noexcept { return path_; }

    /// Fills `into` from `offset` on. Throws errc::io_failed, also where the file has become
    /// shorter.
    void read(std::uint64_t offset, span<std::byte> into) const {
#ifdef _WIN32
        const std::lock_guard lock(mutex_);
        if (!file_.is_open()) detail::throw_io(path_, "is closed");
        file_.clear();
        file_.seekg(static_cast<std::streamoff>(offset));
        if (!file_.read(reinterpret_cast<char*>(into.data()),
                        static_cast<std::streamsize>(into.size())))
            detail::throw_io(path_, "became shorter while it was read");
#else
        if (fd_.get() < 0) detail::throw_io(path_, "is closed");
        while (!into.empty()) {
            const auto got =
                ::pread(fd_.get(), into.data(), into.size(), static_cast<::off_t>(offset));
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) detail::throw_io(path_, detail::last_io_error());
            if (got == 0) detail::throw_io(path_, "became shorter while it was read");
            into = into.subspan(static_cast<std::size_t>(got));
            offset += static_cast<std::uint64_t>(got);
        }
#endif
    }
    std::vector<std::byte> read(std::uint64_t offset, std::size_t length) const {
        std::vector<std::byte> bytes(length);
        read(offset, bytes);
        return bytes;
    }
    std::vector<std::byte> read_all() const { return read(0, static_cast<std::size_t>(size_)); }

#ifndef _WIN32
    /// Below 0 once it is closed.
    int descriptor() const noexcept { return fd_.get(); }
#endif
    /// Ends reading: what follows throws.
    void close() noexcept {
#ifdef _WIN32
        file_.close();
#else
        fd_ = detail::descriptor(-1);
#endif
    }

private:
#ifdef _WIN32
    explicit input_file(const std::filesystem::path& path)
        : path_(path), size_(std::filesystem::file_size(path)), file_(path, std::ios::binary) {
        if (!file_) detail::throw_io(path, "cannot be opened");
    }
    mutable std::mutex mutex_;
#else
    input_file(const std::filesystem::path& path, detail::descriptor fd, bool single)
        : path_(path), fd_(std::move(fd)) {
        struct ::stat status{};
        if (::fstat(fd_.get(), &status) != 0) detail::throw_io(path, detail::last_io_error());
        if (!S_ISREG(status.st_mode)) detail::throw_io(path, "is not a regular file");
        if (single && status.st_nlink > 1)
            detail::throw_io(path, "has several hard links, so it may belong elsewhere; copy it");
        size_ = static_cast<std::uint64_t>(status.st_size);
    }
#endif

    std::filesystem::path path_;
    std::uint64_t size_ = 0;
#ifdef _WIN32
    mutable std::ifstream file_;
#else
    detail::descriptor fd_;
#endif
};

}}  // namespace pumice::PUMICE_ABI
