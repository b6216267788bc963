// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files: how arrays come from and go to other tools.
#pragma once

#include <pumice/base/expected.hpp>
#include <pumice/base/replaced_file.hpp>
#include <pumice/core/layout.hpp>
#include <pumice/core/strided.hpp>
#include <pumice/model/input_file.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

/// Row-major elements with their type and shape.
struct npy_array {
    pumice::dtype dtype = pumice::dtype::f32;
    pumice::shape shape;
    std::vector<std::byte> bytes;
};

namespace detail {
/// bf16 has no code in NumPy; ml_dtypes writes it as two bytes without a meaning, and so do we.
/// Bytes without a meaning alone would not say which of the smaller types they are.
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

/// The dictionary of a header, read as the Python literal that it is.
struct npy_literal {
    std::string_view rest;

    void spaces() { rest.remove_prefix(std::min(rest.find_first_not_of(" \t\n"), rest.size())); }
    bool take(std::string_view token) {
        spaces();
        if (!rest.starts_with(token)) return false;
        rest.remove_prefix(token.size());
        return true;
    }
    /// What stands between two quotes of one kind.
    std::optional<std::string_view> string() {
        spaces();
        const char quote = rest.empty() ? ' ' : rest[0];
        const std::size_t end = quote == '\'' || quote == '"' ? rest.find(quote, 1) : rest.npos;
        if (end == rest.npos) return std::nullopt;
        const std::string_view text = rest.substr(1, end - 1);
        rest.remove_prefix(end + 1);
        return text;
    }
    /// A tuple of sizes, of which one alone has a comma behind it.
    std::optional<shape> sizes() {
        shape list;
        if (!take("(")) return std::nullopt;
        for (bool comma = true; !take(")");) {
            spaces();
            std::int64_t size = -1;
            const auto [end, fault] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
            if (!comma || fault != std::errc{} || size < 0 || list.rank() == max_rank)
                return std::nullopt;
            list.push_back(size);
            rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
            comma = take(",");
            if (!comma && list.rank() == 1) return std::nullopt;
        }
        return list;
    }
};

/// What a file says of its elements, and where they begin.
struct npy_header {
    pumice::dtype dtype = pumice::dtype::f32;
    pumice::shape shape;
    bool column_major = false;  // NumPy's Fortran order
    std::size_t begin = 0;
};

/// From the beginning of a file of `size` bytes, which ends with the header or is as long as
/// npy_head at least.
inline constexpr std::size_t npy_head = 1 << 16;
inline npy_header parse_npy_header(span<const std::byte> head, std::uint64_t size,
                                   const std::string& name) {
    const auto refuse = [&](const std::string& why) {
        throw error(errc::bad_file, "npy", name + ": " + why);
    };
    const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
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
    if (length > text.size() - start)
        refuse(size > text.size() ? "has a header of more than 64 KiB" : "ends within the header");
    npy_literal header{text.substr(start, length)};
    npy_header result;
    result.begin = start + length;
    bool known[3] = {};  // descr, fortran_order, shape
    bool more = header.take("{");
    if (!more) refuse("has no dictionary as its header");
    while (more && !header.take("}")) {
        const auto key = header.string();
        const int which = !key || !header.take(":") ? -1
                          : *key == "descr"         ? 0
                          : *key == "fortran_order" ? 1
                          : *key == "shape"         ? 2
                                                    : -1;
        if (which < 0 || std::exchange(known[which], true))
            refuse("has a header other than descr, fortran_order and shape, each once");
        if (which == 0) {
            header.spaces();
            std::string_view from = header.rest.substr(0, 16);
            const auto code = header.string();
            if (code) from = code->substr(0, 16);
            const auto row = std::find_if(npy_codes.begin(), npy_codes.end(),
                                          [&](const auto& c) { return code && c.first == *code; });
            if (row == npy_codes.end())
                refuse("has elements of NumPy's type " + std::string(from) +
                       ", which is none of Pumice's");
            result.dtype = row->second;
        } else if (which == 1) {
            result.column_major = header.take("True");
            if (!result.column_major && !header.take("False"))
                refuse("has a fortran_order that is neither True nor False");
        } else {
            const auto sizes = header.sizes();
            if (!sizes) refuse("has a shape that is no list of at most 8 sizes");
            result.shape = *sizes;
        }
        more = header.take(",");
        if (!more && !header.take("}")) refuse("has a header that is no Python literal");
    }
    header.spaces();
    if (!known[0] || !known[1] || !known[2] || !header.rest.empty())
        refuse("has a header other than descr, fortran_order and shape, each once");
    const auto counted =
        attempt([&] { return byte_count(result.dtype, element_count(result.shape)); });
    const std::int64_t wanted = counted ? *counted : -1;  // a shape beyond every file
    if (std::cmp_not_equal(size - start - length, wanted))
        refuse("holds " + std::to_string(size - start - length) +
               " bytes, not those of the shape " + to_string(result.shape));
    return result;
}

/// Brings a file's elements into row-major order; bools become 0 or 1, whatever the file has.
inline npy_array npy_elements(const npy_header& header, std::vector<std::byte> bytes) {
    if (header.dtype == dtype::boolean)
        for (std::byte& b : bytes) b = b == std::byte{0} ? b : std::byte{1};
    if (!header.column_major || bytes.empty())
        return {header.dtype, header.shape, std::move(bytes)};
    npy_array result{header.dtype, header.shape, std::vector<std::byte>(bytes.size())};
    copy_strided(bytes.data(), column_major::strides_of(header.shape), info(header.dtype).bits / 8,
                 header.shape, result.bytes.data());
    return result;
}
}  // namespace detail

