# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
include_guard(GLOBAL)

# Makes a target that keeps the header `to` in step with the Slang modules under `from`.
function(pumice_embed target from to)
    file(GLOB_RECURSE modules CONFIGURE_DEPENDS ${from}/*.slang)
    # A module that goes changes nothing else that make looks at.
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${target}.list CONTENT "${modules}" @ONLY)
    set(script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed.cmake)
    add_custom_command(OUTPUT ${to}
        COMMAND ${CMAKE_COMMAND} -DFROM=${from} -DTO=${to} -P ${script}
        DEPENDS ${modules} ${script} ${CMAKE_CURRENT_BINARY_DIR}/${target}.list
        COMMENT "Embedding the Slang modules" VERBATIM)
    add_custom_target(${target} DEPENDS ${to})
endfunction()
