# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
# A folder per problem and a file per rival: bench/PROBLEM/RIVAL.cpp becomes the program bench_PROBLEM_RIVAL.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*/*.cpp)
find_package(benchmark CONFIG QUIET)

# Rivals that are libraries of headers: their programs are built where they are found.
find_path(eigen_include Eigen/Core PATH_SUFFIXES eigen3)
find_path(xtensor_include xtensor/xtensor.hpp)
mark_as_advanced(eigen_include xtensor_include)

add_custom_target(bench)
foreach(source IN LISTS sources)
    cmake_path(GET source STEM rival)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME problem)
    set(name bench_${problem}_${rival})
    if(DEFINED ${rival}_include)
        if(${rival}_include)
            add_executable(${name} ${source})
            target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
            target_include_directories(${name} SYSTEM PRIVATE ${${rival}_include})
            add_dependencies(bench ${name})
        endif()
        continue()
    endif()
    add_executable(${name} ${source})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE
        pumice::compiled pumice_dev_flags $<TARGET_NAME_IF_EXISTS:benchmark::benchmark>)
    add_dependencies(bench ${name})
endforeach()