/// Reads versions 1 to 3; an array in Fortran order is brought into row-major order. Throws
/// errc::bad_file; `name` is for the message.
inline npy_array parse_npy(span<const std::byte> file, const std::string& name) {
    const detail::npy_header header = detail::parse_npy_header(file, file.size(), name);
    return detail::npy_elements(header, {file.begin() + static_cast<std::ptrdiff_t>(header.begin),
                                         file.end()});
}

/// The same from a file. Throws errc::io_failed too.
inline npy_array read_npy(const std::filesystem::path& path) {
    const auto file = input_file::open(path);
    const auto head =
        file->read(0, static_cast<std::size_t>(std::min<std::uint64_t>(file->size(),
                                                                       detail::npy_head)));
    const detail::npy_header header = detail::parse_npy_header(head, file->size(), path.string());
    return detail::npy_elements(header,
                                file->read(header.begin,
                                           static_cast<std::size_t>(file->size() - header.begin)));
}

namespace detail {
/// What stands before the elements, as NumPy writes it. Throws errc::unsupported for a type that
/// NumPy lacks.
inline std::string npy_header_of(dtype type, const shape& extent) {
    const auto row = std::find_if(npy_codes.begin(), npy_codes.end(),
                                  [&](const auto& c) { return c.second == type; });
    if (row == npy_codes.end())
        throw error(errc::unsupported, "npy",
                    "NumPy's files have no code for " + std::string(to_string(type)) +
                        "; use astype before");
    std::string header = "{'descr': '" + std::string(row->first) +
                         "', 'fortran_order': False, 'shape': " + to_string(extent) + ", }";
    header.resize((header.size() + 10) / 64 * 64 + 64 - 11,
                  ' ');  // with the line's end, data starts at 64 n
    header += '\n';
    std::string begin("\x93NUMPY\x01\x00", 8);
    begin += static_cast<char>(header.size() & 255);
    begin += static_cast<char>(header.size() >> 8);
    return begin + header;
}
}  // namespace detail

/// Writes version 1. Throws errc::io_failed, errc::unsupported for a type that NumPy lacks, and
/// errc::invalid_argument where the bytes are not those of the shape.
inline void write_npy(const std::filesystem::path& path, const npy_array& a) {
    const std::string header = detail::npy_header_of(a.dtype, a.shape);
    const std::int64_t wanted = byte_count(a.dtype, element_count(a.shape));
    if (std::ssize(a.bytes) != wanted)
        fail(errc::invalid_argument, "npy",
             {"an array of ", to_string(a.dtype), " and shape ", to_string(a.shape), " has ",
              wanted, " bytes, not ", a.bytes.size()});
    detail::replaced_file out(path);
    out.stream << header;
    out.stream.write(reinterpret_cast<const char*>(a.bytes.data()),
                     static_cast<std::streamsize>(a.bytes.size()));
    out.finish("npy");
}

}}  // namespace pumice::PUMICE_ABI
