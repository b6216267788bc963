// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Storage formats: how runs of a tensor's innermost axis are coded in the elements of another.
// Plain element types are blocks of one and need none.
#pragma once

#include <pumice/core/dtype.hpp>

#include <cstddef>

namespace pumice { inline namespace PUMICE_ABI {

/// What is known of a format. One has static storage: programs refer to it. Formats of one name are
/// one format.
struct storage_format {
    std::string_view name;
    std::int64_t elements = 1;  // that a block holds, of consecutive ones in row-major order
    std::int64_t bytes = 1;     // of a block
    dtype memory = dtype::u8;   // element type of the tensor that holds the blocks
    dtype value = dtype::f32;   // of an element
    /// The Slang type whose `load` and `loadRun` give element i, as it is computed in
    /// (shaders/format.slang), and its text where that module does not have it. Such a type is not
    /// public.
    std::string_view slang = {};
    std::string_view text = {};
    /// out[k] = element at + k * step, n of them, each as it is computed in: of f32 a float.
    void (*decode)(const storage_format& f, const std::byte* memory, std::int64_t at,
                   std::int64_t step, void* out, std::int64_t n) = nullptr;
    /// A block of `elements` floats; null where floats are not brought to the format.
    void (*encode)(const float* values, std::byte* block) = nullptr;
    /// Of a format in which an element of memory stands for `run` elements of an axis behind which
    /// there are `inner`; of others 0.
    std::int64_t run = 0, inner = 0;

    /// A tensor has whole ones: along its innermost axis, or in all where elements stand for runs.
    constexpr std::int64_t unit() const noexcept { return run > 0 ? run * inner : elements; }
    /// Elements of the tensor that holds `count` decoded ones.
    constexpr std::int64_t held(std::int64_t count) const noexcept {
        return run > 0 ? count / run : count / elements * bytes * 8 / info(memory).bits;
    }

    /// Bytes of the blocks up to the one that holds element i, and up to the end of that block.
    constexpr std::int64_t begin_of(std::int64_t i) const noexcept {
        return (i >= 0 ? i / elements : (i - elements + 1) / elements) * bytes;
    }
    constexpr std::int64_t end_of(std::int64_t i) const noexcept { return begin_of(i) + bytes; }
};

}}  // namespace pumice::PUMICE_ABI
