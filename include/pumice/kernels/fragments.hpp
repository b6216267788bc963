// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What cooperative matrices multiply, and what they sum in.
#pragma once

#include <pumice/core/precision.hpp>
#include <pumice/kernels/loaders.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// A kind of fragments (IFragments of shaders/tile.slang).
struct fragments {
    dtype held, sum;  // elements of the factors, accumulators
    int parts;        // a factor is the sum of so many
    reduced_precision needs;
    double speed;  // of the device's rate of f16 with sums in f32
    /// Elements of a factor, and sums, in 16 bytes.
    constexpr int lanes() const noexcept { return 128 / info(held).bits; }
    constexpr int sums() const noexcept { return 128 / info(sum).bits; }
    /// How many elements lie where a tile's depth counts one of 16 bits.
    constexpr int deeper() const noexcept { return lanes() / 8; }
    /// Products of f8 are too large for sums in f16.
    constexpr bool takes(dtype type) const noexcept {
        return parts == 2          ? type == dtype::f32
               : sum == dtype::f16 ? type == held
                                   : fragment_type(type) == held;
    }
};

inline constexpr fragments fragment_kinds[] = {
    {dtype::f16, dtype::f32, 1, reduced_precision::none, 1},
    {dtype::bf16, dtype::f32, 1, reduced_precision::none, 1},
    {dtype::i8, dtype::i32, 1, reduced_precision::none, 2},
    {dtype::u8, dtype::u32, 1, reduced_precision::none, 2},
    {dtype::f16, dtype::f16, 1, reduced_precision::f16_accumulation, 1.1},
    {dtype::bf16, dtype::f32, 2, reduced_precision::bf16_3x, 0.3},
};

/// Those that multiply values of types a and b; null where there are none.
constexpr const fragments* fragments_of(dtype a, dtype b, reduced_precision needs) noexcept {
    for (const fragments& f : fragment_kinds)
        if (f.needs == needs && f.takes(a) && f.takes(b)) return &f;
    return nullptr;
}

/// What they multiply, for people.
constexpr std::string_view multiplied_text(reduced_precision needs) noexcept {
    switch (needs) {
        case reduced_precision::bf16_3x: return "f32 in parts";
        case reduced_precision::f16_accumulation: return "f16 with sums in it";
        default: return "f16, bf16 or 8-bit integers";
    }
}

/// Their Slang type, for a product that sums in `sum`, and that of the chunks which fill them.
inline std::string slang_name(const fragments& f, arithmetic sum) {
    if (f.parts == 2) return "Split";
    if (f.sum == dtype::f16) return "HalfSums";
    if (is_floating(f.held)) return cat({"Halves<", half_name(f.held), ">"});
    return cat({f.held == dtype::i8 ? "Bytes<int8_t,int," : "Bytes<uint8_t,uint,", slang_name(sum),
                ">"});
}
inline std::string chunk_name(const fragments& f, arithmetic sum) {
    if (is_floating(f.held)) return chunk_name(f.parts == 2 ? dtype::f32 : f.held);
    return cat({"PackedBytes<", slang_name(sum), ">"});
}

}}}  // namespace pumice::PUMICE_ABI::detail
