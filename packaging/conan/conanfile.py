# SPDX-License-Identifier: MIT
"""Makes the package from the checkout or the unpacked archive that this lies in: conan create packaging/conan"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class TenonConan(ConanFile):
    name = "tenon"
    description = "Managed tensor memory for C++17: own, borrow, resize, move and exchange"
    license = "MIT"
    author = "The tenon authors"
    topics = ("tensor", "inference", "memory", "arena", "dlpack", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    no_copy_source = True

    def set_version(self):
        config = load(self, os.path.join(self.recipe_folder, "../../include/tenon/config.h"))
        self.version = ".".join(re.findall(r"^#define TENON_VERSION_[A-Z]+ (\d+)$", config, re.MULTILINE))

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "../..")
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "debug/*", "include/*", "packaging/cpack.cmake", "src/*", "testing/*"):
            copy(self, pattern, root, self.export_sources_folder, excludes=("*/__pycache__/*", "*.pyc"))

    def layout(self):
        cmake_layout(self)

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 17)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # else it writes to the sources
        for part in ("ATEN", "EXECUTORCH", "CUDA", "AOTI"):  # found by the program that asks for them
            toolchain.cache_variables[f"TENON_{part}"] = "OFF"
        toolchain.generate()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        cmake = CMake(self)
        cmake.configure()
        cmake.install()

    def package_info(self):
        # The CMake package is tenon's own, which has components.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["share/cmake/tenon"]
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
