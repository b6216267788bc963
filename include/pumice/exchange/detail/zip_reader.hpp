// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Reads zip archives of stored and deflated entries. Nothing that an archive says is believed:
// entries lie apart, within the file, and take no more memory than they may.
#pragma once

#include <pumice/base/error.hpp>
#include <pumice/exchange/detail/zip.hpp>
#include <pumice/model/input_file.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// An archive that is read.
class zip_reader {
public:
    /// Reads the list of entries. Throws errc::bad_file, errc::io_failed.
    zip_reader(std::shared_ptr<const input_file> file, std::uint64_t most_entries)
        : file_(std::move(file)) {
        list_entries(most_entries);
        find_data();
    }
    const std::vector<zip_entry>& entries() const noexcept { return entries_; }

    /// The values of an entry, checked by its CRC. Takes as much memory as its `size` says, which
    /// the caller has found bearable.
    std::vector<std::byte> read(std::size_t index) const {
        const zip_entry& e = entries_[index];
        std::vector<std::byte> values;
        if (e.method == zip_method::stored)
            values = file_->read(data_[index], static_cast<std::size_t>(e.size));
        else values = inflated(e, data_[index]);
        if (zip_crc(values) != e.crc) refuse("\"" + e.name + "\" is damaged: its CRC differs");
        return values;
    }

    [[noreturn]] void refuse(const std::string& why) const {
        throw error(errc::bad_file, "npz", file_->path().string() + ": " + why);
    }

private:
    void list_entries(std::uint64_t most) {
        constexpr std::size_t end_size = 22, locator_size = 20, end64_size = 56, row_size = 46;
        const std::uint64_t size = file_->size();
        const std::vector<std::byte> tail =
            read_at(size - std::min<std::uint64_t>(size, end_size + 0xffff + locator_size), size);
        std::size_t end = tail.size();  // of the last record, whose comment ends the file
        for (std::size_t i = tail.size() - std::min(tail.size(), end_size) + 1; i-- > 0;) {
            const zip_fields f{span(tail).subspan(i)};
            if (f.bytes.size() >= end_size && f.at<std::uint32_t>(0) == zip_end &&
                f.at<std::uint16_t>(20) == f.bytes.size() - end_size) {
                end = i;
                break;
            }
        }
        if (end == tail.size()) refuse("is no zip archive, or its end is missing");
        const zip_fields last{span(tail).subspan(end)};
        std::uint64_t count = last.at<std::uint16_t>(10), bytes = last.at<std::uint32_t>(12),
                      begin = last.at<std::uint32_t>(16), behind = size - tail.size() + end;
        if (last.at<std::uint16_t>(4) != 0 || last.at<std::uint16_t>(6) != 0)
            refuse("is one of several disks");
        if (end >= locator_size) {
            const zip_fields locator{span(tail).subspan(end - locator_size, locator_size)};
            if (locator.at<std::uint32_t>(0) == zip64_locator) {
                const auto at = locator.at<std::uint64_t>(8);
                const std::uint64_t before = behind - locator_size;
                if (at > before || before - at < end64_size) refuse("has no list of entries");
                const std::vector<std::byte> record = read_at(at, at + end64_size);
                const zip_fields f{record};
                if (f.at<std::uint32_t>(0) != zip64_end) refuse("has no list of entries");
                count = f.at<std::uint64_t>(32);
                bytes = f.at<std::uint64_t>(40);
                begin = f.at<std::uint64_t>(48);
                behind = at;
            }
        }
        if (count > most)
            refuse("has " + std::to_string(count) + " entries, above the limit of " +
                   std::to_string(most) + " (npz_limits::arrays)");
        if (begin > behind || behind - begin != bytes || bytes / row_size < count)
            refuse("has a list of entries that does not fit");
        begin_of_list_ = begin;
        const std::vector<std::byte> list = read_at(begin, behind);
        span<const std::byte> rest(list);
        for (std::uint64_t i = 0; i < count; ++i) {
            const zip_fields f{rest};
            if (rest.size() < row_size || f.at<std::uint32_t>(0) != zip_central)
                refuse("has a list of entries that ends early");
            const std::size_t name = f.at<std::uint16_t>(28), extra = f.at<std::uint16_t>(30),
                              comment = f.at<std::uint16_t>(32);
            if (rest.size() - row_size < name + extra + comment)
                refuse("has a list of entries that ends early");
            entries_.push_back(entry(f, rest.subspan(row_size, name),
                                     rest.subspan(row_size + name, extra)));
            rest = rest.subspan(row_size + name + extra + comment);
        }
        if (!rest.empty()) refuse("has more in its list of entries than it counts");
    }

