# SPDX-License-Identifier: MIT
#
# cmake -DBUILD_DIR=<build folder> -P uninstall.cmake
# Removes the files that the last installation from BUILD_DIR wrote, and tenon's folders if that
# leaves them empty. Honours DESTDIR, as the installation does.

# One manifest for everything, or one for each component that was installed by itself.
file(GLOB manifests "${BUILD_DIR}/install_manifest*.txt")
if(NOT manifests)
  message(FATAL_ERROR "Nothing to uninstall: ${BUILD_DIR} has no install_manifest.txt.")
endif()

foreach(manifest IN LISTS manifests)
  file(STRINGS "${manifest}" files)
  foreach(file IN LISTS files)
    set(path "$ENV{DESTDIR}${file}")
    if(NOT EXISTS "${path}" AND NOT IS_SYMLINK "${path}")
      message(STATUS "Not there: ${path}")
      continue()
    endif()
    message(STATUS "Removing: ${path}")
    file(REMOVE "${path}")
    if(EXISTS "${path}" OR IS_SYMLINK "${path}")
      message(FATAL_ERROR "Could not remove ${path}")
    endif()

    # Folders on the installed path that are called tenon, or lie in one, are ours.
    get_filename_component(folder "${file}" DIRECTORY)
    while(folder MATCHES "/tenon(/|$)")
      file(GLOB left "$ENV{DESTDIR}${folder}/*")
      if(left)
        break()
      endif()
      file(REMOVE_RECURSE "$ENV{DESTDIR}${folder}")
      get_filename_component(folder "${folder}" DIRECTORY)
    endwhile()
  endforeach()
endforeach()
