// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Named tensors to NumPy's .npz archives and back. Needs zlib: the CMake target pumice::npz beside
// pumice::pumice or pumice::compiled.
#pragma once

#include <pumice/exchange/detail/zip_reader.hpp>
#include <pumice/exchange/detail/zip_writer.hpp>
#include <pumice/exchange/save.hpp>

#include <map>

namespace pumice { inline namespace PUMICE_ABI {

/// Tensors by name, as an archive has them.
using named_tensors = std::map<std::string, any_tensor, std::less<>>;

/// What an archive may ask for; one that asks for more is refused before it takes memory. A small
/// file may claim up to 1 032 times its bytes.
struct npz_limits {
    std::int64_t bytes = std::int64_t{1} << 34;  // of all values together
    std::int64_t arrays = 1 << 16;
};

enum class npz_entries : std::uint8_t { stored, deflated };

/// Writes tensors, evaluated, as a .npz archive, like NumPy's `savez`, or deflated, like its
/// `savez_compressed`. Equal values make equal files. Throws errc::io_failed; errc::unsupported for
/// a type that NumPy lacks; errc::invalid_argument for a name that no archive can have.
inline void save_npz(const std::filesystem::path& path, const named_tensors& arrays,
                     npz_entries entries = npz_entries::stored) {
    for (const auto& [name, x] : arrays) {
        if (name.empty() || name.size() > 65000 || name.find('\0') != name.npos)
            throw error(errc::invalid_argument, "save_npz",
                        "\"" + name.substr(0, 64) +
                            "\" cannot be the name of an array: names have "
                            "1 to 65000 bytes, none of them zero");
        detail::npy_header_of(x.dtype(), x.shape());
    }
    detail::zip_writer out(path);
    for (const auto& [name, x] : arrays) {
        const std::string header = detail::npy_header_of(x.dtype(), x.shape());
        out.add(name + ".npy", as_bytes(span(header)), detail::bytes_of(x),
                entries == npz_entries::stored ? detail::zip_method::stored
                                               : detail::zip_method::deflated);
    }
    out.finish();
}

/// The arrays of a .npz archive, stored or deflated, each as `load` gives it; what else the archive
/// holds is left out. Throws errc::io_failed, and errc::bad_file for an archive that is damaged,
/// encrypted or beyond `limits`.
inline named_tensors load_npz(const std::filesystem::path& path, const npz_limits& limits = {},
                              const context& home = default_context()) {
    const detail::zip_reader archive(input_file::open(path),
                                     static_cast<std::uint64_t>(limits.arrays));
    const auto is_array = [](const std::string& name) {
        return name.size() > 4 && name.ends_with(".npy");
    };
    std::uint64_t left = static_cast<std::uint64_t>(limits.bytes);
    for (const detail::zip_entry& e : archive.entries()) {
        if (!is_array(e.name)) continue;
        if (e.size > left)
            archive.refuse("holds more than " + std::to_string(limits.bytes) +
                           " bytes; npz_limits::bytes can allow them");
        left -= e.size;
    }
    named_tensors result;
    for (std::size_t i = 0; i < archive.entries().size(); ++i) {
        const std::string& entry = archive.entries()[i].name;
        if (!is_array(entry)) continue;
        std::vector<std::byte> bytes = archive.read(i);
        const detail::npy_header header =
            detail::parse_npy_header(bytes, bytes.size(), path.string() + ": " + entry);
        bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header.begin));
        const npy_array array = detail::npy_elements(header, std::move(bytes));
        result.emplace(entry.substr(0, entry.size() - 4),
                       from_bytes(array.dtype, array.shape, array.bytes, home));
    }
    return result;
}

}}  // namespace pumice::PUMICE_ABI
