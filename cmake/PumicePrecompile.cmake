# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
include_guard(GLOBAL)

option(PUMICE_PRECOMPILE "Let Slang compile the library's modules when pumice::compiled is built (6 MB), not at a program's first kernel" ON)
find_library(PUMICE_SLANG_LIBRARY slang-compiler HINTS ${PROJECT_SOURCE_DIR}/.deps/slang ENV VULKAN_SDK PATH_SUFFIXES lib
    DOC "Slang's library, which compiles them; programs find theirs when they run")
mark_as_advanced(PUMICE_SLANG_LIBRARY)

# Gives `target` a source that holds the compiled modules, where Slang's library is and what is built runs here.
function(pumice_precompile target)
    if(NOT PUMICE_PRECOMPILE OR NOT PUMICE_SLANG_LIBRARY OR CMAKE_CROSSCOMPILING)
        message(VERBOSE "${target} compiles the library's modules at its first kernel")
        return()
    endif()
    add_executable(pumice_precompile EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/precompile.cpp)
    target_link_libraries(pumice_precompile PRIVATE pumice)
    set(modules ${CMAKE_CURRENT_BINARY_DIR}/pumice_modules.cpp)
    add_custom_command(OUTPUT ${modules}
        COMMAND pumice_precompile ${PUMICE_SLANG_LIBRARY} ${modules}
        DEPENDS pumice_precompile ${PUMICE_SLANG_LIBRARY}
        COMMENT "Compiling the Slang modules" VERBATIM)
    set_source_files_properties(${modules} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    target_sources(${target} PRIVATE ${modules})
endfunction()
