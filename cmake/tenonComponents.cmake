# SPDX-License-Identifier: MIT
#
# Finds libtorch, ExecuTorch's C++ runtime, CUDA's runtime and minizip, and makes tenon::aten, tenon::libtorch,
# tenon::executorch, tenon::executorch_runtime, tenon::cuda and tenon::aoti of them. Used by the tree and by the installed package, so nothing here names a
# folder of any.
#
# <where> are find_path's and find_package's words: NO_DEFAULT_PATH, HINTS <folder>... The targets are global,
# for projects that contain tenon.

cmake_policy(VERSION 3.22)

# tenon_check_first(<reason> <version> <folder>)
# Where a project has tenon already, sets what is wrong with a second one of that version in that folder: "" for none.
function(tenon_check_first reason version folder)
  get_target_property(first tenon::tenon TENON_VERSION)
  set(${reason} "" PARENT_SCOPE)
  if(first AND NOT first STREQUAL version)  # others' packages do not say theirs
    set(${reason} "this project has tenon ${first} already, and ${folder} is tenon ${version}: bring in one of them, and link all targets to tenon::tenon."
        PARENT_SCOPE)
  endif()
endfunction()

# tenon_add_libtorch(<target> [<where>...])
# Makes the imported target if there is a libtorch. A folder may be the one that a wheel was unpacked in, an
# unpacked libtorch, the prefix of an installed one, or what torch.utils.cmake_prefix_path gives.
#
# A libtorch in one folder, as wheels and pytorch.org's archives have it, is linked by path: the CMake package in
# it wants the CUDA toolkit that the wheel was built with, even for what runs on the CPU. Any other is left to
# its own package, which works with Debian's. The target's TENON_VERSION is libtorch's version.
function(tenon_add_libtorch target)
  foreach(variable dir cpu c10 version_h)
    unset(tenon_torch_${variable})  # one that is set is not searched for
  endforeach()
  set(where ${ARGN})
  if(NOT "NO_DEFAULT_PATH" IN_LIST where)
    list(APPEND where HINTS ENV Torch_DIR)
    if(Torch_DIR)
      set(tenon_torch_dir "${Torch_DIR}")
    endif()
  endif()
  find_path(tenon_torch_dir TorchConfig.cmake ${where}
            PATH_SUFFIXES Torch share/cmake/Torch torch/share/cmake/Torch lib/cmake/Torch
                          "lib/${CMAKE_LIBRARY_ARCHITECTURE}/cmake/Torch"
            NO_CMAKE_FIND_ROOT_PATH NO_CACHE)
  if(NOT tenon_torch_dir)
    return()
  endif()

  get_filename_component(root "${tenon_torch_dir}/../../.." ABSOLUTE)
  # The two libraries that tensors on the CPU need.
  set(only_there NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH NO_CACHE PATHS)
  find_library(tenon_torch_cpu torch_cpu ${only_there} "${root}/lib")
  find_library(tenon_torch_c10 c10 ${only_there} "${root}/lib")
  if(tenon_torch_cpu AND tenon_torch_c10)
    set(TORCH_INCLUDE_DIRS "${root}/include" "${root}/include/torch/csrc/api/include")
    set(TORCH_LIBRARIES "${tenon_torch_cpu}" "${tenon_torch_c10}")
    # Old ones may have libstdc++'s old ABI, which only their package tells.
    file(STRINGS "${tenon_torch_dir}/TorchConfig.cmake" line REGEX "-D_GLIBCXX_USE_CXX11_ABI=[01]" LIMIT_COUNT 1)
    string(REGEX MATCH "-D_GLIBCXX_USE_CXX11_ABI=[01]" TORCH_CXX_FLAGS "${line}")
  else()
    get_property(before DIRECTORY PROPERTY IMPORTED_TARGETS)
    get_property(asked_for CACHE Torch_DIR PROPERTY TYPE SET)
    set(Torch_DIR "${tenon_torch_dir}")
    set(CMAKE_MESSAGE_LOG_LEVEL WARNING)  # it announces all that it finds
    find_package(Torch CONFIG QUIET)
    # Else the next run of CMake would take what was found for what was asked for.
    if(NOT asked_for)
      unset(Torch_DIR CACHE)
    endif()
    if(NOT Torch_FOUND)
      return()
    endif()
    # Its targets name each other in generator expressions, which are evaluated where they are used.
    get_property(made DIRECTORY PROPERTY IMPORTED_TARGETS)
    list(REMOVE_ITEM made ${before})
    set_property(TARGET ${made} PROPERTY IMPORTED_GLOBAL TRUE)
  endif()

  find_file(tenon_torch_version_h NAMES torch/headeronly/version.h torch/version.h ${only_there} ${TORCH_INCLUDE_DIRS})
  file(STRINGS "${tenon_torch_version_h}" lines REGEX "^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
  list(TRANSFORM lines REPLACE "^#define TORCH_VERSION_[A-Z]+ ([0-9]+).*" "\\1")
  list(JOIN lines "." version)
  set(standard 17)
  if(version VERSION_GREATER_EQUAL 2.14)
    set(standard 20)
  endif()
  separate_arguments(flags NATIVE_COMMAND "${TORCH_CXX_FLAGS}")
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
  target_link_libraries(${target} INTERFACE ${TORCH_LIBRARIES})
  target_compile_options(${target} INTERFACE ${flags})
  target_compile_features(${target} INTERFACE cxx_std_${standard})
  set_target_properties(${target} PROPERTIES TENON_VERSION "${version}")
endfunction()

# tenon_add_executorch(<target> [<where>...])
# Makes the imported target if there is an ExecuTorch. A folder may be its package or the one that the wheel was
# unpacked in. The package has imported targets from CMake 3.28 on, its variables always.
function(tenon_add_executorch target)
  get_property(asked_for CACHE executorch_DIR PROPERTY TYPE SET)
  if("NO_DEFAULT_PATH" IN_LIST ARGN)
    set(executorch_DIR executorch_DIR-NOTFOUND)
  endif()
  set(CMAKE_MESSAGE_LOG_LEVEL WARNING)  # it announces what else it could have found
  find_package(executorch CONFIG QUIET ${ARGN} PATH_SUFFIXES executorch)
  if(NOT asked_for)  # as with Torch_DIR
    unset(executorch_DIR CACHE)
  endif()
  if(NOT executorch_FOUND OR NOT EXECUTORCH_LIBRARIES)
    return()
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${EXECUTORCH_INCLUDE_DIRS})
  target_compile_definitions(${target} INTERFACE ${EXECUTORCH_COMPILE_DEFINITIONS})
  target_compile_features(${target} INTERFACE cxx_std_${EXECUTORCH_CXX_STANDARD})
  target_link_libraries(${target} INTERFACE ${EXECUTORCH_LIBRARIES})
  target_link_options(${target} INTERFACE "-Wl,-rpath,${EXECUTORCH_RUNTIME_LIBRARY_DIR}")
  set_target_properties(${target} PROPERTIES TENON_VERSION "${EXECUTORCH_BUILD_VERSION}")
