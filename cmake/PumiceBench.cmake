# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
# A folder per problem and a file per rival: bench/PROBLEM/RIVAL.cpp becomes the program bench_PROBLEM_RIVAL.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*/*.cpp)
find_package(benchmark CONFIG QUIET)

add_custom_target(bench)
foreach(source IN LISTS sources)
    cmake_path(GET source STEM rival)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME problem)
    set(name bench_${problem}_${rival})
    add_executable(${name} ${source})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE
        pumice::compiled pumice::onnx pumice_dev_flags $<TARGET_NAME_IF_EXISTS:benchmark::benchmark>)
    add_dependencies(bench ${name})
endforeach()
