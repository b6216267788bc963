# An overlay port in a clone of Pumice, of which it takes the sources:
#   vcpkg install pumice --overlay-ports=CLONE/packaging/vcpkg/ports
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS -DPUMICE_BUILD_TESTS=OFF -DPUMICE_BUILD_EXAMPLES=OFF -DPUMICE_BUILD_BENCH=OFF -DPUMICE_C_LIBRARY=OFF
        -DPUMICE_INSTALL=ON -DFETCHCONTENT_FULLY_DISCONNECTED=ON)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME pumice CONFIG_PATH lib/cmake/pumice)

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
