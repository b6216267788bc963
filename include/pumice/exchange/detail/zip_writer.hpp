// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Writes zip archives of stored and deflated entries.
#pragma once

#include <pumice/base/replaced_file.hpp>
#include <pumice/exchange/detail/zip.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// An archive that is written, all numbers of size by zip64, dated 1980 so that equal values make
/// equal files.
class zip_writer {
public:
    explicit zip_writer(const std::filesystem::path& path) : file_(path), out_(file_.stream) {}

    /// An entry of `head` and `values`.
    void add(std::string name, span<const std::byte> head, span<const std::byte> values,
             zip_method method) {
        zip_entry e{
            std::move(name), method, zip_crc(values, zip_crc(head)), 0, head.size() + values.size(),
            position()};
        local(e);
        const std::uint64_t begin = position();
        if (method == zip_method::stored) {
            put(head);
            put(values);
        } else {
            deflate(head, values);
        }
        e.packed = position() - begin;
        const auto end = out_.tellp();
        out_.seekp(static_cast<std::streamoff>(e.header));  // its packed size is known only now
        local(e);
        out_.seekp(end);
        entries_.push_back(std::move(e));
    }

    /// Writes the list of entries. Throws errc::io_failed, also for what failed before.
    void finish() {
        const std::uint64_t begin = position();
        for (const zip_entry& e : entries_) {
            std::string row;
            add_number<std::uint32_t>(row, zip_central);
            add_number<std::uint16_t>(row, made_by);
            common(row, e, 28);
            add_number<std::uint16_t>(row, 0);  // comment, disk, attributes
            add_number<std::uint16_t>(row, 0);
            add_number<std::uint16_t>(row, 0);
            add_number<std::uint32_t>(row, 0);
            add_number<std::uint32_t>(row, zip64_sign);
            row += e.name;
            sizes(row, e, 24);
            add_number<std::uint64_t>(row, e.header);
            out_ << row;
        }
        const std::uint64_t end = position(), count = entries_.size();
        std::string last;
        add_number<std::uint32_t>(last, zip64_end);
        add_number<std::uint64_t>(last, 44);  // bytes of this record that follow
        add_number<std::uint16_t>(last, made_by);
        add_number<std::uint16_t>(last, made_by);
        add_number<std::uint64_t>(last, 0);  // disks
        for (const std::uint64_t number : {count, count, end - begin, begin})
            add_number<std::uint64_t>(last, number);
        add_number<std::uint32_t>(last, zip64_locator);
        add_number<std::uint32_t>(last, 0);
        add_number<std::uint64_t>(last, end);
        add_number<std::uint32_t>(last, 1);
        add_number<std::uint32_t>(last, zip_end);
        add_number<std::uint32_t>(last, 0);
        add_number<std::uint32_t>(last, zip64_sign);  // two counts of 16 bits
        add_number<std::uint32_t>(last, zip64_sign);
        add_number<std::uint32_t>(last, zip64_sign);
        add_number<std::uint16_t>(last, 0);
        out_ << last;
        file_.finish("npz");
    }

private:
    static constexpr std::uint16_t made_by = 45;  // version 4.5 has zip64

    template <class T>
    static void add_number(std::string& to, T value) {
        for (std::size_t i = 0; i < sizeof(T); ++i)
            to += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 255);
    }
    /// From the version that is needed to the lengths of name and extra field.
    static void common(std::string& to, const zip_entry& e, std::uint16_t extra) {
        add_number<std::uint16_t>(to, made_by);
        add_number<std::uint16_t>(to, 1 << 11);  // names are UTF-8
        add_number<std::uint16_t>(to, static_cast<std::uint16_t>(e.method));
        add_number<std::uint16_t>(to, 0);
        add_number<std::uint16_t>(to, 1 << 5 | 1);  // the first of January 1980
        add_number<std::uint32_t>(to, e.crc);
        add_number<std::uint32_t>(to, zip64_sign);
        add_number<std::uint32_t>(to, zip64_sign);
        add_number<std::uint16_t>(to, static_cast<std::uint16_t>(e.name.size()));
        add_number<std::uint16_t>(to, extra);
    }
    static void sizes(std::string& to, const zip_entry& e, std::uint16_t bytes) {
        add_number<std::uint16_t>(to, zip64_extra);
        add_number<std::uint16_t>(to, bytes);
        add_number<std::uint64_t>(to, e.size);
        add_number<std::uint64_t>(to, e.packed);
    }
    void local(const zip_entry& e) {
        std::string header;
        add_number<std::uint32_t>(header, zip_local);
        common(header, e, 20);
        header += e.name;
        sizes(header, e, 16);
        out_ << header;
    }
    void deflate(span<const std::byte> head, span<const std::byte> values) {
        struct stream : z_stream {
            stream() : z_stream{} {
                if (::deflateInit2(this, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8,
                                   Z_DEFAULT_STRATEGY) != Z_OK)
                    throw std::bad_alloc();
            }
            stream(const stream&) = delete;
            ~stream() { ::deflateEnd(this); }
        } z;
        std::array<std::byte, 1 << 16> piece;
        const auto feed = [&](span<const std::byte> from, bool last) {
            do {
                const std::size_t now = std::min<std::size_t>(from.size(), 1 << 30);
                z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from.data()));
                z.avail_in = static_cast<uInt>(now);
                from = from.subspan(now);
                do {
                    z.next_out = reinterpret_cast<Bytef*>(piece.data());
                    z.avail_out = static_cast<uInt>(piece.size());
                    ::deflate(&z, last && from.empty() ? Z_FINISH : Z_NO_FLUSH);
                    put(span(piece).first(piece.size() - z.avail_out));
                } while (z.avail_out == 0);
            } while (!from.empty());
        };
        feed(head, false);
        feed(values, true);
    }
    void put(span<const std::byte> bytes) {
        out_.write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    }
    std::uint64_t position() { return static_cast<std::uint64_t>(out_.tellp()); }

    replaced_file file_;
    std::ofstream& out_;
    std::vector<zip_entry> entries_;
};

}}}  // namespace pumice::PUMICE_ABI::detail
