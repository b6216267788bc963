// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Compiled kernels on disk, shared by processes. Nothing that happens to the folder (kill, full or
// read-only disk, damage) can do more than make a kernel compile again.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/log.hpp>
#include <pumice/slang/detail/digest.hpp>
#include <pumice/slang/detail/os.hpp>

#include <algorithm>
#include <utility>

namespace pumice { inline namespace PUMICE_ABI {

/// PUMICE_CACHE_DIR ("off": no cache), else the user's cache folder; empty when there is none.
inline std::filesystem::path default_cache_folder() {
    namespace fs = std::filesystem;
    if (const std::string named = detail::environment("PUMICE_CACHE_DIR"); !named.empty())
        return named == "off" ? fs::path() : fs::path(named);
#if defined(_WIN32)
    if (const wchar_t* local = _wgetenv(L"LOCALAPPDATA"); local && *local)
        return fs::path(local) / "pumice" / "cache";
#else
    if (const fs::path xdg = detail::environment("XDG_CACHE_HOME"); xdg.is_absolute())
        return xdg / "pumice";
    if (const fs::path home = detail::environment("HOME"); home.is_absolute())
        return home / ".cache" / "pumice";
#endif
    return {};
}

/// A folder of entries. An entry has a key text, the identity of the compiler that made it, and a
/// payload; entries of one key by several compilers lie side by side. Safe from any thread.
///
/// File: magic 8 | checksum 16 | version 4 | identity size 4 | key size 4 | zero 4 | payload size 8
/// | identity | key | payload. The checksum covers all that follows it.
class disk_cache {
public:
    static constexpr std::uint64_t default_limit = 512u << 20;

    /// An empty folder is a cache that holds nothing. Pre: none; the folder is made when needed.
    explicit disk_cache(std::filesystem::path folder = default_cache_folder(),
                        std::uint64_t limit = default_limit)
        : folder_(std::move(folder)), limit_(limit) {}

    const std::filesystem::path& folder() const noexcept { return folder_; }

    /// The payload kept for `key` by the compiler `identity`; by any compiler if that is empty.
    /// What is damaged or of another key counts as absent.
    std::optional<std::string> read(std::string_view key, std::string_view identity) const {
        if (folder_.empty()) return std::nullopt;
        const std::string name = to_string(digest_of(key));
        if (!identity.empty()) return load(bucket(name) / file_name(name, identity), key, identity);
        std::error_code failed;
        std::filesystem::directory_iterator it(bucket(name), failed), end;
        for (; !failed && it != end; it.increment(failed))
            if (detail::to_utf8(it->path().filename()).starts_with(name))
                if (std::optional<std::string> payload = load(it->path(), key, identity))
                    return payload;
        return std::nullopt;
    }

    /// Keeps a payload, over an older one of the same key and compiler. What cannot be written is
    /// logged once and otherwise ignored.
    void write(std::string_view key, std::string_view identity, std::string_view payload) {
        if (folder_.empty()) return;
        const std::string name = to_string(digest_of(key));
        const std::filesystem::path file = bucket(name) / file_name(name, identity);
        const std::filesystem::path waiting = folder_ / "writing";
        std::error_code failed;
        std::filesystem::create_directories(file.parent_path(), failed);
        if (!failed) std::filesystem::create_directories(waiting, failed);
        if (!failed) {
            remove_leftovers(waiting);
            failed = detail::write_whole(waiting / detail::unique_name(), file,
                                         pack(key, identity, payload));
        }
        if (!failed) trim(file);
        else if (!complained_.test_and_set())
            write_log(severity::warning, cat({"[cache] kernels are not kept: cannot write in ",
                                              detail::to_utf8(folder_), ": ", failed.message(),
                                              "; PUMICE_CACHE_DIR names another folder"}));
    }

private:
    static constexpr char magic[8] = {'P', 'U', 'M', 'I', 'C', 'E', '\r', '\n'};
    static constexpr std::uint32_t version = 1;
    static constexpr std::size_t checked_from = sizeof magic + 16;
    static constexpr std::size_t header_size = checked_from + 4 * 4 + 8;
    static constexpr std::size_t largest_entry = 64u << 20;
    static constexpr unsigned buckets = 256;

    std::filesystem::path bucket(const std::string& name) const {
        return folder_ / name.substr(0, 2);
    }

    static std::string file_name(const std::string& name, std::string_view identity) {
        return cat({name, "-", to_string(digest_of(identity)).substr(0, 16)});
    }

    template <class Number>
    static void put(std::string& out, Number value) {
        char bytes[sizeof value];
        for (std::size_t i = 0; i < sizeof value; ++i)
            bytes[i] = static_cast<char>((value >> (8 * i)) & 255u);
        out.append(bytes, sizeof value);
    }
    template <class Number>
    static Number take(std::string_view bytes, std::size_t at) {
        Number value = 0;
        for (std::size_t i = sizeof value; i-- > 0;)
            value = static_cast<Number>((value << 8) | static_cast<unsigned char>(bytes[at + i]));
        return value;
    }

