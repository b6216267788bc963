# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
include_guard(GLOBAL)

# Runs a program once and keeps the kernels that it used, for programs that ship without Slang:
#
#   pumice_pack(NAME RECORDER target [ARGUMENTS argument...] [LAUNCHER command...])
#
# makes NAME.pack in the current binary folder, and a target NAME to link, which brings the header NAME.hpp: the same bytes
# as `pumice_packs::NAME`, for `pumice::pack(pumice_packs::NAME)`. LAUNCHER comes before the program, as an emulator does.
function(pumice_pack name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "RECORDER" "ARGUMENTS;LAUNCHER")
    if(NOT TARGET "${arg_RECORDER}" OR arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "pumice_pack(${name}): usage: pumice_pack(NAME RECORDER target [ARGUMENTS ...] [LAUNCHER ...])")
    endif()
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name})
    set(pack ${CMAKE_CURRENT_BINARY_DIR}/${name}.pack)
    set(script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/pack_header.cmake)
    add_custom_command(OUTPUT ${pack} ${folder}/${name}.hpp
        COMMAND ${CMAKE_COMMAND} -E rm -f ${pack}
        COMMAND ${CMAKE_COMMAND} -E env PUMICE_RECORD_PACK=${pack}
                ${arg_LAUNCHER} $<TARGET_FILE:${arg_RECORDER}> ${arg_ARGUMENTS}
        COMMAND ${CMAKE_COMMAND} -DFROM=${pack} -DTO=${folder}/${name}.hpp -DNAME=${name} -P ${script}
        DEPENDS ${arg_RECORDER} ${script}
        COMMENT "Recording the pack ${name}" VERBATIM)
    add_custom_target(${name}_recorded DEPENDS ${pack} ${folder}/${name}.hpp)
    add_library(${name} INTERFACE)
    add_dependencies(${name} ${name}_recorded)
    target_include_directories(${name} INTERFACE ${folder})
endfunction()
