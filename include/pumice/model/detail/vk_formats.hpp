// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The VkFormats that tensors of files have.
#pragma once

#include <pumice/core/dtype.hpp>

#include <array>
#include <string_view>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

struct vk_format {
    std::string_view name;  // behind VK_FORMAT_
    dtype type;             // of a component
    std::uint32_t number;   // VkFormat's
    std::uint16_t texel;    // bytes; 0: no texels are of it
    bool single;            // one component
};

// clang-format off
inline constexpr std::array vk_formats{
    vk_format{"R8_UINT",             dtype::u8,      13,         1,  true},
    vk_format{"R8_SINT",             dtype::i8,      14,         1,  true},
    vk_format{"R8G8_UINT",           dtype::u8,      20,         2,  false},
    vk_format{"R8G8_SINT",           dtype::i8,      21,         2,  false},
    vk_format{"R8G8B8A8_UINT",       dtype::u8,      41,         4,  false},
    vk_format{"R8G8B8A8_SINT",       dtype::i8,      42,         4,  false},
    vk_format{"R16_UINT",            dtype::u16,     74,         2,  true},
    vk_format{"R16_SINT",            dtype::i16,     75,         2,  true},
    vk_format{"R16_SFLOAT",          dtype::f16,     76,         2,  true},
    vk_format{"R16G16_UINT",         dtype::u16,     81,         4,  false},
    vk_format{"R16G16_SINT",         dtype::i16,     82,         4,  false},
    vk_format{"R16G16_SFLOAT",       dtype::f16,     83,         4,  false},
    vk_format{"R16G16B16A16_UINT",   dtype::u16,     95,         8,  false},
    vk_format{"R16G16B16A16_SINT",   dtype::i16,     96,         8,  false},
    vk_format{"R16G16B16A16_SFLOAT", dtype::f16,     97,         8,  false},
    vk_format{"R32_UINT",            dtype::u32,     98,         4,  true},
    vk_format{"R32_SINT",            dtype::i32,     99,         4,  true},
    vk_format{"R32_SFLOAT",          dtype::f32,     100,        4,  true},
    vk_format{"R32G32_UINT",         dtype::u32,     101,        8,  false},
    vk_format{"R32G32_SINT",         dtype::i32,     102,        8,  false},
    vk_format{"R32G32_SFLOAT",       dtype::f32,     103,        8,  false},
    vk_format{"R32G32B32A32_UINT",   dtype::u32,     107,        16, false},
    vk_format{"R32G32B32A32_SINT",   dtype::i32,     108,        16, false},
    vk_format{"R32G32B32A32_SFLOAT", dtype::f32,     109,        16, false},
    vk_format{"R64_UINT",            dtype::u64,     110,        8,  true},
    vk_format{"R64_SINT",            dtype::i64,     111,        8,  true},
    vk_format{"R64_SFLOAT",          dtype::f64,     112,        8,  true},
    vk_format{"R8_BOOL_ARM",         dtype::boolean, 1000460000, 0,  true},
    vk_format{"R16_SFLOAT_FPENCODING_BFLOAT16_ARM",  dtype::bf16,    1000460001, 0, true},
    vk_format{"R8_SFLOAT_FPENCODING_FLOAT8E4M3_ARM", dtype::f8_e4m3, 1000460002, 0, true},
    vk_format{"R8_SFLOAT_FPENCODING_FLOAT8E5M2_ARM", dtype::f8_e5m2, 1000460003, 0, true}};
// clang-format on

/// Null for other formats.
constexpr const vk_format* vk_format_of(std::uint32_t number) noexcept {
    for (const vk_format& f : vk_formats)
        if (f.number == number) return &f;
    return nullptr;
}

}}}  // namespace pumice::PUMICE_ABI::detail
