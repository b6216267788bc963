// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Bytes of several sources that threads read to where they belong, a part at a time.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/byte_source.hpp>
#include <pumice/base/thread_pool.hpp>

#include <algorithm>
#include <cstring>

namespace pumice { inline namespace PUMICE_ABI {

class read_parts {
public:
    static constexpr std::int64_t most = 1 << 20;  // bytes of a part

    /// `bytes` of a source, from `begin` on. Source and room outlive the reading.
    void add(const byte_source& from, std::int64_t begin, std::int64_t bytes, std::byte* to) {
        for (std::int64_t at = 0; at < bytes; at += most)
            list_.push_back({&from, begin + at, std::min(bytes - at, most), to + at});
    }
    /// Reads what was added, and forgets it. Where the room is across a bus it is written in order
    /// and from the cache alone, whatever a source does with the room that it is given. Throws what
    /// a source throws, and may have filled some of the room then.
    void read(const thread_pool& threads, bool across_bus = false) {
        threads.run(std::ssize(list_), 2, [&](std::int64_t i) {
            const part& p = list_[static_cast<std::size_t>(i)];
            if (across_bus) copy(p);
            else p.from->read(p.begin, {p.to, static_cast<std::size_t>(p.bytes)});
        });
        list_.clear();
    }

private:
    struct part;
    static void copy(const part& p) {
        constexpr std::int64_t cached = 64 << 10;
        array_list<std::byte> piece(static_cast<std::size_t>(std::min(p.bytes, cached)));
        for (std::int64_t at = 0; at < p.bytes; at += std::ssize(piece)) {
            const auto n = static_cast<std::size_t>(std::min(p.bytes - at, std::ssize(piece)));
            p.from->read(p.begin + at, {piece.data(), n});
            std::memcpy(p.to + at, piece.data(), n);
        }
    }

    struct part {
        const byte_source* from;
        std::int64_t begin, bytes;
        std::byte* to;
    };
    array_list<part> list_;
};

}}  // namespace pumice::PUMICE_ABI
