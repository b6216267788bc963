# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
"""Pumice from the clone that this file lies in: `conan create CLONE/packaging/conan --build=missing`.

With -o "pumice/*:system_headers=True" the headers of others come from CMAKE_PREFIX_PATH, as those that tools/deps takes; so,
in any case, does slang.h, for which there is no recipe."""
import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Pumice(ConanFile):
    name = "pumice"
    license = "Apache-2.0"
    description = "Header-only C++20 tensor library for Vulkan GPUs: expression templates, lazy graphs, generated Slang kernels"
    topics = "tensor", "vulkan", "gpu", "onnx", "header-only"
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"system_headers": [True, False]}
    default_options = {"system_headers": False}

    @property
    def clone(self):
        return Path(self.recipe_folder).parents[1]

    def set_version(self):
        text = (self.clone / "include/pumice/version.hpp").read_text()
        self.version = ".".join(re.findall(r"define PUMICE_VERSION_\w+ (\d+)", text)[:3])

    def export_sources(self):
        for part in "CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "shaders/*":
            copy(self, part, self.clone, self.export_sources_folder)

    def requirements(self):
        if not self.options.system_headers:
            for package in ("vulkan-headers/[>=1.4.311]", "spirv-headers/[>=1.4.309]", "tl-expected/[>=1.1]", "xxhash/[>=0.8.2]",
                            "protozero/[>=1.7]", "flatbuffers/[>=2.0.8]", "nlohmann_json/[>=3.11]", "zlib/[>=1.2.11 <2]"):
                self.requires(package, transitive_headers=True)

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        tools = CMakeToolchain(self)
        tools.cache_variables.update({"PUMICE_BUILD_TESTS": False, "PUMICE_BUILD_EXAMPLES": False, "PUMICE_BUILD_BENCH": False,
                                      "PUMICE_C_LIBRARY": False, "PUMICE_INSTALL": True, "CMAKE_INSTALL_LIBDIR": "lib"})
        tools.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder) / "licenses")
        CMake(self).install()

    def package_info(self):
        # Pumice's own package file says what its targets need.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/pumice"]