    static std::string pack(std::string_view key, std::string_view identity,
                            std::string_view payload) {
        std::string rest;
        rest.reserve(header_size + identity.size() + key.size() + payload.size());
        put(rest, version);
        put(rest, static_cast<std::uint32_t>(identity.size()));
        put(rest, static_cast<std::uint32_t>(key.size()));
        put(rest, std::uint32_t{0});
        put(rest, static_cast<std::uint64_t>(payload.size()));
        rest.append(identity).append(key).append(payload);
        const digest checksum = digest_of(rest);
        std::string bytes(magic, sizeof magic);
        put(bytes, checksum.low);
        put(bytes, checksum.high);
        return bytes + rest;
    }

    /// The payload of the entry in `bytes` if it is whole and answers `key` and `identity`.
    static std::optional<std::string> unpack(std::string_view bytes, std::string_view key,
                                             std::string_view identity) {
        if (bytes.size() < header_size || !bytes.starts_with(std::string_view(magic, sizeof magic)))
            return std::nullopt;
        const digest checksum{take<std::uint64_t>(bytes, 16), take<std::uint64_t>(bytes, 8)};
        if (digest_of(bytes.substr(checked_from)) != checksum) return std::nullopt;
        if (take<std::uint32_t>(bytes, checked_from) != version) return std::nullopt;
        const std::uint64_t identity_size = take<std::uint32_t>(bytes, checked_from + 4);
        const std::uint64_t key_size = take<std::uint32_t>(bytes, checked_from + 8);
        const std::uint64_t payload_size = take<std::uint64_t>(bytes, checked_from + 16);
        const std::uint64_t body = bytes.size() - header_size;
        if (payload_size > body || identity_size + key_size != body - payload_size)
            return std::nullopt;
        bytes.remove_prefix(header_size);
        if (!identity.empty() && bytes.substr(0, identity_size) != identity) return std::nullopt;
        if (bytes.substr(identity_size, key_size) != key) return std::nullopt;
        return std::string(bytes.substr(identity_size + key_size));
    }

    static std::optional<std::string> load(const std::filesystem::path& file, std::string_view key,
                                           std::string_view identity) {
        const std::optional<std::string> bytes = detail::read_file(file, largest_entry);
        if (!bytes) return std::nullopt;
        std::optional<std::string> payload = unpack(*bytes, key, identity);
        if (payload) mark_used(file);
        return payload;
    }

    /// Lets `trim` see what is in use, at the price of one change of the file's time a day.
    static void mark_used(const std::filesystem::path& file) {
        std::error_code failed;
        const auto now = std::filesystem::file_time_type::clock::now();
        const auto last = std::filesystem::last_write_time(file, failed);
        if (!failed && now - last > std::chrono::hours(24))
            std::filesystem::last_write_time(file, now, failed);
    }

    /// Once per cache object: what killed writers left.
    void remove_leftovers(const std::filesystem::path& waiting) {
        if (swept_.test_and_set()) return;
        std::error_code failed;
        std::filesystem::directory_iterator it(waiting, failed), end;
        for (; !failed && it != end; it.increment(failed)) detail::remove_if_abandoned(it->path());
    }

    /// Keeps the bucket of `fresh` within its share of the limit: hashed names fill buckets evenly,
    /// so the folder as a whole stays bounded and nobody ever has to list it.
    void trim(const std::filesystem::path& fresh) const {
        struct entry {
            std::filesystem::file_time_type time;
            std::uintmax_t size;
            std::filesystem::path path;
        };
        array_list<entry> entries;
        std::uintmax_t total = 0;
        std::error_code failed, ignored;
        std::filesystem::directory_iterator it(fresh.parent_path(), failed), end;
        for (; !failed && it != end; it.increment(failed)) {
            const std::uintmax_t size = it->file_size(ignored);
            if (ignored) continue;
            total += size;
            entries.push_back({it->last_write_time(ignored), size, it->path()});
        }
        if (total <= limit_ / buckets) return;
        const auto newer = [](const entry& a, const entry& b) { return a.time > b.time; };
        std::make_heap(entries.begin(), entries.end(), newer);
        for (; total > limit_ / buckets / 4 * 3 && !entries.empty(); entries.pop_back()) {
            std::pop_heap(entries.begin(), entries.end(), newer);
            const entry& oldest = entries.back();
            if (oldest.path == fresh) continue;
            std::filesystem::remove(oldest.path, ignored);
            total -= oldest.size;
        }
    }

    std::filesystem::path folder_;
    std::uint64_t limit_;
    std::atomic_flag complained_;
    std::atomic_flag swept_;
};

}}  // namespace pumice::PUMICE_ABI
