// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files: how arrays come from and go to other tools.
#pragma once

#include <pumice/base/expected.hpp>
#include <pumice/core/shape.hpp>
#include <pumice/model/input_file.hpp>

#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

namespace pumice::inline PUMICE_ABI {

/// Row-major elements with their type and shape.
struct npy_array {
    pumice::dtype dtype = pumice::dtype::f32;
    pumice::shape shape;
    std::vector<std::byte> bytes;
};

namespace detail {
/// bf16 has no code in NumPy; ml_dtypes writes it as two bytes without a meaning, and so do we.
inline constexpr std::array<std::pair<std::string_view, dtype>, 13> npy_codes{
    {{"<f8", dtype::f64},
     {"<f4", dtype::f32},
     {"<f2", dtype::f16},
     {"<V2", dtype::bf16},
     {"|i1", dtype::i8},
     {"<i2", dtype::i16},
     {"<i4", dtype::i32},
     {"<i8", dtype::i64},
     {"|u1", dtype::u8},
     {"<u2", dtype::u16},
     {"<u4", dtype::u32},
     {"<u8", dtype::u64},
     {"|b1", dtype::boolean}}};

/// What follows `'key':` in the dictionary of the header; empty where there is none.
inline std::string_view npy_value(std::string_view header, std::string_view key) {
    std::size_t at = header.find(key);
    if (at == header.npos) return {};
    at = header.find(':', at + key.size());
    if (at == header.npos) return {};
    at = header.find_first_not_of(" ", at + 1);
    return at == header.npos ? std::string_view{} : header.substr(at);
}
}  // namespace detail

/// Reads versions 1 to 3 in row-major order. Throws errc::bad_file; `name` is for the message.
inline npy_array parse_npy(std::span<const std::byte> file, const std::string& name) {
    const auto refuse = [&](const std::string& why) {
        throw error(errc::bad_file, "npy", name + ": " + why);
    };
    const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
    if (text.size() < 10 || !text.starts_with("\x93NUMPY"))
        refuse("does not start as a .npy file does");
    const auto byte = [&](std::size_t i) {
        return static_cast<std::size_t>(static_cast<unsigned char>(text[i]));
    };
    if (byte(6) < 1 || byte(6) > 3)
        refuse("is of version " + std::to_string(byte(6)) + ", known are 1 to 3");
    const std::size_t start = byte(6) == 1 ? 10 : 12;
    if (text.size() < start) refuse("ends within the header");
    const std::size_t length =
        byte(8) | byte(9) << 8 | (start == 10 ? 0 : byte(10) << 16 | byte(11) << 24);
    if (length > text.size() - start) refuse("ends within the header");
    const std::string_view header = text.substr(start, length);

    npy_array result;
    std::optional<dtype> type;
    const std::string_view descr = detail::npy_value(header, "'descr'");
    for (const auto& [code, t] : detail::npy_codes)
        if (descr.size() > 4 && descr.substr(1, 3) == code && descr[0] == '\'' && descr[4] == '\'')
            type = t;
    if (!type) refuse("has elements of an unknown type: " + std::string(descr.substr(0, 16)));
    result.dtype = *type;
    if (!detail::npy_value(header, "'fortran_order'").starts_with("False"))
        refuse("is not in row-major order");
    std::string_view list = detail::npy_value(header, "'shape'");
    const std::size_t end = list.find(')');
    if (!list.starts_with('(') || end == list.npos) refuse("has no shape");
    list = list.substr(1, end - 1);
    while (!list.empty()) {
        std::int64_t extent = -1;
        const auto [rest, fault] = std::from_chars(list.data(), list.data() + list.size(), extent);
        if (fault != std::errc{} || extent < 0) refuse("has a shape that is no list of sizes");
        if (result.shape.rank() == max_rank) refuse("has more than 8 axes");
        result.shape.push_back(extent);
        list.remove_prefix(static_cast<std::size_t>(rest - list.data()));
        const std::size_t next = list.find_first_not_of(", ");
        if (next == 0) refuse("has a shape that is no list of sizes");
        list.remove_prefix(std::min(next, list.size()));
    }
    const auto payload = file.subspan(start + length);
    const auto counted =
        attempt([&] { return byte_count(result.dtype, element_count(result.shape)); });
    const std::int64_t wanted = counted ? *counted : -1;  // a shape beyond every file
    if (std::cmp_not_equal(payload.size(), wanted))
        refuse("holds " + std::to_string(payload.size()) + " bytes, not those of the shape " +
               to_string(result.shape));
    result.bytes.assign(payload.begin(), payload.end());
    return result;
}

inline npy_array read_npy(const std::filesystem::path& path) {
    return parse_npy(input_file::open(path)->read_all(), path.string());
}

/// Writes version 1. Throws errc::io_failed.
inline void write_npy(const std::filesystem::path& path, const npy_array& a) {
    std::string header = "{'descr': '" +
                         std::string(detail::npy_codes[static_cast<std::size_t>(a.dtype)].first) +
                         "', 'fortran_order': False, 'shape': " + to_string(a.shape) + ", }";
    header.resize((header.size() + 10) / 64 * 64 + 64 - 11,
                  ' ');  // with the line's end, data starts at 64 n
    header += '\n';
    const char length[2] = {static_cast<char>(header.size() & 255),
                            static_cast<char>(header.size() >> 8)};
    std::ofstream out(path, std::ios::binary);
    out << std::string_view("\x93NUMPY\x01\x00", 8) << std::string_view(length, 2) << header;
    out.write(reinterpret_cast<const char*>(a.bytes.data()),
              static_cast<std::streamsize>(a.bytes.size()));
    if (!out.flush()) throw error(errc::io_failed, "npy", path.string() + " could not be written");
}

}  // namespace pumice::inline PUMICE_ABI
