# SPDX-License-Identifier: MIT
#
# Tests against a partner (a library or program that tenon does not need) are registered whether it
# is there or not, so that a list of tests shows what did not run and why.

include("${CMAKE_CURRENT_LIST_DIR}/tenonComponents.cmake")

# Registers `test` in place of one whose partner is missing: skipped with the reason, or failing
# with it when TENON_REQUIRE_PARTNERS is on.
function(tenon_add_missing_partner_test test reason)
  add_test(NAME "${test}" COMMAND "${CMAKE_COMMAND}" "-DREASON=${reason}"
                                  "-DREQUIRED=$<BOOL:${TENON_REQUIRE_PARTNERS}>" -P
                                  "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/missing_partner.cmake")
  tenon_skippable_test("${test}")
endfunction()

# Lets a test that runs skip itself, by exit code 77 or by a line "tenon: skipped: <reason>". With
# TENON_REQUIRE_PARTNERS both are failures.
function(tenon_skippable_test test)
  if(TENON_REQUIRE_PARTNERS)
    set_tests_properties("${test}" PROPERTIES FAIL_REGULAR_EXPRESSION "tenon: skipped: ")
  else()
    set_tests_properties("${test}" PROPERTIES SKIP_RETURN_CODE 77 SKIP_REGULAR_EXPRESSION
                                              "tenon: skipped: ")
  endif()
endfunction()

# Makes the target tenon_partner_executorch when scripts/partners.sh has fetched ExecuTorch.
function(tenon_find_executorch)
  if(NOT TARGET tenon_partner_executorch)
    tenon_add_executorch(tenon_partner_executorch NO_DEFAULT_PATH HINTS "${TENON_PARTNERS_DIR}/executorch")
  endif()
endfunction()

# Makes the target tenon_partner_onnxruntime when scripts/partners.sh has fetched ONNX Runtime.
function(tenon_find_onnxruntime)
  set(folder "${TENON_PARTNERS_DIR}/onnxruntime")
  if(TARGET tenon_partner_onnxruntime OR NOT EXISTS "${folder}/include/onnxruntime_c_api.h")
    return()
  endif()
  add_library(tenon_partner_onnxruntime INTERFACE)
  target_include_directories(tenon_partner_onnxruntime SYSTEM INTERFACE "${folder}/include")
  target_link_libraries(tenon_partner_onnxruntime INTERFACE "${folder}/lib/libonnxruntime.so.1")
  target_link_options(tenon_partner_onnxruntime INTERFACE "-Wl,-rpath,${folder}/lib")
endfunction()

# Makes the target tenon_partner_aoti when minizip is installed: what a program with interop/aoti.h links.
function(tenon_find_aoti)
  if(NOT TARGET tenon_partner_aoti AND NOT CMAKE_CROSSCOMPILING)
    tenon_add_aoti(tenon_partner_aoti)
  endif()
endfunction()