endfunction()

# tenon_add_cuda(<target> [<where>...])
# Makes the imported target if there are CUDA's headers and its runtime, the shared one. A folder may be a toolkit, or
# the one that the wheels nvidia-cuda-runtime and nvidia-cuda-crt were unpacked in. No project needs the language CUDA
# for it: nothing is compiled by nvcc.
function(tenon_add_cuda target)
  set(where ${ARGN})
  if(NOT "NO_DEFAULT_PATH" IN_LIST where)
    find_package(CUDAToolkit QUIET)  # which knows where toolkits lie, but only those with nvcc
    list(APPEND where HINTS ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_LIBRARY_DIR})
  endif()
  foreach(variable include cudart)
    unset(tenon_cuda_${variable})  # one that is set is not searched for
  endforeach()
  find_path(tenon_cuda_include cuda_runtime_api.h ${where} PATH_SUFFIXES include nvidia/cu13/include NO_CACHE)
  find_library(tenon_cuda_cudart NAMES cudart libcudart.so.13 ${where}
               PATH_SUFFIXES lib64 lib nvidia/cu13/lib NO_CACHE)
  if(NOT tenon_cuda_include OR NOT tenon_cuda_cudart)
    return()
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE "${tenon_cuda_include}")
  target_link_libraries(${target} INTERFACE "${tenon_cuda_cudart}")
endfunction()

# tenon_add_aoti(<target> [<where>...])
# Makes the imported target if there is minizip, which reads packages. It exports the functions that models' libraries
# call, and no more: with -rdynamic a library's own functions might be taken from the program.
function(tenon_add_aoti target)
  foreach(variable header library)
    unset(tenon_minizip_${variable})
  endforeach()
  find_path(tenon_minizip_header minizip/unzip.h ${ARGN} NO_CACHE)
  find_library(tenon_minizip_library minizip ${ARGN} NO_CACHE)
  if(NOT tenon_minizip_header OR NOT tenon_minizip_library)
    return()
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE "${tenon_minizip_header}")
  target_link_libraries(${target} INTERFACE "${tenon_minizip_library}" ${CMAKE_DL_LIBS})
  target_link_options(${target} INTERFACE "LINKER:--export-dynamic-symbol=aoti_*"
                      "LINKER:--export-dynamic-symbol=torch_*")
endfunction()

