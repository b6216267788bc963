# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
# The installed prefix serves find_package(pumice), pkg-config, and a plain -I PREFIX/include.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/pumice)

install(TARGETS pumice pumice_engine pumice_compiled pumice_onnx pumice_package EXPORT pumiceTargets FILE_SET HEADERS)
if(TARGET pumice_npz)                            # apart, since it may be missing: zlib is no headers alone
    install(TARGETS pumice_npz EXPORT pumiceNpz)
    install(EXPORT pumiceNpz NAMESPACE pumice:: DESTINATION ${package})
endif()
if(TARGET pumice_vgf)
    install(TARGETS pumice_vgf EXPORT pumiceVgf)
    install(EXPORT pumiceVgf NAMESPACE pumice:: DESTINATION ${package})
endif()
install(EXPORT pumiceTargets NAMESPACE pumice:: DESTINATION ${package})

configure_package_config_file(cmake/pumiceConfig.cmake.in pumiceConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(pumiceConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES
    ${PROJECT_BINARY_DIR}/pumiceConfig.cmake ${PROJECT_BINARY_DIR}/pumiceConfigVersion.cmake
    ${PROJECT_SOURCE_DIR}/cmake/PumiceDependencies.cmake
    ${PROJECT_SOURCE_DIR}/cmake/PumicePack.cmake ${PROJECT_SOURCE_DIR}/cmake/pack_header.cmake
    DESTINATION ${package})

# The folders as pkg-config's files name them: from their own, so that a prefix may be moved.
set(pkgconfig ${CMAKE_INSTALL_FULL_DATADIR}/pkgconfig)
file(RELATIVE_PATH pumice_prefix ${pkgconfig} ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH pumice_includedir ${pkgconfig} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
file(RELATIVE_PATH pumice_libdir ${pkgconfig} ${CMAKE_INSTALL_FULL_LIBDIR})
list(GET pumice_vulkan_headers 2 pumice_vulkan_version)
configure_file(cmake/pumice.pc.in pumice.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pumice.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
if(PUMICE_C_LIBRARY)
    install(TARGETS pumice_runner DESTINATION ${CMAKE_INSTALL_LIBDIR})
    configure_file(cmake/pumice-runner.pc.in pumice-runner.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/pumice-runner.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
endif()
