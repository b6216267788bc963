// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The bytes of an ONNX file in memory at their offsets, without the long data of its tensors: those
// are holes that take no memory, and are read when they are uploaded.
#pragma once

#include <pumice/model/onnx/detail/proto.hpp>

#include <protozero/pbf_reader.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx { namespace detail {

/// Walks the messages that can hold tensors and reads everything but their long data.
class image_reader {
public:
    image_reader(const input_file& file, std::byte* into, const model_limits& limits)
        : file_(file), bytes_(into), size_(static_cast<std::size_t>(file.size())), limits_(limits) {
    }

    void run() {
        try {
            walk();
        } catch (const protozero::exception&) {  // the reader of messages says where and why
        }
    }

private:
    enum class kind : std::uint8_t { model, graph, node, attribute, tensor, other };

    /// What a field holds that is walked into.
    static kind inside(kind outer, std::uint32_t tag) noexcept {
        if (outer == kind::model && tag == 7) return kind::graph;
        if (outer == kind::graph && tag == 1) return kind::node;
        if (outer == kind::graph && tag == 5) return kind::tensor;
        if (outer == kind::node && tag == 5) return kind::attribute;
        if (outer == kind::attribute && tag == 5) return kind::tensor;
        return kind::other;
    }

    /// Sees that the bytes before `end` are there.
    void need(std::size_t end) {
        if (end <= there_) return;
        constexpr std::size_t piece = 1 << 16;
        end = std::min(std::max(end, there_ + std::min(piece, size_ - there_)), size_);
        taken_ += end - there_;
        if (std::cmp_greater(taken_, limits_.structure_bytes))
            throw error(errc::bad_file, "onnx",
                        file_.path().filename().string() +
                            ": holds more than names, nodes and short lists may take "
                            "(model_limits::structure_bytes)");
        file_.read(there_, {bytes_ + there_, end - there_});
        there_ = end;
    }

    std::uint64_t number(std::size_t& at, std::size_t end) {
        need(std::min(at + 10, end));  // no number is longer
        const auto* text = reinterpret_cast<const char*>(bytes_);
        const char* from = text + at;
        const std::uint64_t value = protozero::decode_varint(&from, text + end);
        at = static_cast<std::size_t>(from - text);
        return value;
    }

    void walk() {
        struct level {
            kind what;
            std::size_t end;
        };
        std::array<level, 5> levels{{{kind::model, size_}}};
        std::size_t depth = 0, at = 0;
        for (;;) {
            while (depth > 0 && at == levels[depth].end) --depth;
            const auto [what, end] = levels[depth];
            if (at == end) return;
            const auto key = static_cast<std::uint32_t>(number(at, end));
            std::size_t length = 0;
            switch (key & 7) {
                case 0: number(at, end); continue;
                case 1: length = 8; break;
                case 2: length = static_cast<std::uint32_t>(number(at, end)); break;
                case 5: length = 4; break;
                default: return;
            }
            if (length > end - at) return;
            const kind next = (key & 7) == 2 ? inside(what, key >> 3) : kind::other;
            if (next != kind::other) {
                levels[++depth] = {next, at + length};
                continue;
            }
            if (what == kind::tensor && is_left_in_file(key, length))
                there_ = std::max(there_, at + length);
            else need(at + length);
            at += length;
        }
    }

    const input_file& file_;
    std::byte* bytes_;
    std::size_t size_, there_ = 0, taken_ = 0;  // all before there_ is read, or a hole
    const model_limits& limits_;
};

/// A file's bytes with holes. Throws errc::bad_file, errc::io_failed.
inline source open_image(const std::filesystem::path& path, const model_limits& limits) {
    source from{path.filename().string(), {},   nullptr,
                path.parent_path(),       true, input_file::open(path)};
    const std::uint64_t size = from.file->size();
    if (std::cmp_greater(size, limits.file_bytes))
        throw error(errc::bad_file, "onnx",
                    from.name + ": has " + std::to_string(size) + " bytes, more than the " +
                        std::to_string(limits.file_bytes) + " of model_limits::file_bytes");
    if (size == 0) return from;
    // Zeros of calloc are pages that are not there before they are written.
    const std::shared_ptr<std::byte> bytes(static_cast<std::byte*>(std::calloc(size, 1)),
                                           [](std::byte* p) { std::free(p); });
    if (!bytes) throw std::bad_alloc();
    image_reader(*from.file, bytes.get(), limits).run();
    from.bytes = {bytes.get(), static_cast<std::size_t>(size)};
    from.keep = bytes;
    return from;
}

}}}}  // namespace pumice::PUMICE_ABI::onnx::detail
