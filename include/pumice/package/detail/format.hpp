// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How the bytes of a package lie. In a file: header, index (a FlatBuffer, package/file.fbs), graph,
// weights, kernels of each device; each begins at a multiple of `package_alignment`, and there is
// nothing between, but for zeros up to there, nor behind. In a folder header and index are a file,
// and each of the others is one that begins at 0.
#pragma once

#include <pumice/package/file_generated.h>
#include <pumice/model/input_file.hpp>
#include <pumice/slang/detail/digest.hpp>

#include <array>
#include <bit>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

namespace tables = package_v1;

/// Numbers are little-endian:
///
///   magic 8 | version 4 | 0 4 | bytes of the index 8 | bytes of the file 8 | checksum of the index
///   16 | 0 16
///
/// The checksum covers the header too, with zeros in its own place.
struct package_header {
    static constexpr std::size_t size = 64;
    static constexpr std::array<char, 8> magic{'P', 'U', 'M', 'P', 'A', 'C', 'K', '\n'};
    static constexpr std::uint32_t version = 1;

    std::uint64_t index_bytes = 0, file_bytes = 0;

    /// With the index behind it.
    std::string with(std::string_view index) const {
        std::string bytes(size, '\0');
        std::copy(magic.begin(), magic.end(), bytes.begin());
        put(bytes, 8, version);
        put(bytes, 16, index_bytes);
        put(bytes, 24, file_bytes);
        bytes += index;
        const digest d = digest_of(bytes);
        put(bytes, 32, d.low);
        put(bytes, 40, d.high);
        return bytes;
    }
    static std::uint64_t number(span<const std::byte> bytes, std::size_t at,
                                std::size_t length = 8) {
        std::uint64_t v = 0;
        for (std::size_t k = length; k-- > 0;)
            v = v << 8 | static_cast<std::uint64_t>(bytes[at + k]);
        return v;
    }

private:
    template <class Number>
    static void put(std::string& to, std::size_t at, Number n) {
        for (std::size_t k = 0; k < sizeof n; ++k)
            to[at + k] = static_cast<char>((n >> (8 * k)) & 255u);
    }
};

/// Of sections in a file, and of weights among themselves.
inline constexpr std::uint64_t package_alignment = 64;
constexpr std::uint64_t aligned_up(std::uint64_t at) noexcept {
    return (at + package_alignment - 1) / package_alignment * package_alignment;
}

/// Of a folder's files.
inline constexpr std::string_view package_index = "package.index", package_part = "partition_0",
                                  package_graph = "partition_0/graph.json",
                                  package_weights = "partition_0/weights.bin";
inline std::string package_kernels(std::size_t device) {
    return cat({package_part, "/kernels_", device, ".pack"});
}

inline void must_be_little_endian() {
    if constexpr (std::endian::native != std::endian::little)
        fail(errc::unsupported, "package", {"packages are of little-endian machines"});
}

}}}  // namespace pumice::PUMICE_ABI::detail
