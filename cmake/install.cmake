# SPDX-License-Identifier: MIT
#
# What `cmake --install` copies, and the way back. Nothing installed names the prefix, so the
# installed tree can be moved.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(DIRECTORY include/tenon testing/include/tenon DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(FILES debug/tenon_gdb.py debug/tenon_lldb.py debug/tenon_memory.py debug/tenon_stacks.py
        DESTINATION "${CMAKE_INSTALL_DATADIR}/tenon/debug")

# The CMake package. In share/, not lib/: the headers alone do not depend on the architecture.
set(tenon_package_dir "${CMAKE_INSTALL_DATADIR}/cmake/tenon")
install(TARGETS tenon tenon_testing EXPORT tenonTargets INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS tenon_executorch_compat EXPORT tenonTargets
        INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tenon/compat/executorch_headers")
if(TENON_COMPILED)
  install(TARGETS tenon_compiled EXPORT tenonTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(TENON_MODULE)  # a file that only the component reads, for projects whose CMake knows no modules
  install(TARGETS tenon_module EXPORT tenonModule ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
          FILE_SET CXX_MODULES DESTINATION "${CMAKE_INSTALL_DATADIR}/tenon/module")
  install(EXPORT tenonModule NAMESPACE tenon:: DESTINATION "${tenon_package_dir}" CXX_MODULES_DIRECTORY module)
endif()
install(EXPORT tenonTargets NAMESPACE tenon:: DESTINATION "${tenon_package_dir}")
configure_package_config_file(
  cmake/tenonConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/tenonConfig.cmake"
  INSTALL_DESTINATION "${tenon_package_dir}" NO_SET_AND_CHECK_MACRO)
# Before 1.0 a new minor version may break code, so only the same one is compatible.
set(for_any ARCH_INDEPENDENT)
if(TENON_COMPILED OR TENON_MODULE)
  set(for_any "")
endif()
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/tenonConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion ${for_any})
# CMake refuses a range that ends in a later minor version, though it begins in this one.
file(READ "${CMAKE_CURRENT_BINARY_DIR}/tenonConfigVersion.cmake" version_check)
math(EXPR next_minor "${PROJECT_VERSION_MINOR} + 1")
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/tenonConfigVersion.cmake"
     "if(PACKAGE_FIND_VERSION_RANGE AND ${PROJECT_VERSION_MAJOR}.${next_minor} VERSION_LESS_EQUAL PACKAGE_FIND_VERSION_MAX)
  set(PACKAGE_FIND_VERSION_MAX ${PROJECT_VERSION_MAJOR}.${next_minor})
  set(PACKAGE_FIND_VERSION_RANGE_MAX EXCLUDE)
endif()
${version_check}")
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tenonConfig.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/tenonConfigVersion.cmake"
              cmake/tenonComponents.cmake src/executorch_runtime.cpp
        DESTINATION "${tenon_package_dir}")

# pkg-config. The folder of the headers is given relative to the file's own.
file(RELATIVE_PATH tenon_includes_from_pc "${CMAKE_INSTALL_FULL_DATADIR}/pkgconfig"
     "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file(cmake/tenon.pc.in tenon.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tenon.pc"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig")

# A project that contains tenon has its own.
if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(
    uninstall COMMAND sh "${CMAKE_CURRENT_SOURCE_DIR}/cmake/uninstall.sh" "${CMAKE_BINARY_DIR}" VERBATIM)
endif()
