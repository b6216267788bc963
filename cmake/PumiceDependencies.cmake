# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
# Where the headers come from that Pumice's include. Each dependency becomes a target pumice::NAME of one meaning, whether
# it was the parent project's, lay on the machine or was fetched. All are used as headers alone: what they would build is
# never built. The installed package reads this file too, with PUMICE_INSTALLED set, and then nothing is fetched.

block()                                          # Threads::Threads is a target of each directory that includes this
    set(THREADS_PREFER_PTHREAD_FLAG ON)
    find_package(Threads REQUIRED)
endblock()

# NAME: what to ask CMake for: a package, its target and its lowest version; or, where there is no package, a name for
# the fetched one and a header to look for. Then the repository, the tag and the folder of its headers.
set(pumice_vulkan_headers VulkanHeaders Vulkan::Headers 1.4.311
    https://github.com/KhronosGroup/Vulkan-Headers.git vulkan-sdk-1.4.357.0 include)
set(pumice_spirv_headers SPIRV-Headers SPIRV-Headers::SPIRV-Headers 1.5.5
    https://github.com/KhronosGroup/SPIRV-Headers.git vulkan-sdk-1.4.357.0 include)
set(pumice_expected tl-expected tl::expected 1.0.0
    https://github.com/TartanLlama/expected.git v1.3.1 include)
set(pumice_xxhash xxHash xxhash.h -
    https://github.com/Cyan4973/xxHash.git v0.8.2 .)
set(pumice_slang_headers slang slang.h -
    https://github.com/shader-slang/slang.git v2026.12 include)
set(pumice_protozero protozero protozero/pbf_reader.hpp -
    https://github.com/mapbox/protozero.git v1.8.2 include)
set(pumice_flatbuffers flatbuffers flatbuffers/flatbuffers.h -
    https://github.com/google/flatbuffers.git v2.0.8 include)
set(pumice_json json nlohmann/json.hpp -
    https://github.com/nlohmann/json.git v3.11.2 include)
set(pumice_stb stb stb_image.h -
    https://github.com/nothings/stb.git 31c1ad37456438565541f4919958214b6e762fb4 .)

include_guard(GLOBAL)

# Makes the targets pumice::NAME..., or, in an installed package, sets pumice_FOUND to false and says what is missing.
function(pumice_dependencies)
    if(NOT PUMICE_INSTALLED)                     # what tools/deps took is found without being named, in any project
        cmake_path(GET CMAKE_CURRENT_FUNCTION_LIST_DIR PARENT_PATH clone)
        list(APPEND CMAKE_PREFIX_PATH ${clone}/.deps/usr ${clone}/.deps/slang)
    endif()
    foreach(name IN LISTS ARGN)
        if(TARGET pumice::${name})
            continue()
        endif()
        list(GET pumice_${name} 0 package)
        list(GET pumice_${name} 1 wanted)
        list(GET pumice_${name} 2 version)
        unset(from)
        if(wanted MATCHES "::")
            pumice_find_package()
        else()
            pumice_find_header()
        endif()
        if(NOT from AND NOT PUMICE_INSTALLED)
            pumice_fetch(SOURCE_SUBDIR only-its-headers)
        endif()
        if(from)
            add_library(pumice::${name} INTERFACE IMPORTED GLOBAL)
            if(TARGET "${from}")
                target_link_libraries(pumice::${name} INTERFACE ${from})
            else()
                target_include_directories(pumice::${name} INTERFACE ${from})
            endif()
        else()
            set(pumice_FOUND FALSE PARENT_SCOPE)
            string(APPEND pumice_NOT_FOUND_MESSAGE "Pumice's headers include those of ${package} (${wanted}). ")
            set(pumice_NOT_FOUND_MESSAGE ${pumice_NOT_FOUND_MESSAGE} PARENT_SCOPE)
        endif()
        message(VERBOSE "pumice::${name} from ${from}")
    endforeach()
endfunction()

# The steps of pumice_dependencies, in its scope. Each sets `from` to a target or a folder if it has success.

macro(pumice_find_package)
    if(TARGET ${wanted})
        set(from ${wanted})
    elseif(PUMICE_INSTALLED)
        find_package(${package} ${version} CONFIG QUIET)
        if(TARGET ${wanted})
            set(from ${wanted})
        endif()
    else()
        pumice_fetch(SOURCE_SUBDIR only-its-headers FIND_PACKAGE_ARGS ${version} CONFIG GLOBAL)
    endif()
endmacro()

macro(pumice_find_header)
    find_path(PUMICE_${name}_INCLUDE_DIR ${wanted} HINTS ENV VULKAN_SDK PATH_SUFFIXES slang stb)
    mark_as_advanced(PUMICE_${name}_INCLUDE_DIR)
    if(PUMICE_${name}_INCLUDE_DIR)
        set(from ${PUMICE_${name}_INCLUDE_DIR})
    endif()
endmacro()

# Ends with what to do, where FetchContent would end with what git says.
function(pumice_must_reach)
    string(TOUPPER ${package} upper)
    string(TOLOWER ${package} lower)
    if(FETCHCONTENT_SOURCE_DIR_${upper} OR EXISTS "${FETCHCONTENT_BASE_DIR}/${lower}-src")
        return()
    endif()
    if(wanted MATCHES "::")
        find_package(${package} ${version} CONFIG QUIET)
        if(TARGET ${wanted})
            return()                             # FetchContent finds it too
        endif()
    endif()
    find_package(Git QUIET)
    if(GIT_EXECUTABLE AND NOT FETCHCONTENT_FULLY_DISCONNECTED)
        execute_process(COMMAND ${CMAKE_COMMAND} -E env GIT_TERMINAL_PROMPT=0 ${GIT_EXECUTABLE} ls-remote ${repository} HEAD
            RESULT_VARIABLE fault OUTPUT_QUIET ERROR_VARIABLE why TIMEOUT 60)
        if(fault EQUAL 0)
            return()
        endif()
    endif()
    message(FATAL_ERROR "Pumice's headers include those of ${package} (${wanted}), which are not on this machine, and "
        "${repository} cannot be reached. Where nothing can be fetched, run tools/deps in ${clone}, which takes all of "
        "them by apt and is found unasked, or name a prefix that has them: "
        "-DCMAKE_PREFIX_PATH=CLONE/.deps/usr;CLONE/.deps/slang\n${why}")
endfunction()

macro(pumice_fetch)
    include(FetchContent)
    list(GET pumice_${name} 3 repository)
    list(GET pumice_${name} 4 tag)
    list(GET pumice_${name} 5 folder)
    pumice_must_reach()
    set(shallow TRUE)
    if(tag MATCHES "^[0-9a-f]+$")                # git cannot clone a commit alone
        set(shallow FALSE)
    endif()
    FetchContent_Declare(${package} GIT_REPOSITORY ${repository} GIT_TAG ${tag} GIT_SHALLOW ${shallow}
        GIT_SUBMODULES ${folder} ${ARGN})
    FetchContent_MakeAvailable(${package})
    string(TOLOWER ${package} lower)
    if(TARGET ${wanted})
        set(from ${wanted})
    else()
        set(from ${${lower}_SOURCE_DIR}/${folder})
    endif()
endmacro()