    zip_entry entry(const zip_fields& row, span<const std::byte> name,
                    span<const std::byte> extra) const {
        zip_entry e;
        e.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
        if (e.name.find('\0') != e.name.npos) refuse("has a name with a zero byte");
        const auto method = row.at<std::uint16_t>(10);
        if (row.at<std::uint16_t>(8) & 1) refuse("\"" + e.name + "\" is encrypted");
        if (method != 0 && method != 8)
            refuse("\"" + e.name + "\" is compressed by method " + std::to_string(method) +
                   ", known are 0 (stored) and 8 (deflated)");
        e.method = static_cast<zip_method>(method);
        e.crc = row.at<std::uint32_t>(16);
        e.packed = row.at<std::uint32_t>(20);
        e.size = row.at<std::uint32_t>(24);
        e.header = row.at<std::uint32_t>(42);
        while (extra.size() >= 4) {
            const zip_fields f{extra};
            const std::size_t length = f.at<std::uint16_t>(2);
            if (length > extra.size() - 4) break;
            if (f.at<std::uint16_t>(0) == zip64_extra) {
                std::size_t at = 4;
                for (std::uint64_t* field : {&e.size, &e.packed, &e.header}) {
                    if (*field != zip64_sign) continue;
                    if (at + 8 > length + 4) refuse("\"" + e.name + "\" lacks its sizes");
                    *field = f.at<std::uint64_t>(at);
                    at += 8;
                }
            }
            extra = extra.subspan(4 + length);
        }
        // Deflate makes at most 258 bytes of 2 bits: what claims more is refused before it is read.
        if (e.method == zip_method::stored ? e.size != e.packed : e.size / 1032 > e.packed)
            refuse("\"" + e.name + "\" claims " + std::to_string(e.size) + " bytes of " +
                   std::to_string(e.packed));
        return e;
    }

    /// Where the entries' data begin. They lie apart, so that an archive has no more of them than
    /// bytes of its own.
    void find_data() {
        constexpr std::size_t header_size = 30;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
        std::set<std::string_view> names;
        for (const zip_entry& e : entries_) {
            if (!names.insert(e.name).second) refuse("has two entries \"" + e.name + "\"");
            const std::uint64_t most = begin_of_list_;
            if (e.header > most || most - e.header < header_size)
                refuse("\"" + e.name + "\" lies outside the file");
            const std::vector<std::byte> header = read_at(e.header, e.header + header_size);
            const zip_fields f{header};
            const std::uint64_t name = f.at<std::uint16_t>(26);
            const std::uint64_t begin = e.header + header_size + name + f.at<std::uint16_t>(28);
            if (f.at<std::uint32_t>(0) != zip_local || name != e.name.size() || begin > most ||
                most - begin < e.packed)
                refuse("\"" + e.name + "\" lies outside the file");
            const std::vector<std::byte> again =
                read_at(e.header + header_size, e.header + header_size + name);
            if (!std::equal(again.begin(), again.end(), e.name.begin(),
                            [](std::byte a, char b) { return a == static_cast<std::byte>(b); }))
                refuse("\"" + e.name + "\" has another name where it lies");
            data_.push_back(begin);
            taken.emplace_back(e.header, begin + e.packed);
        }
        std::sort(taken.begin(), taken.end());
        for (std::size_t i = 1; i < taken.size(); ++i)
            if (taken[i].first < taken[i - 1].second) refuse("has entries that overlap");
    }

    std::vector<std::byte> inflated(const zip_entry& e, std::uint64_t begin) const {
        struct stream : z_stream {
            stream() : z_stream{} {
                if (::inflateInit2(this, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
            }
            stream(const stream&) = delete;
            ~stream() { ::inflateEnd(this); }
        } z;
        std::vector<std::byte> values(static_cast<std::size_t>(e.size)), piece;
        std::byte beyond{};  // what an entry of more bytes than it says writes first
        std::uint64_t read = 0;
        std::size_t made = 0;
        for (int state = Z_OK; state != Z_STREAM_END;) {
            if (z.avail_in == 0 && read < e.packed) {
                piece = read_at(begin + read,
                                begin + std::min<std::uint64_t>(e.packed, read + (1 << 16)));
                read += piece.size();
                z.next_in = reinterpret_cast<Bytef*>(piece.data());
                z.avail_in = static_cast<uInt>(piece.size());
            }
            const std::size_t room = std::min<std::size_t>(values.size() - made, 1 << 30);
            z.next_out = reinterpret_cast<Bytef*>(room ? values.data() + made : &beyond);
            z.avail_out = static_cast<uInt>(room ? room : 1);
            const uInt before_in = z.avail_in, before_out = z.avail_out;
            state = ::inflate(&z, Z_NO_FLUSH);
            made += before_out - z.avail_out;
            const bool stands = before_in == z.avail_in && before_out == z.avail_out;
            if ((state != Z_OK && state != Z_STREAM_END) || made > values.size() ||
                (state == Z_OK && stands))
                refuse("\"" + e.name + "\" is damaged: it does not inflate to its " +
                       std::to_string(e.size) + " bytes");
        }
        if (made != values.size() || z.avail_in != 0 || read != e.packed)
            refuse("\"" + e.name + "\" is damaged: it does not inflate to its " +
                   std::to_string(e.size) + " bytes");
        return values;
    }

    std::vector<std::byte> read_at(std::uint64_t begin, std::uint64_t end) const {
        return file_->read(begin, static_cast<std::size_t>(end - begin));
    }

    std::shared_ptr<const input_file> file_;
    std::vector<zip_entry> entries_;
    std::vector<std::uint64_t> data_;
    std::uint64_t begin_of_list_ = 0;
};

}}}  // namespace pumice::PUMICE_ABI::detail
