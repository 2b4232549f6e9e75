# SPDX-License-Identifier: MIT
#
# Finds libtorch and makes tenon::libtorch (libtorch alone) and tenon::aten (tenon in ATen mode) of it. Used by
# the tree and by the installed package, so nothing here names a folder of either.
#
# A libtorch in one folder, as wheels and pytorch.org's archives have it, is linked by path: the CMake package in
# it wants the CUDA toolkit that the wheel was built with, even for what runs on the CPU. Any other is left to
# its own package, find_package(Torch), which works with Debian's.

cmake_policy(VERSION 3.22)

# Sets `result` to the folder with include/ and lib/ that `folder` stands for, or to nothing. It may be that
# folder, the one that a wheel was unpacked in, or the one of its TorchConfig.cmake or above that, which is how
# torch.utils.cmake_prefix_path gives it.
function(tenon_libtorch_root result folder)
  set(candidates "${folder}" "${folder}/torch")
  if(EXISTS "${folder}/TorchConfig.cmake")
    list(APPEND candidates "${folder}/../../..")
  elseif(EXISTS "${folder}/Torch/TorchConfig.cmake")
    list(APPEND candidates "${folder}/../..")
  endif()
  set(${result} "" PARENT_SCOPE)
  foreach(root IN LISTS candidates)
    tenon_libtorch_libraries(libraries "${root}")
    if(libraries AND EXISTS "${root}/include/ATen/core/Tensor.h")
      get_filename_component(root "${root}" ABSOLUTE)
      set(${result} "${root}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# The two libraries that tensors on the CPU need.
function(tenon_libtorch_libraries result root)
  set(libraries)
  foreach(name torch_cpu c10)
    unset(tenon_library)  # a variable that is set is not searched for
    find_library(tenon_library ${name} PATHS "${root}/lib" NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH
                 NO_CACHE)
    if(NOT tenon_library)
      set(${result} "" PARENT_SCOPE)
      return()
    endif()
    list(APPEND libraries "${tenon_library}")
  endforeach()
  set(${result} "${libraries}" PARENT_SCOPE)
endfunction()

# Makes the imported target. Its property TENON_VERSION is libtorch's version, which decides about the C++
# standard.
function(tenon_make_libtorch target scope includes libraries flags)
  set(version "")
  foreach(include IN LISTS includes)
    foreach(file torch/headeronly/version.h torch/version.h)
      if(version STREQUAL "" AND EXISTS "${include}/${file}")
        file(STRINGS "${include}/${file}" lines REGEX "^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
        list(TRANSFORM lines REPLACE "^#define TORCH_VERSION_[A-Z]+ ([0-9]+).*" "\\1")
        list(JOIN lines "." version)
      endif()
    endforeach()
  endforeach()
  add_library(${target} INTERFACE IMPORTED ${scope})
  target_include_directories(${target} SYSTEM INTERFACE ${includes})
  target_link_libraries(${target} INTERFACE ${libraries})
  separate_arguments(flags NATIVE_COMMAND "${flags}")
  target_compile_options(${target} INTERFACE ${flags})
  if(version VERSION_GREATER_EQUAL 2.14)
    target_compile_features(${target} INTERFACE cxx_std_20)
  else()
    target_compile_features(${target} INTERFACE cxx_std_17)
  endif()
  set_target_properties(${target} PROPERTIES TENON_VERSION "${version}")
endfunction()

# Makes the target from what find_package(Torch) finds: in `folder`, or wherever it looks.
function(tenon_add_libtorch_package target scope folder)
  get_property(before DIRECTORY PROPERTY IMPORTED_TARGETS)
  get_property(asked_for CACHE Torch_DIR PROPERTY TYPE SET)
  if(folder)
    set(Torch_DIR "${folder}")
  endif()
  set(CMAKE_MESSAGE_LOG_LEVEL WARNING)  # it announces all that it finds
  find_package(Torch CONFIG QUIET)
  # Else the next run of CMake would take what was found for what was asked for.
  if(NOT asked_for)
    unset(Torch_DIR CACHE)
  endif()
  if(NOT Torch_FOUND)
    return()
  endif()
  if(scope STREQUAL "GLOBAL")
    get_property(made DIRECTORY PROPERTY IMPORTED_TARGETS)
    list(REMOVE_ITEM made ${before})
    set_target_properties(${made} PROPERTIES IMPORTED_GLOBAL TRUE)
  endif()
  tenon_make_libtorch(${target} "${scope}" "${TORCH_INCLUDE_DIRS}" "${TORCH_LIBRARIES}"
                      "${TORCH_CXX_FLAGS}")
endfunction()

# Makes the imported target from the libtorch in `folder`, if there is one. `scope` is GLOBAL or empty.
function(tenon_add_libtorch target scope folder)
  tenon_libtorch_root(root "${folder}")
  if(root)
    tenon_libtorch_libraries(libraries "${root}")
    # Old ones may have libstdc++'s old ABI, which only their package tells.
    set(flags "")
    set(config "${root}/share/cmake/Torch/TorchConfig.cmake")
    if(EXISTS "${config}")
      file(STRINGS "${config}" line REGEX "_GLIBCXX_USE_CXX11_ABI=[01]" LIMIT_COUNT 1)
      string(REGEX MATCH "-D_GLIBCXX_USE_CXX11_ABI=[01]" flags "${line}")
    endif()
    tenon_make_libtorch(${target} "${scope}"
                        "${root}/include;${root}/include/torch/csrc/api/include" "${libraries}"
                        "${flags}")
    return()
  endif()
  foreach(below . lib/cmake/Torch "lib/${CMAKE_LIBRARY_ARCHITECTURE}/cmake/Torch")
    if(NOT TARGET ${target} AND EXISTS "${folder}/${below}/TorchConfig.cmake")
      tenon_add_libtorch_package(${target} "${scope}" "${folder}/${below}")
    endif()
  endforeach()
endfunction()

# tenon_add_aten(<reason> [GLOBAL] [INSTALLED] [FOLDERS <folder>...])
# Makes tenon::libtorch and tenon::aten, or sets `reason` to why not. Looks in TENON_LIBTORCH_DIR, and only there
# when it is set; else takes what the project's own find_package(Torch) found, else looks in Torch_DIR, in
# CMAKE_PREFIX_PATH and in FOLDERS, and with INSTALLED wherever find_package(Torch) does.
function(tenon_add_aten reason)
  cmake_parse_arguments(PARSE_ARGV 1 arg "GLOBAL;INSTALLED" "" "FOLDERS")
  set(${reason} "" PARENT_SCOPE)
  if(TARGET tenon::aten)
    return()
  endif()
  set(scope "")
  if(arg_GLOBAL)
    set(scope GLOBAL)
  endif()
  if(TENON_LIBTORCH_DIR)
    set(folders "${TENON_LIBTORCH_DIR}")
    set(why "TENON_LIBTORCH_DIR has no libtorch: \"${TENON_LIBTORCH_DIR}\"")
  else()
    file(TO_CMAKE_PATH "$ENV{CMAKE_PREFIX_PATH}" prefixes)
    set(folders "${Torch_DIR}" "$ENV{Torch_DIR}" ${CMAKE_PREFIX_PATH} ${prefixes} ${arg_FOLDERS})
    set(why "libtorch was not found, and TENON_LIBTORCH_DIR is not set")
    if(Torch_FOUND AND TORCH_LIBRARIES)
      tenon_make_libtorch(tenon::libtorch "${scope}" "${TORCH_INCLUDE_DIRS}" "${TORCH_LIBRARIES}"
                          "${TORCH_CXX_FLAGS}")
    endif()
  endif()
  foreach(folder IN LISTS folders)
    if(folder AND NOT TARGET tenon::libtorch)
      tenon_add_libtorch(tenon::libtorch "${scope}" "${folder}")
    endif()
  endforeach()
  if(arg_INSTALLED AND NOT TENON_LIBTORCH_DIR AND NOT TARGET tenon::libtorch)
    tenon_add_libtorch_package(tenon::libtorch "${scope}" "")
  endif()
  if(NOT TARGET tenon::libtorch)
    string(APPEND why ". It may be the folder in which a wheel of torch was unpacked, an unpacked "
           "libtorch, the prefix of an installed one, or the folder of its TorchConfig.cmake.")
    set(${reason} "${why}" PARENT_SCOPE)
    return()
  endif()
  add_library(tenon::aten INTERFACE IMPORTED ${scope})
  target_link_libraries(tenon::aten INTERFACE tenon::tenon tenon::libtorch)
  target_compile_definitions(tenon::aten INTERFACE USE_ATEN_LIB)
endfunction()
