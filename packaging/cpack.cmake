# SPDX-License-Identifier: MIT
# What `cpack` makes of an installed tree: tenon-<version>-<system>.tar.gz, and libtenon-dev_<version>_<architecture>.deb.

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_VENDOR "The tenon authors")
set(CPACK_PACKAGE_CONTACT "The tenon authors <unknown@tenon.invalid>")  # there is no address
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_DEBIAN_PACKAGE_NAME libtenon-dev)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
if(TENON_COMPILED OR TENON_MODULE OR TENON_TOOLS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
else()
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
endif()
# Else the umask's.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
include(CPack)
