# SPDX-License-Identifier: MIT
# What `cpack` makes of an installed tree: tenon-<version>-<system>.tar.gz, and libtenon-dev_<version>_<architecture>.deb.

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_VENDOR "The tenon authors")
set(CPACK_PACKAGE_CONTACT "The tenon authors <unknown@tenon.invalid>")  # there is no address
set(CPACK_PACKAGE_DESCRIPTION "The C++ headers, their CMake package and their pkg-config file.")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_DEBIAN_PACKAGE_NAME libtenon-dev)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
if(TENON_COMPILED OR TENON_MODULE OR TENON_TOOLS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
else()
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
endif()
# On the installed tree, before it is packed. Its folders have the modes that the umask leaves.
file(WRITE "${PROJECT_BINARY_DIR}/cpack_tree.cmake" [[
file(CHMOD_RECURSE "${CPACK_TEMPORARY_INSTALL_DIRECTORY}" DIRECTORY_PERMISSIONS
     OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
if(CPACK_GENERATOR STREQUAL "DEB")
  set(doc "${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/share/doc")
  file(RENAME "${doc}/tenon" "${doc}/libtenon-dev")
  file(RENAME "${doc}/libtenon-dev/LICENSE" "${doc}/libtenon-dev/copyright")
endif()
]])
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_BINARY_DIR}/cpack_tree.cmake")
include(CPack)
