// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A 64-bit hash that the compiler can compute: keys of programs, names of generated modules.
#pragma once

#include <pumice/base/config.hpp>

#include <cstdint>
#include <string_view>

namespace pumice { inline namespace PUMICE_ABI {

/// FNV-1a with a final avalanche (the finaliser of MurmurHash3), fed piece by piece.
class hasher {
public:
    constexpr hasher& add(std::uint64_t value) noexcept {
        for (int i = 0; i < 8; ++i) byte(static_cast<unsigned char>(value >> (8 * i)));
        return *this;
    }
    constexpr hasher& add(std::string_view text) noexcept {
        for (char c : text) byte(static_cast<unsigned char>(c));
        return add(text.size());
    }
    constexpr std::uint64_t value() const noexcept {
        std::uint64_t h = state_;
        h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdULL;
        h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53ULL;
        return h ^ (h >> 33);
    }

private:
    constexpr void byte(unsigned char b) noexcept { state_ = (state_ ^ b) * 0x100000001b3ULL; }
    std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

constexpr std::uint64_t hash_of(std::string_view text) noexcept {
    return hasher{}.add(text).value();
}

}}  // namespace pumice::PUMICE_ABI
