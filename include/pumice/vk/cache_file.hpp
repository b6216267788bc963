// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A file that is either whole and ours or not there: for blobs that a driver must not see damaged.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/text.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#ifndef _WIN32
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

using cache_blob = array_list<unsigned char>;

/// Whose blob it is. One byte of difference makes a file worthless.
using cache_identity = std::array<unsigned char, 48>;

namespace detail {

/// What stands before the blob. The checksum is over all of the header before it, and over the
/// blob.
struct cache_header {
    char magic[8] = {'P', 'U', 'M', 'I', 'C', 'E', 'P', 'C'};
    std::uint32_t version = 1;
    std::uint32_t byte_order = 0x01020304;
    std::uint64_t length = 0;
    cache_identity identity{};
    std::uint64_t checksum = 0;
};
static_assert(sizeof(cache_header) == 80);

/// XXH3-64. Always with a seed: each function of xxhash that is called is inlined as a whole.
inline std::uint64_t xxh3(const void* bytes, std::size_t length, std::uint64_t seed = 0) noexcept {
    return XXH3_64bits_withSeed(bytes, length, seed);
}
inline std::uint64_t checksum_of(const cache_header& header, const unsigned char* blob) noexcept {
    return xxh3(blob, header.length, xxh3(&header, offsetof(cache_header, checksum)));
}

inline std::FILE* open_file(const std::filesystem::path& path, [[maybe_unused]] const char* mode) {
#ifdef _WIN32
    return ::_wfopen(path.c_str(), mode[0] == 'r' ? L"rb" : L"wb");
#elif defined(__linux__)
    return std::fopen(path.c_str(), mode);
#else
    return std::fopen(path.c_str(), mode[0] == 'r' ? "rb" : "wb");
#endif
}

struct close_file {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

}  // namespace detail

/// The blob of `path`, or empty with a reason in `why` (also empty: there is no file).
inline cache_blob read_cache_file(const std::filesystem::path& path, const cache_identity& identity,
                                  std::string& why) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return {};  // opening a pipe would wait
    const std::unique_ptr<std::FILE, detail::close_file> opened(detail::open_file(path, "rbe"));
    std::FILE* const file = opened.get();
    if (!file) {
        why = "it cannot be opened";
        return {};
    }
    // The size of what was opened: by now another process may have renamed a new file to this name.
    constexpr long most = 1L << 30;
    const long size = std::fseek(file, 0, SEEK_END) == 0 ? std::ftell(file) : -1;
    detail::cache_header header;
    cache_blob blob;
    bool read = false;
    if (size >= static_cast<long>(sizeof header) && size <= most) {
        std::rewind(file);
        blob.resize(static_cast<std::size_t>(size) - sizeof header);
        read = std::fread(&header, sizeof header, 1, file) == 1 &&
               std::fread(blob.data(), 1, blob.size(), file) == blob.size();
    }
    const detail::cache_header expected;
    if (!read) why = cat({"it has ", size, " bytes, or cannot be read"});
    else if (std::memcmp(header.magic, expected.magic, sizeof header.magic) != 0)
        why = "it is not ours";
    else if (header.version != expected.version || header.byte_order != expected.byte_order)
        why = "another version wrote it";
    else if (header.identity != identity) why = "it is of another driver or device";
    else if (header.length != blob.size()) why = "its length is wrong";
    else if (header.checksum != detail::checksum_of(header, blob.data()))
        why = "its checksum is wrong";
    else return blob;
    return {};
}

/// Writes beside `path` and renames, so that a reader, or a process killed at any point, leaves the
/// old file or the new one. Where another process writes just now, that one's stays. False with a
/// reason in `why`.
inline bool write_cache_file(const std::filesystem::path& path, const cache_identity& identity,
                             const cache_blob& blob, std::string& why) {
    detail::cache_header header;
    header.length = blob.size();
    header.identity = identity;
    header.checksum = detail::checksum_of(header, blob.data());
    std::error_code failed;
    // What goes wrong with the folder shows when the file is opened.
    std::filesystem::create_directories(path.parent_path(), failed);
    // One name for all writers: what a killed one leaves is the next one's to overwrite.
    std::filesystem::path temporary = path;
    temporary += ".new";
#ifdef _WIN32
    std::FILE* file = detail::open_file(temporary, "wb");
#else
    // The lock is on the file, not its name: the holder may have renamed it before we got the lock.
    const int descriptor =
        ::open(temporary.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    struct stat ours{}, named{};
    if (descriptor >= 0 &&
        (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 || ::fstat(descriptor, &ours) != 0 ||
         ::stat(temporary.c_str(), &named) != 0 || ours.st_ino != named.st_ino ||
         ours.st_dev != named.st_dev)) {
        ::close(descriptor);
        return true;
    }
    std::FILE* file = nullptr;
    if (descriptor >= 0 && ::ftruncate(descriptor, 0) == 0) file = ::fdopen(descriptor, "wb");
    if (!file && descriptor >= 0) ::close(descriptor);
#endif
    if (!file) {
        why = "a file beside it cannot be created";
        return false;
    }
    bool written = std::fwrite(&header, sizeof header, 1, file) == 1 &&
                   std::fwrite(blob.data(), 1, blob.size(), file) == blob.size() &&
                   std::fflush(file) == 0;
#ifndef _WIN32
    written = written && ::fsync(descriptor) == 0;
    // Renamed while locked: nobody else writes into what becomes the file.
    if (written) std::filesystem::rename(temporary, path, failed);
    if (!written || failed) ::unlink(temporary.c_str());
    std::fclose(file);
#else
    written = std::fclose(file) == 0 && written;
    if (written) std::filesystem::rename(temporary, path, failed);
    std::error_code ignored;
    if (!written || failed) std::filesystem::remove(temporary, ignored);
#endif
    if (!written) why = "it cannot be written";
    else if (failed) why = failed.message();
    return written && !failed;
}

}}}  // namespace pumice::PUMICE_ABI::vulkan
