# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
# The vcpkg port, with what vcpkg's functions do said in CMake's own words: it configures with its options, and what it
# installs lies where it says.
#   cmake -DBUILD=a-built-tree -DAT=a-folder -DFOUND=prefixes -P vcpkg.cmake
set(PORT pumice)
set(CURRENT_PACKAGES_DIR ${AT}/packages)

function(must)
    execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_cmake_configure)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
    must(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${AT}/build -G Ninja "-DCMAKE_PREFIX_PATH=${FOUND}" ${arg_OPTIONS})
endfunction()
function(vcpkg_cmake_install)
    must(${CMAKE_COMMAND} --install ${BUILD} --prefix ${CURRENT_PACKAGES_DIR})      # built before, of the same sources
endfunction()
function(vcpkg_cmake_config_fixup)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE_NAME;CONFIG_PATH" "")
    if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/${arg_PACKAGE_NAME}Config.cmake)
        message(FATAL_ERROR "no package file in ${arg_CONFIG_PATH}")
    endif()
endfunction()
function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
    file(INSTALL ${arg_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT} RENAME copyright)
endfunction()

get_filename_component(port "${CMAKE_CURRENT_LIST_DIR}/../../packaging/vcpkg/ports/pumice" ABSOLUTE)
include(${port}/portfile.cmake)

file(READ ${port}/vcpkg.json json)
string(JSON said GET "${json}" version)
file(STRINGS ${port}/../../../../include/pumice/version.hpp lines REGEX "define PUMICE_VERSION_")
string(REGEX REPLACE "[^0-9]+([0-9]+)" "\\1." version "${lines}")
string(REGEX MATCH "^[0-9]+\\.[0-9]+\\.[0-9]+" version "${version}")
if(NOT said STREQUAL version)
    message(FATAL_ERROR "vcpkg.json says ${said}, version.hpp ${version}")
endif()
message(STATUS "port of ${version}")
