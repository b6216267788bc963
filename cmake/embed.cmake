# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
# Writes every Slang module under a folder into one header, as pieces that fit in the shortest string literal a compiler
# must take (MSVC's 16 380 bytes). Runs at build time, and by hand:
#
#   cmake -DFROM=shaders -DTO=include/pumice/shaders.hpp -P embed.cmake
cmake_minimum_required(VERSION 3.25)
set(most 15000)

cmake_path(ABSOLUTE_PATH FROM)         # file(GLOB RELATIVE) finds nothing by a relative path
file(GLOB_RECURSE paths RELATIVE ${FROM} ${FROM}/*.slang)
list(SORT paths)
list(LENGTH paths count)
if(count EQUAL 0)
    message(FATAL_ERROR "no Slang module under ${FROM}")
endif()

set(arrays "")
set(rows "")
foreach(path IN LISTS paths)
    file(READ ${FROM}/${path} text)
    string(REPLACE "\r" "" text "${text}")            # compilers differ in what they make of it in a raw string

    set(quote slang)
    string(FIND "${text}" ")${quote}\"" inside)
    while(NOT inside EQUAL -1)
        string(APPEND quote _)
        string(FIND "${text}" ")${quote}\"" inside)
    endwhile()

    string(REGEX REPLACE "\\.slang$" "" name ${path})
    string(REGEX REPLACE "[^A-Za-z0-9]" "_" symbol ${name})
    string(APPEND arrays "inline constexpr std::string_view shader_${symbol}[] = {\n")
    string(LENGTH "${text}" left)
    if(left EQUAL 0)
        string(APPEND arrays "    {},\n")
    endif()
    while(left GREATER 0)
        set(length ${left})
        if(left GREATER most)                        # end a piece with a line, so that no character is cut in two
            string(SUBSTRING "${text}" 0 ${most} piece)
            string(FIND "${piece}" "\n" end REVERSE)
            math(EXPR length "${end} + 1")
            if(end EQUAL -1)
                message(FATAL_ERROR "${FROM}/${path} has a line of more than ${most} bytes")
            endif()
        endif()
        string(SUBSTRING "${text}" 0 ${length} piece)
        string(SUBSTRING "${text}" ${length} -1 text)
        math(EXPR left "${left} - ${length}")
        string(APPEND arrays "    {R\"${quote}(${piece})${quote}\", ${length}},\n")
    endwhile()
    string(APPEND arrays "};\n")
    string(APPEND rows "    {\"${name}\", detail::shader_${symbol}},\n")
endforeach()

file(WRITE ${TO} "// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The Slang modules as text. Generated from shaders/ by cmake/embed.cmake: edit there.
#pragma once

#include <pumice/base/config.hpp>
#include <pumice/base/span.hpp>

#include <array>
#include <string_view>

namespace pumice { inline namespace PUMICE_ABI {

/// A Slang module: its path under shaders/ without the ending, and its text in pieces to be joined.
struct shader_source {
    std::string_view name;
    span<const std::string_view> pieces;
};

namespace detail {
${arrays}}  // namespace detail

inline constexpr std::array<shader_source, ${count}> shader_sources{{
${rows}}};

}}  // namespace pumice::PUMICE_ABI
")