# tenon_check_modules(<reason>)
# Sets `reason` to what C++20 modules need and this build does not have; to nothing if it has all.
function(tenon_check_modules reason)
  set(${reason} "" PARENT_SCOPE)
  if(CMAKE_VERSION VERSION_LESS 3.28 OR NOT CMAKE_GENERATOR MATCHES "^(Ninja|Visual Studio)")
    set(${reason} "C++20 modules need CMake 3.28 or later and the generator Ninja or Visual Studio; this is CMake \
${CMAKE_VERSION} with ${CMAKE_GENERATOR}." PARENT_SCOPE)
  elseif((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14) OR
         (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16))
    set(${reason} "C++20 modules need Clang 16, GCC 14 or later; this is ${CMAKE_CXX_COMPILER_ID} \
${CMAKE_CXX_COMPILER_VERSION}." PARENT_SCOPE)
  endif()
endfunction()

# tenon_add_component(<component> <reason> [<where>...])
# Makes tenon::aten and tenon::libtorch for aten, tenon::executorch for executorch, tenon::cuda for cuda, tenon::aoti for
# aoti, or sets `reason` to why not. Looks in TENON_LIBTORCH_DIR, TENON_EXECUTORCH_DIR, TENON_CUDA_DIR or
# TENON_MINIZIP_DIR, and only there when it is set.
function(tenon_add_component component reason)
  set(${reason} "" PARENT_SCOPE)
  if(component STREQUAL "aten")
    set(partner libtorch)
    set(named TENON_LIBTORCH_DIR)
    set(may_be "the folder in which a wheel of torch was unpacked, an unpacked libtorch, the prefix of an "
               "installed one, or the folder of its TorchConfig.cmake")
  elseif(component STREQUAL "executorch")
    set(partner ExecuTorch)
    set(named TENON_EXECUTORCH_DIR)
    set(may_be "the folder in which a wheel of executorch was unpacked, or the folder executorch in that")
  elseif(component STREQUAL "cuda")
    set(partner CUDA)
    set(named TENON_CUDA_DIR)
    set(may_be "the folder of a CUDA toolkit, or the one in which wheels of CUDA's runtime were unpacked")
  elseif(component STREQUAL "aoti")
    set(partner minizip)
    set(named TENON_MINIZIP_DIR)
    set(may_be "the prefix of an installed minizip (Debian: libminizip-dev)")
  else()
    set(${reason} "tenon has no such component. It has aten, aoti, compiled, cuda, executorch, executorch_compat, executorch_runtime, module and testing." PARENT_SCOPE)
    return()
  endif()
  if(TARGET tenon::${component})
    return()
  endif()

  set(where ${ARGN})
  set(why "${partner} was not found, and ${named} is not set")
  if(${named})
    set(where NO_DEFAULT_PATH HINTS "${${named}}")
    set(why "${named} has no ${partner}: \"${${named}}\"")
  endif()
  if(component STREQUAL "aten")
    set(runtime tenon::libtorch)
    tenon_add_libtorch(${runtime} ${where})
  elseif(component STREQUAL "cuda")
    set(runtime tenon::cuda_runtime)
    tenon_add_cuda(${runtime} ${where})
  elseif(component STREQUAL "aoti")
    set(runtime tenon::aoti_runtime)
    tenon_add_aoti(${runtime} ${where})
  else()
    set(runtime tenon::executorch_libraries)
    tenon_add_executorch(${runtime} ${where})
  endif()
  if(NOT TARGET ${runtime})
    string(CONCAT may_be ${may_be})
    set(${reason} "${why}. ${named} may be ${may_be}." PARENT_SCOPE)
    return()
  endif()
  add_library(tenon::${component} INTERFACE IMPORTED GLOBAL)
  target_link_libraries(tenon::${component} INTERFACE tenon::tenon ${runtime})
  if(component STREQUAL "aten")
    target_compile_definitions(tenon::aten INTERFACE USE_ATEN_LIB)
  endif()
endfunction()

# tenon_add_executorch_runtime()
# Makes tenon::executorch_runtime, where there is tenon::executorch: a program that links it runs .pte files by
# open_module(). An object, not a static library, of which the linker would leave out a file that nothing refers to; and not
# a source of whatever links it, whose <executorch/...> may be those of tenon::executorch_compat.
function(tenon_add_executorch_runtime)
  if(TARGET tenon::executorch_runtime)
    return()
  endif()
  set(file "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/executorch_runtime.cpp")  # installed
  if(NOT EXISTS "${file}")
    get_filename_component(file "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../src/executorch_runtime.cpp" ABSOLUTE)
  endif()
  add_library(tenon_executorch_object OBJECT EXCLUDE_FROM_ALL "${file}")
  set_target_properties(tenon_executorch_object PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(tenon_executorch_object PRIVATE tenon::executorch)
  add_library(tenon_executorch_runtime INTERFACE)
  add_library(tenon::executorch_runtime ALIAS tenon_executorch_runtime)
  target_sources(tenon_executorch_runtime INTERFACE $<TARGET_OBJECTS:tenon_executorch_object>)
  target_link_libraries(tenon_executorch_runtime INTERFACE tenon::tenon $<LINK_ONLY:tenon::executorch>)
endfunction()
