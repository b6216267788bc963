// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Compiled kernels in one file or array, shipped with a program so that it runs without Slang.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/error.hpp>
#include <pumice/base/span.hpp>
#include <pumice/slang/detail/digest.hpp>
#include <pumice/slang/request.hpp>

#include <cstring>
#include <memory>

namespace pumice { inline namespace PUMICE_ABI {

/// Kernels by the digest that names them. As bytes, in 32-bit little-endian words:
///
///   magic 2 | checksum 4 | version 1 | count 1 | library digest 4
///   | count times: digest 4, first word 1, words 1 | code
///
/// Entries are in the order of their digests; the checksum covers what follows it.
class kernel_pack {
public:
    static constexpr std::uint32_t version = 1;

    /// `library`: names the shaders and options that its kernels are made from.
    explicit kernel_pack(digest library) : library_(library) {}

    /// Throws errc::bad_file where the bytes are no pack, damaged, of another version, or of other
    /// shaders than `library`. `from` is how messages call it.
    kernel_pack(span<const std::byte> bytes, digest library, std::string_view from)
        : library_(library) {
        const auto refuse = [&](std::initializer_list<piece> why) {
            throw error(errc::bad_file, "pack", cat({from, ": ", cat(why)}),
                        {"record it anew with this version of the program (PUMICE_RECORD_PACK)"});
        };
        const std::size_t size = bytes.size() / 4;
        const auto word = [&](std::size_t i) {
            std::uint32_t v = 0;
            for (int k = 3; k >= 0; --k)
                v = v << 8 | static_cast<std::uint32_t>(bytes[4 * i + static_cast<std::size_t>(k)]);
            return v;
        };
        const auto long_word = [&](std::size_t i) {
            return word(i) | static_cast<std::uint64_t>(word(i + 1)) << 32;
        };
        const auto digest_at = [&](std::size_t i) {
            return digest{long_word(i + 2), long_word(i)};
        };
        if (size < header || bytes.size() % 4 != 0 || !begins(bytes)) refuse({"this is no pack"});
        if (word(6) != version)
            refuse({"a pack of version ", word(6), "; this program reads ", version});
        if (digest_of({reinterpret_cast<const char*>(bytes.data()) + 4 * checked_from,
                       bytes.size() - 4 * checked_from}) != digest_at(2))
            refuse({"the pack is damaged"});
        if (digest_at(8) != library)
            refuse({"the pack was recorded with other kernels than this program's"});
        const std::uint64_t count = word(7);
        if (count > (size - header) / entry) refuse({"the pack is damaged"});
        // Codes lie one after the other, so they take no more memory than the pack.
        std::uint64_t next = header + entry * count;
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::size_t at = header + entry * i;
            const std::uint64_t first = word(at + 4), words = word(at + 5);
            if (first != next || words > size - first) refuse({"the pack is damaged"});
            const auto code = std::make_shared<spirv_code>();
            code->words.reserve(words);
            for (std::uint64_t k = 0; k < words; ++k) code->words.push_back(word(first + k));
            kernels_.set(digest_at(at), code);
            next += words;
        }
        if (next != size) refuse({"the pack is damaged"});
    }

    /// Whether bytes begin as a pack does.
    static bool begins(span<const std::byte> bytes) {
        const std::string begin = little_endian({magic[0], magic[1]});
        return bytes.size() >= begin.size() &&
               std::memcmp(bytes.data(), begin.data(), begin.size()) == 0;
    }

    void add(digest name, const spirv_code& code) {
        kernels_.set(name, std::make_shared<const spirv_code>(code));
    }
    void add(const kernel_pack& other) {
        for (const auto& [name, code] : other.kernels_)
            if (!kernels_.find(name)) kernels_.set(name, code);
    }

    /// The code of a name, or null.
    std::shared_ptr<const spirv_code> find(digest name) const { return kernels_.find(name); }
    std::size_t size() const noexcept { return kernels_.size(); }
    /// Pairs of names and codes, in the order of the names.
    const spirv_table& kernels() const noexcept { return kernels_; }

    /// The same kernels give the same bytes, in whatever order they were added.
    std::string bytes() const {
        array_list<std::uint32_t> words;
        const auto put = [&](digest d) {
            for (const std::uint64_t v : {d.low, d.high}) {
                words.push_back(static_cast<std::uint32_t>(v));
                words.push_back(static_cast<std::uint32_t>(v >> 32));
            }
        };
        words = {version, static_cast<std::uint32_t>(kernels_.size())};
        put(library_);
        std::size_t first = header + entry * kernels_.size();
        for (const auto& [name, code] : kernels_) {
            put(name);
            words.push_back(static_cast<std::uint32_t>(first));
            words.push_back(static_cast<std::uint32_t>(code->words.size()));
            first += code->words.size();
        }
        for (const auto& [name, code] : kernels_)
            words.append(code->words.begin(), code->words.end());
        const std::string rest = little_endian(words);
        words = {magic[0], magic[1]};
        put(digest_of(rest));
        return little_endian(words) + rest;
    }

private:
    static constexpr std::uint32_t magic[2] = {0x494d5550u, 0x4b434150u};  // "PUMIPACK"
    static constexpr std::size_t checked_from = 6, header = 12, entry = 6;

    static std::string little_endian(const array_list<std::uint32_t>& words) {
        std::string bytes;
        bytes.reserve(4 * words.size());
        for (const std::uint32_t w : words)
            for (int shift = 0; shift < 32; shift += 8)
                bytes.push_back(static_cast<char>((w >> shift) & 255u));
        return bytes;
    }

    digest library_;
    spirv_table kernels_;
};

}}  // namespace pumice::PUMICE_ABI
