// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// XXH3-128: names and checksums of cache entries.
#pragma once

#include <pumice/base/fixed_string.hpp>

// Inlined, so that nothing has to be linked. xxhash.h then takes names of its own (XXH_INLINE_*),
// which works before and after a user's own inclusion.
#if defined(XXH_INLINE_ALL)
#include <xxhash.h>
#else
#define XXH_INLINE_ALL
#include <xxhash.h>
#undef XXH_INLINE_ALL
#endif

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pumice { inline namespace PUMICE_ABI {

/// A 128-bit hash: equal texts, and for all purposes only they, agree.
struct digest {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    friend constexpr auto operator<=>(const digest&, const digest&) noexcept = default;
};

inline digest digest_of(std::string_view bytes) noexcept {
    const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
    return {h.high64, h.low64};
}

/// 32 hexadecimal digits.
inline std::string to_string(const digest& d) {
    std::string text;
    append_hex(text, d.high);
    append_hex(text, d.low);
    return text;
}

}}  // namespace pumice::PUMICE_ABI