# Makes the target tenon_partner_json when nlohmann-json is installed, which is a header: interop/safetensors.h needs it.
function(tenon_find_json)
  if(TARGET tenon_partner_json OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  find_path(TENON_JSON_INCLUDE nlohmann/json.hpp)
  mark_as_advanced(TENON_JSON_INCLUDE)
  if(TENON_JSON_INCLUDE)
    add_library(tenon_partner_json INTERFACE)
    target_include_directories(tenon_partner_json SYSTEM INTERFACE "${TENON_JSON_INCLUDE}")
  endif()
endfunction()

# Makes the target tenon_partner_minizip when minizip and zlib are installed: what a program with interop/npz.h links.
function(tenon_find_minizip)
  if(TARGET tenon_partner_minizip OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  find_path(TENON_MINIZIP_INCLUDE minizip/unzip.h)
  find_library(TENON_MINIZIP_LIBRARY minizip)
  find_library(TENON_ZLIB_LIBRARY z)
  mark_as_advanced(TENON_MINIZIP_INCLUDE TENON_MINIZIP_LIBRARY TENON_ZLIB_LIBRARY)
  if(TENON_MINIZIP_INCLUDE AND TENON_MINIZIP_LIBRARY AND TENON_ZLIB_LIBRARY)
    add_library(tenon_partner_minizip INTERFACE)
    target_include_directories(tenon_partner_minizip SYSTEM INTERFACE "${TENON_MINIZIP_INCLUDE}")
    target_link_libraries(tenon_partner_minizip INTERFACE "${TENON_MINIZIP_LIBRARY}" "${TENON_ZLIB_LIBRARY}")
  endif()
endfunction()

# Makes the target tenon_partner_cccl when scripts/partners.sh has fetched CUDA's C++ libraries, of which the
# host's part of libcu++ needs neither CUDA nor its compiler.
function(tenon_find_cccl)
  set(folder "${TENON_PARTNERS_DIR}/cccl/nvidia/cu13/include/cccl")
  if(TARGET tenon_partner_cccl OR NOT EXISTS "${folder}/cuda/std/mdspan")
    return()
  endif()
  add_library(tenon_partner_cccl INTERFACE)
  target_include_directories(tenon_partner_cccl SYSTEM INTERFACE "${folder}")
endfunction()

# Makes the target tenon_partner_numpy when scripts/partners.sh has fetched a NumPy that Python3::Interpreter can
# import. Nothing links to it: its TENON_PYTHONPATH goes into a Python program's environment.
function(tenon_find_numpy)
  set(folder "${TENON_PARTNERS_DIR}/numpy")
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(TARGET tenon_partner_numpy OR NOT Python3_FOUND OR NOT EXISTS "${folder}/numpy")
    return()
  endif()
  # Its extension modules are for one version of Python.
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env "PYTHONPATH=${folder}" "${Python3_EXECUTABLE}" -B -c
            "import numpy; print(numpy.__version__, end='')"
    RESULT_VARIABLE result
    OUTPUT_VARIABLE version
    ERROR_QUIET)
  if(NOT result EQUAL 0)
    message(WARNING "${Python3_EXECUTABLE} cannot import the NumPy in ${folder}")
    return()
  endif()
  add_library(tenon_partner_numpy INTERFACE)
  set_target_properties(tenon_partner_numpy PROPERTIES TENON_VERSION "${version}" TENON_PYTHONPATH
                                                                                  "${folder}")
endfunction()

# Makes the target tenon_partner_python, to compile an extension module with, when Python's headers are there, and
# tenon_partner_python_embed, to link a program with, when its library is too. Their TENON_PYTHON is the interpreter,
# TENON_SOABI what a module's file name ends with.
function(tenon_find_python)
  if(TARGET tenon_partner_python)
    return()
  endif()
  find_package(Python3 COMPONENTS Interpreter OPTIONAL_COMPONENTS Development.Module Development.Embed QUIET)
  if(NOT Python3_Interpreter_FOUND OR NOT Python3_Development.Module_FOUND)
    return()
  endif()
  add_library(tenon_partner_python INTERFACE)
  target_include_directories(tenon_partner_python SYSTEM INTERFACE ${Python3_INCLUDE_DIRS})
  # A module's undefined symbols are the interpreter's.
  target_link_options(tenon_partner_python INTERFACE
                      $<$<PLATFORM_ID:Darwin>:LINKER:-undefined,dynamic_lookup>)
  set(targets tenon_partner_python)
  if(Python3_Development.Embed_FOUND)
    add_library(tenon_partner_python_embed INTERFACE)
    target_include_directories(tenon_partner_python_embed SYSTEM INTERFACE ${Python3_INCLUDE_DIRS})
    target_link_libraries(tenon_partner_python_embed INTERFACE ${Python3_LIBRARIES})
    list(APPEND targets tenon_partner_python_embed)
  endif()
  # What was found may be a script that starts it, which LD_PRELOAD and a debugger would see first.
  execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import sys; print(sys.executable, end='')"
                  OUTPUT_VARIABLE python)
  set_target_properties(
    ${targets} PROPERTIES TENON_VERSION "${Python3_VERSION}" TENON_PYTHON "${python}"
                          TENON_SOABI "${Python3_SOABI}")
