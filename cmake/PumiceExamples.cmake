# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
# examples/NN_name.cpp becomes the program example_NN_name; the target `examples` builds them all.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.cpp)
pumice_dependencies(stb)

add_custom_target(examples)
foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    add_executable(example_${name} ${source})
    target_link_libraries(example_${name} PRIVATE
        pumice::compiled pumice::stb pumice_dev_flags)
    # The suite compiles them as examples/run.sh does: warnings follow what is optimised.
    target_compile_options(example_${name} PRIVATE $<$<CONFIG:Debug>:-O3>)
    add_dependencies(examples example_${name})
endforeach()
