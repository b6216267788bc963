// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a zip archive is made of, as far as .npz files use it (APPNOTE.TXT 6.3.10, with zip64).
#pragma once

#include <pumice/base/config.hpp>
#include <pumice/base/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include <zlib.h>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

enum class zip_method : std::uint16_t { stored = 0, deflated = 8 };

struct zip_entry {
    std::string name;
    zip_method method = zip_method::stored;
    std::uint32_t crc = 0;
    std::uint64_t packed = 0, size = 0;  // bytes in the archive, and of the values
    std::uint64_t header = 0;            // where its local header begins
};

inline constexpr std::uint32_t zip_local = 0x04034b50, zip_central = 0x02014b50,
                               zip_end = 0x06054b50, zip64_end = 0x06064b50,
                               zip64_locator = 0x07064b50;
inline constexpr std::uint16_t zip64_extra = 1;
inline constexpr std::uint32_t zip64_sign = 0xffffffff;  // the number stands in the extra field

/// Little-endian numbers, whose bytes have to be there.
struct zip_fields {
    span<const std::byte> bytes;

    template <class T>
    T at(std::size_t offset) const {
        T value = 0;
        for (std::size_t i = 0; i < sizeof(T); ++i)
            value = static_cast<T>(value | static_cast<T>(bytes[offset + i]) << (8 * i));
        return value;
    }
};

inline std::uint32_t zip_crc(span<const std::byte> bytes, std::uint32_t before = 0) {
    if (bytes.empty()) return before;  // zlib would start anew where the pointer is null
    return static_cast<std::uint32_t>(::crc32_z(before,
                                                reinterpret_cast<const Bytef*>(bytes.data()),
                                                bytes.size()));
}

}}}  // namespace pumice::PUMICE_ABI::detail