endfunction()

# Makes the target tenon_partner_<name> (torch, jax, pandas, mypy, safetensors, gguf, architectures) when scripts/partners.sh has fetched that library of
# Python for the minor version of Python3::Interpreter. As with NumPy, nothing links to it. It is not imported here,
# which would take seconds: the stamp says what it is for.
function(tenon_find_python_package name)
  set(folder "${TENON_PARTNERS_DIR}/${name}")
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(TARGET tenon_partner_${name} OR NOT Python3_FOUND OR NOT EXISTS "${folder}/.stamp")
    return()
  endif()
  file(READ "${folder}/.stamp" stamp)
  if(NOT stamp MATCHES "==([^ ]+).* for Python ${Python3_VERSION_MAJOR}\\.${Python3_VERSION_MINOR}\n")
    return()
  endif()
  add_library(tenon_partner_${name} INTERFACE)
  set_target_properties(tenon_partner_${name} PROPERTIES TENON_VERSION "${CMAKE_MATCH_1}"
                                                         TENON_PYTHONPATH "${folder}")
endfunction()

# Makes the target tenon_partner_onednn when oneDNN is installed.
function(tenon_find_onednn)
  if(TARGET tenon_partner_onednn OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  find_path(TENON_ONEDNN_INCLUDE oneapi/dnnl/dnnl.hpp)
  find_library(TENON_ONEDNN_LIBRARY dnnl)
  mark_as_advanced(TENON_ONEDNN_INCLUDE TENON_ONEDNN_LIBRARY)
  if(TENON_ONEDNN_INCLUDE AND TENON_ONEDNN_LIBRARY)
    add_library(tenon_partner_onednn INTERFACE)
    target_include_directories(tenon_partner_onednn SYSTEM INTERFACE "${TENON_ONEDNN_INCLUDE}")
    target_link_libraries(tenon_partner_onednn INTERFACE "${TENON_ONEDNN_LIBRARY}")
  endif()
endfunction()

# Makes the target tenon_partner_kissfft when kissfft's C++ header is installed. Nothing is linked.
function(tenon_find_kissfft)
  if(TARGET tenon_partner_kissfft OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  find_path(TENON_KISSFFT_INCLUDE kissfft/kissfft.hh)
  mark_as_advanced(TENON_KISSFFT_INCLUDE)
  if(TENON_KISSFFT_INCLUDE)
    add_library(tenon_partner_kissfft INTERFACE)
    target_include_directories(tenon_partner_kissfft SYSTEM INTERFACE "${TENON_KISSFFT_INCLUDE}")
  endif()
endfunction()

# Makes the target tenon_partner_torch_export when scripts/partners.sh has fetched PyTorch, NumPy and what else
# torch.export imports. Its TENON_PYTHONPATH has all three.
function(tenon_find_torch_export)
  tenon_find_numpy()
  tenon_find_python_package(torch)
  tenon_find_python_package(torch_export)
  if(NOT TARGET tenon_partner_torch OR NOT TARGET tenon_partner_torch_export OR NOT TARGET tenon_partner_numpy)
    return()
  endif()
  set_target_properties(
    tenon_partner_torch_export
    PROPERTIES TENON_PYTHONPATH
               "${TENON_PARTNERS_DIR}/torch:${TENON_PARTNERS_DIR}/torch_export:${TENON_PARTNERS_DIR}/numpy")
endfunction()

# What runs a Python program that compiles models by AOTInductor, `result`. What it compiled once is kept beside
# PyTorch, for other build folders.
function(tenon_torch_export_command result)
  find_package(Python3 COMPONENTS Interpreter QUIET)
  get_target_property(path tenon_partner_torch_export TENON_PYTHONPATH)
  set(${result} "${CMAKE_COMMAND}" -E env "PYTHONPATH=${path}"
                "TORCHINDUCTOR_CACHE_DIR=${TENON_PARTNERS_DIR}/inductor_cache" "${Python3_EXECUTABLE}" -B -W ignore
      PARENT_SCOPE)
endfunction()

# Makes the target `name`, which writes `package` from the network() of a Python file, if PyTorch is there. Options of
# export.py may follow.
function(tenon_export_aoti name package file)
  tenon_find_torch_export()
  if(NOT TARGET tenon_partner_torch_export)
    return()
  endif()
  tenon_torch_export_command(python)
  set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../examples/aoti/export.py")
  add_custom_command(
    OUTPUT "${package}"
    COMMAND ${python} "${script}" "${file}" "${package}" ${ARGN}
    DEPENDS "${script}" "${file}"
    VERBATIM)
  add_custom_target(${name} DEPENDS "${package}")
endfunction()

# Makes the target tenon_partner_dlpack when scripts/partners.sh has fetched the standard's dlpack.h.
function(tenon_find_dlpack)
  set(folder "${TENON_PARTNERS_DIR}/dlpack")
  if(TARGET tenon_partner_dlpack OR NOT EXISTS "${folder}/dlpack/dlpack.h")
    return()
  endif()
  add_library(tenon_partner_dlpack INTERFACE)
  target_include_directories(tenon_partner_dlpack SYSTEM INTERFACE "${folder}")
endfunction()

# Makes the target tenon_partner_pybind11 when scripts/partners.sh has fetched it and Python's headers are there.
function(tenon_find_pybind11)
  set(folder "${TENON_PARTNERS_DIR}/pybind11/pybind11/include")
  tenon_find_python()
  if(TARGET tenon_partner_pybind11 OR NOT TARGET tenon_partner_python OR NOT EXISTS "${folder}")
    return()
  endif()
  add_library(tenon_partner_pybind11 INTERFACE)
  target_include_directories(tenon_partner_pybind11 SYSTEM INTERFACE "${folder}")
  target_link_libraries(tenon_partner_pybind11 INTERFACE tenon_partner_python)
endfunction()

# Makes the target tenon_partner_nanobind when scripts/partners.sh has fetched it and Python's headers are there. A
# part of it is compiled, once for all modules. Its package is not used: that wants a find_package(Python) of its own.
function(tenon_find_nanobind)
  set(folder "${TENON_PARTNERS_DIR}/nanobind/nanobind")
  tenon_find_python()
  if(TARGET tenon_partner_nanobind OR NOT TARGET tenon_partner_python OR NOT EXISTS "${folder}/src")
    return()
  endif()
  add_library(tenon_partner_nanobind STATIC EXCLUDE_FROM_ALL "${folder}/src/nb_combined.cpp")
  target_include_directories(tenon_partner_nanobind SYSTEM PUBLIC "${folder}/include"
                                                    PRIVATE "${folder}/ext/robin_map/include")
  target_link_libraries(tenon_partner_nanobind PUBLIC tenon_partner_python)
  target_compile_features(tenon_partner_nanobind PUBLIC cxx_std_17)
  target_compile_options(tenon_partner_nanobind PRIVATE -fno-strict-aliasing)
  set_target_properties(tenon_partner_nanobind PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                                          CXX_CLANG_TIDY "")
endfunction()

# Makes the target tenon_partner_libtorch when scripts/partners.sh has fetched libtorch.
function(tenon_find_libtorch)
  if(NOT TARGET tenon_partner_libtorch)
    tenon_add_libtorch(tenon_partner_libtorch NO_DEFAULT_PATH HINTS "${TENON_PARTNERS_DIR}/libtorch")
  endif()
endfunction()

# Makes the target tenon_partner_libtorch_debian when Debian's libtorch-dev is installed, which is an older one.
function(tenon_find_libtorch_debian)
  if(NOT TARGET tenon_partner_libtorch_debian AND NOT CMAKE_CROSSCOMPILING)
    tenon_add_libtorch(tenon_partner_libtorch_debian NO_DEFAULT_PATH HINTS /usr)
  endif()
endfunction()

# Makes the target tenon_partner_cuda when there is a CUDA toolkit, and sets TENON_NVCC to
# its compiler.
function(tenon_find_cuda)
  if(NOT TARGET tenon_partner_cuda AND NOT CMAKE_CROSSCOMPILING)
    tenon_add_cuda(tenon_partner_cuda)
  endif()
  set(TENON_NVCC "${CUDAToolkit_NVCC_EXECUTABLE}" PARENT_SCOPE)  # in the cache where FindCUDAToolkit found it
endfunction()

# Makes the targets tenon_partner_openmpi and tenon_partner_mpich where those implementations of MPI are installed.
# Their TENON_MPIRUN starts the processes of a program.
function(tenon_find_mpi)
  find_package(PkgConfig QUIET)
  if(TARGET tenon_partner_openmpi OR TARGET tenon_partner_mpich OR NOT PkgConfig_FOUND OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  foreach(implementation openmpi mpich)
    set(module mpich)
    if(implementation STREQUAL "openmpi")
      set(module ompi-c)
    endif()
    pkg_check_modules(tenon_${implementation} QUIET ${module})
    find_program(TENON_MPIRUN_${implementation} mpirun.${implementation})  # Debian's name for it, beside the other's
    mark_as_advanced(TENON_MPIRUN_${implementation})
    if(tenon_${implementation}_FOUND AND TENON_MPIRUN_${implementation})
      set(target tenon_partner_${implementation})
      add_library(${target} INTERFACE)
      target_include_directories(${target} SYSTEM INTERFACE ${tenon_${implementation}_INCLUDE_DIRS})
      target_link_libraries(${target} INTERFACE ${tenon_${implementation}_LINK_LIBRARIES})
      set_target_properties(${target} PROPERTIES TENON_MPIRUN "${TENON_MPIRUN_${implementation}}")
    endif()
  endforeach()
endfunction()

# Makes the target tenon_partner_opencv when OpenCV's core and imgproc are installed. Debian has a CMake package of it
# only where all of it is.
function(tenon_find_opencv)
  if(TARGET tenon_partner_opencv OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  find_path(TENON_OPENCV_INCLUDE opencv2/imgproc.hpp PATH_SUFFIXES opencv4)
  find_library(TENON_OPENCV_CORE opencv_core)
  find_library(TENON_OPENCV_IMGPROC opencv_imgproc)
  mark_as_advanced(TENON_OPENCV_INCLUDE TENON_OPENCV_CORE TENON_OPENCV_IMGPROC)
  if(TENON_OPENCV_INCLUDE AND TENON_OPENCV_CORE AND TENON_OPENCV_IMGPROC)
    add_library(tenon_partner_opencv INTERFACE)
    target_include_directories(tenon_partner_opencv SYSTEM INTERFACE "${TENON_OPENCV_INCLUDE}")
    target_link_libraries(tenon_partner_opencv INTERFACE "${TENON_OPENCV_IMGPROC}" "${TENON_OPENCV_CORE}")
  endif()
endfunction()

# tenon_find_installed(NAME LIBRARIES... HEADERS HEADER SUFFIX...): makes the target tenon_partner_NAME of libraries that
# are installed. Each header is given with the folder below an include folder that it is found in, or ".".
function(tenon_find_installed name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES;HEADERS")
  if(TARGET tenon_partner_${name} OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(found "")
  while(arg_HEADERS)
    list(POP_FRONT arg_HEADERS header suffix)
    string(MAKE_C_IDENTIFIER "TENON_${name}_${header}" variable)
    find_path(${variable} ${header} PATH_SUFFIXES ${suffix})
    mark_as_advanced(${variable})
    list(APPEND found "${${variable}}")
  endwhile()
  set(libraries "")
  foreach(library IN LISTS arg_LIBRARIES)
    string(MAKE_C_IDENTIFIER "TENON_${name}_${library}" variable)
    find_library(${variable} ${library})
    mark_as_advanced(${variable})
    list(APPEND libraries "${${variable}}")
  endforeach()
  if(NOT "${found};${libraries}" MATCHES "NOTFOUND")
    add_library(tenon_partner_${name} INTERFACE)
    target_include_directories(tenon_partner_${name} SYSTEM INTERFACE ${found})
    target_link_libraries(tenon_partner_${name} INTERFACE ${libraries})
  endif()
endfunction()

# The partners of docs/recipes_libraries.md. Qt wants position-independent code of its users.
function(tenon_find_qt)
  tenon_find_installed(qt LIBRARIES Qt5Gui Qt5Core HEADERS QtGui/QImage ${CMAKE_LIBRARY_ARCHITECTURE}/qt5
                       qimage.h ${CMAKE_LIBRARY_ARCHITECTURE}/qt5/QtGui qstring.h ${CMAKE_LIBRARY_ARCHITECTURE}/qt5/QtCore)
  if(TARGET tenon_partner_qt)
    target_compile_options(tenon_partner_qt INTERFACE -fPIC)
  endif()
endfunction()
function(tenon_find_gstreamer)
  # glibconfig.h is beside the library.
  set(CMAKE_SYSTEM_PREFIX_PATH ${CMAKE_SYSTEM_PREFIX_PATH} /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/glib-2.0)
  tenon_find_installed(gstreamer LIBRARIES gstvideo-1.0 gstreamer-1.0 gobject-2.0 glib-2.0
                       HEADERS gst/video/video.h gstreamer-1.0 glib.h glib-2.0 glibconfig.h .)
endfunction()
function(tenon_find_ffmpeg)
  tenon_find_installed(ffmpeg LIBRARIES avutil HEADERS libavutil/frame.h .)
endfunction()
function(tenon_find_libyuv)
  tenon_find_installed(libyuv LIBRARIES yuv HEADERS libyuv.h .)
endfunction()
# When scripts/partners.sh has fetched ggml.
function(tenon_find_ggml)
  set(folder "${TENON_PARTNERS_DIR}/ggml")
  if(TARGET tenon_partner_ggml OR CMAKE_CROSSCOMPILING OR NOT EXISTS "${folder}/libggml-base.a")
    return()
  endif()
  find_package(Threads REQUIRED)
  add_library(tenon_partner_ggml INTERFACE)
  target_include_directories(tenon_partner_ggml SYSTEM INTERFACE "${folder}/include")
  target_link_libraries(tenon_partner_ggml INTERFACE "${folder}/libggml-base.a" Threads::Threads m)
endfunction()

# Makes the targets tenon_partner_eigen and tenon_partner_xtensor where those headers are installed.
function(tenon_find_eigen)
  if(NOT TARGET tenon_partner_eigen AND NOT CMAKE_CROSSCOMPILING)
    find_path(TENON_EIGEN_INCLUDE unsupported/Eigen/CXX11/Tensor PATH_SUFFIXES eigen3)
    mark_as_advanced(TENON_EIGEN_INCLUDE)
    if(TENON_EIGEN_INCLUDE)
      add_library(tenon_partner_eigen INTERFACE)
      target_include_directories(tenon_partner_eigen SYSTEM INTERFACE "${TENON_EIGEN_INCLUDE}")
    endif()
  endif()
endfunction()
function(tenon_find_xtensor)
  if(NOT TARGET tenon_partner_xtensor AND NOT CMAKE_CROSSCOMPILING)
    find_path(TENON_XTENSOR_INCLUDE xtensor/xadapt.hpp)
    mark_as_advanced(TENON_XTENSOR_INCLUDE)
    if(TENON_XTENSOR_INCLUDE)
      add_library(tenon_partner_xtensor INTERFACE)
      target_include_directories(tenon_partner_xtensor SYSTEM INTERFACE "${TENON_XTENSOR_INCLUDE}")
    endif()
  endif()
endfunction()
