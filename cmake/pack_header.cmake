# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
# Writes a pack as a header: cmake -DFROM=my.pack -DTO=my.hpp -DNAME=my -P pack_header.cmake
cmake_minimum_required(VERSION 3.25)
if(NOT EXISTS ${FROM})
    message(FATAL_ERROR "${FROM}: the recorder wrote no pack. Does it use a Vulkan device?")
endif()
file(READ ${FROM} bytes HEX)
# Words of the file's byte order, eight to a line.
string(REGEX REPLACE "(..)(..)(..)(..)" "0x\\4\\3\\2\\1," words "${bytes}")
string(REGEX REPLACE "((0x........,)(0x........,)(0x........,)(0x........,)(0x........,)(0x........,)(0x........,)(0x........,))"
       "\\1\n" words "${words}")
file(WRITE ${TO} "// Generated: the kernels of a program, for pumice::pack(pumice_packs::${NAME}).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pumice_packs {
namespace detail {
inline constexpr std::uint32_t ${NAME}_words[] = {
${words}};
static_assert(std::endian::native == std::endian::little);
}  // namespace detail
inline const std::span<const std::byte> ${NAME} = std::as_bytes(std::span(detail::${NAME}_words));
}  // namespace pumice_packs
")
