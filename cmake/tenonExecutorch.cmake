# SPDX-License-Identifier: MIT
#
# Finds ExecuTorch's C++ runtime and makes tenon::executorch (tenon with it) of it. Used by the tree and by the
# installed package, so nothing here names a folder of either.

cmake_policy(VERSION 3.22)

# Makes the imported target from the ExecuTorch in `folder`, or wherever find_package(executorch) looks: that
# folder may be the package itself or the one that the wheel was unpacked in. Its package has imported targets
# from CMake 3.28 on, its variables always.
function(tenon_make_executorch target scope folder)
  set(CMAKE_MESSAGE_LOG_LEVEL WARNING)  # it announces what else it could have found
  set(hints)
  if(folder)
    set(hints PATHS "${folder}" "${folder}/executorch" NO_DEFAULT_PATH)
    set(executorch_DIR executorch_DIR-NOTFOUND)
  endif()
  get_property(asked_for CACHE executorch_DIR PROPERTY TYPE SET)
  find_package(executorch CONFIG QUIET ${hints})
  # Else the next run of CMake would take what was found for what was asked for.
  if(NOT asked_for)
    unset(executorch_DIR CACHE)
  endif()
  if(NOT executorch_FOUND OR NOT EXECUTORCH_LIBRARIES)
    return()
  endif()
  add_library(${target} INTERFACE IMPORTED ${scope})
  target_include_directories(${target} SYSTEM INTERFACE ${EXECUTORCH_INCLUDE_DIRS})
  target_compile_definitions(${target} INTERFACE ${EXECUTORCH_COMPILE_DEFINITIONS})
  target_compile_features(${target} INTERFACE cxx_std_${EXECUTORCH_CXX_STANDARD})
  target_link_libraries(${target} INTERFACE ${EXECUTORCH_LIBRARIES})
  target_link_options(${target} INTERFACE "-Wl,-rpath,${EXECUTORCH_RUNTIME_LIBRARY_DIR}")
  set_target_properties(${target} PROPERTIES TENON_VERSION "${EXECUTORCH_BUILD_VERSION}")
endfunction()

# tenon_add_executorch(<reason> [GLOBAL] [INSTALLED] [FOLDERS <folder>...])
# Makes tenon::executorch, or sets `reason` to why not. Looks in TENON_EXECUTORCH_DIR, and only there when it is
# set; else in FOLDERS, and with INSTALLED wherever find_package(executorch) does.
function(tenon_add_executorch reason)
  cmake_parse_arguments(PARSE_ARGV 1 arg "GLOBAL;INSTALLED" "" "FOLDERS")
  set(${reason} "" PARENT_SCOPE)
  if(TARGET tenon::executorch)
    return()
  endif()
  set(scope "")
  if(arg_GLOBAL)
    set(scope GLOBAL)
  endif()
  set(runtime tenon::executorch_runtime)
  if(TENON_EXECUTORCH_DIR)
    set(arg_FOLDERS "${TENON_EXECUTORCH_DIR}")
    set(why "TENON_EXECUTORCH_DIR has no ExecuTorch: \"${TENON_EXECUTORCH_DIR}\"")
  else()
    set(why "ExecuTorch was not found, and TENON_EXECUTORCH_DIR is not set")
  endif()
  foreach(folder IN LISTS arg_FOLDERS)
    if(NOT TARGET ${runtime} AND EXISTS "${folder}")
      tenon_make_executorch(${runtime} "${scope}" "${folder}")
    endif()
  endforeach()
  if(arg_INSTALLED AND NOT TENON_EXECUTORCH_DIR AND NOT TARGET ${runtime})
    tenon_make_executorch(${runtime} "${scope}" "")
  endif()
  if(NOT TARGET ${runtime})
    string(APPEND why ". It may be the folder in which a wheel of executorch was unpacked, or the folder "
           "executorch in that.")
    set(${reason} "${why}" PARENT_SCOPE)
    return()
  endif()
  add_library(tenon::executorch INTERFACE IMPORTED ${scope})
  target_link_libraries(tenon::executorch INTERFACE tenon::tenon ${runtime})
endfunction()
