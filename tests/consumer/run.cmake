# SPDX-License-Identifier: MIT
#
# cmake -DMODE=<test> -DSCRATCH=<folder> … -P run.cmake
# The body of the consumer tests; CMakeLists.txt beside this file lists the definitions. Everything
# is written below SCRATCH.

set(prefix "${SCRATCH}/prefix")
set(here "${CMAKE_CURRENT_LIST_DIR}")

# Runs a command; stops with its output unless it succeeds. Leaves the output in `output`.
macro(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "Failed (${result}): ${ARGV}\n${output}")
  endif()
endmacro()

function(expect condition_text actual expected)
  if(NOT actual STREQUAL expected)
    message(FATAL_ERROR "${condition_text}: got \"${actual}\", expected \"${expected}\"")
  endif()
endfunction()

set(configure "${CMAKE_COMMAND}" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}"
              "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}" --no-warn-unused-cli)

# Configures, builds and runs a consumer project from scratch.
function(build_consumer source)
  set(build "${SCRATCH}/${MODE}/build")
  file(REMOVE_RECURSE "${build}")
  run(${configure} ${ARGN} -S "${source}" -B "${build}")
  run("${CMAKE_COMMAND}" --build "${build}")
  run("${CTEST}" --test-dir "${build}" --output-on-failure --no-tests=error -R "^consumer$")
endfunction()

# Compiles main.cpp with the flags and runs it, without a build system.
function(compile_consumer source)
  separate_arguments(options NATIVE_COMMAND "${CXX_FLAGS}")
  set(program "${SCRATCH}/${MODE}/consumer")
  run("${CXX}" ${options} -std=c++17 "${source}" ${ARGN} -o "${program}")
  run("${program}")
  string(STRIP "${output}" output)
  expect("the consumer's output" "${output}" "tenon ${TENON_VERSION} works")
endfunction()

# Installs tenon from a build folder of its own, so that the developer's install manifest stays.
function(install_tenon build to)
  file(REMOVE_RECURSE "${build}" "${to}")
  run(${configure} -DTENON_BUILD_TESTS=OFF -DTENON_BUILD_EXAMPLES=OFF -S "${TENON_SOURCE_DIR}" -B
      "${build}")
  run("${CMAKE_COMMAND}" --install "${build}" --prefix "${to}")
endfunction()

# All files below a folder, but for the ones whose names match `but_for`.
function(list_files result folder but_for)
  file(GLOB_RECURSE files LIST_DIRECTORIES FALSE RELATIVE "${folder}" "${folder}/*")
  list(FILTER files EXCLUDE REGEX "${but_for}")
  list(SORT files)
  set(${result} "${files}" PARENT_SCOPE)
endfunction()

function(mode_install)
  install_tenon("${SCRATCH}/install/build" "${SCRATCH}/install/prefix")
  list_files(installed "${SCRATCH}/install/prefix/include" "^$")
  list_files(headers "${TENON_SOURCE_DIR}/include" "^$")
  expect("the installed headers" "${installed}" "${headers}")
  list_files(others "${SCRATCH}/install/prefix" "^include/")
  expect("what else is installed" "${others}"
         "share/cmake/tenon/tenonConfig.cmake;share/cmake/tenon/tenonConfigVersion.cmake;share/cmake/tenon/tenonExecutorch.cmake;share/cmake/tenon/tenonLibtorch.cmake;share/cmake/tenon/tenonTargets.cmake;share/doc/tenon/LICENSE;share/pkgconfig/tenon.pc;share/tenon/debug/tenon_gdb.py"
  )
  # Moved, because an installed tree must not depend on where it was installed.
  file(REMOVE_RECURSE "${prefix}")
  file(RENAME "${SCRATCH}/install/prefix" "${prefix}")
endfunction()

function(mode_find_package)
  build_consumer("${here}/find_package" "-DCMAKE_PREFIX_PATH=${prefix}")
endfunction()

# Asks find_package for a version; the answer is true when it was found.
function(ask_for_version version answer)
  file(REMOVE_RECURSE "${SCRATCH}/version/build")
  execute_process(COMMAND ${configure} "-DCMAKE_PREFIX_PATH=${prefix}"
                          "-DCONSUMER_VERSION=${version}" -S "${here}/version" -B
                          "${SCRATCH}/version/build"
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(result EQUAL 0 AND output MATCHES "found tenon ${TENON_VERSION}")
    set(${answer} TRUE PARENT_SCOPE)
  elseif(NOT result EQUAL 0 AND output MATCHES "considered but not" AND output MATCHES
                                "tenonConfig.cmake, version: ${TENON_VERSION}")
    set(${answer} FALSE PARENT_SCOPE)
  else()
    message(FATAL_ERROR "find_package(tenon ${version}) neither found nor refused it:\n${output}")
  endif()
endfunction()

function(mode_version)
  string(REPLACE "." ";" numbers "${TENON_VERSION}")
  list(GET numbers 0 major)
  list(GET numbers 1 minor)
  list(GET numbers 2 patch)
  math(EXPR next_minor "${minor} + 1")
  math(EXPR next_patch "${patch} + 1")
  foreach(version "" "${major}.${minor}" "${TENON_VERSION}")
    ask_for_version("${version}" found)
    expect("tenon ${TENON_VERSION} serves a request for \"${version}\"" "${found}" TRUE)
  endforeach()
  set(refused 99 "${major}.${next_minor}" "${major}.${minor}.${next_patch}")
  if(minor GREATER 0)
    math(EXPR previous_minor "${minor} - 1") # older, but not compatible
    list(APPEND refused "${major}.${previous_minor}")
  endif()
  foreach(version IN LISTS refused)
    ask_for_version("${version}" found)
    expect("tenon ${TENON_VERSION} serves a request for \"${version}\"" "${found}" FALSE)
  endforeach()
endfunction()

# Configures the consumer of a partner, which must fail with the words.
function(expect_none_of partner words)
  set(build "${SCRATCH}/${MODE}/refused")
  file(REMOVE_RECURSE "${build}")
  execute_process(COMMAND ${configure} "-DCMAKE_PREFIX_PATH=${prefix}" ${ARGN} -S "${here}/${partner}" -B
                          "${build}"
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " text "${output}")
  string(FIND "${text}" "${words}" at)
  if(result EQUAL 0 OR at EQUAL -1)
    message(FATAL_ERROR "Expected a failure with \"${words}\", got (${result}):\n${output}")
  endif()
endfunction()

# Configures it only; building it takes most of the time.
function(configure_aten)
  set(build "${SCRATCH}/${MODE}/configured")
  file(REMOVE_RECURSE "${build}")
  run(${configure} ${ARGN} -S "${here}/aten" -B "${build}")
endfunction()

function(mode_aten)
  set(ENV{CMAKE_PREFIX_PATH} "")
  expect_none_of(aten "TENON_LIBTORCH_DIR has no libtorch: \"${SCRATCH}\"" "-DTENON_LIBTORCH_DIR=${SCRATCH}")
  expect_none_of(aten "libtorch was not found" -DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON)
  set(ENV{CMAKE_PREFIX_PATH} "${LIBTORCH_DIR}/torch/share/cmake")  # as torch.utils.cmake_prefix_path has it
  configure_aten("-DCMAKE_PREFIX_PATH=${prefix}" -DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON)
  build_consumer("${here}/aten" "-DCMAKE_PREFIX_PATH=${prefix}" "-DTENON_LIBTORCH_DIR=${LIBTORCH_DIR}")
endfunction()

function(mode_aten_debian)
  configure_aten("-DCMAKE_PREFIX_PATH=${prefix}" -DCONSUMER_FINDS_TORCH=ON)
  build_consumer("${here}/aten" "-DCMAKE_PREFIX_PATH=${prefix}")
endfunction()

function(mode_executorch)
  set(ENV{CMAKE_PREFIX_PATH} "")
  expect_none_of(executorch "TENON_EXECUTORCH_DIR has no ExecuTorch: \"${SCRATCH}\"" "-DTENON_EXECUTORCH_DIR=${SCRATCH}")
  expect_none_of(executorch "ExecuTorch was not found" -DCMAKE_DISABLE_FIND_PACKAGE_executorch=ON)
  build_consumer("${here}/executorch" "-DCMAKE_PREFIX_PATH=${prefix}" "-DTENON_EXECUTORCH_DIR=${EXECUTORCH_DIR}"
                 "-DDIGITS_PTE=${TENON_SOURCE_DIR}/examples/digits/data/digits.pte")
endfunction()

function(mode_pkg_config)
  file(MAKE_DIRECTORY "${SCRATCH}/pkg_config")
  set(ENV{PKG_CONFIG_PATH} "${prefix}/share/pkgconfig")
  run("${PKG_CONFIG}" --modversion tenon)
  string(STRIP "${output}" output)
  expect("pkg-config's version" "${output}" "${TENON_VERSION}")
  execute_process(COMMAND "${PKG_CONFIG}" --exists "tenon >= 99" RESULT_VARIABLE result)
  if(result EQUAL 0)
    message(FATAL_ERROR "pkg-config says that tenon ${TENON_VERSION} is 99 or later")
  endif()
  run("${PKG_CONFIG}" --cflags --libs tenon)
  separate_arguments(flags UNIX_COMMAND "${output}")
  compile_consumer("${here}/main.cpp" ${flags})
endfunction()

function(mode_add_subdirectory)
  build_consumer("${here}/add_subdirectory" "-DTENON_SOURCE_DIR=${TENON_SOURCE_DIR}")
endfunction()

function(mode_fetch_content)
  build_consumer("${here}/fetch_content" "-DFETCHCONTENT_SOURCE_DIR_TENON=${TENON_SOURCE_DIR}"
                 "-DTENON_SOURCE_DIR=${TENON_SOURCE_DIR}")
endfunction()

function(mode_vendored)
  set(project "${SCRATCH}/vendored/project")
  file(REMOVE_RECURSE "${project}")
  file(COPY "${here}/vendored/CMakeLists.txt" "${here}/main.cpp" DESTINATION "${project}")
  file(COPY "${TENON_SOURCE_DIR}/include/tenon" DESTINATION "${project}/third_party")
  build_consumer("${project}")
endfunction()

function(mode_single_header)
  set(folder "${SCRATCH}/single_header")
  file(REMOVE_RECURSE "${folder}")
  file(MAKE_DIRECTORY "${folder}")
  run("${PYTHON}" -B "${TENON_SOURCE_DIR}/scripts/single_header.py" "${folder}/tenon.hpp")
  # The same program with the other include, alone in a folder: nothing else of tenon can be found.
  file(READ "${here}/main.cpp" program)
  string(REPLACE "<tenon/tenon.h>" "\"tenon.hpp\"" program "${program}")
  file(WRITE "${folder}/main.cpp" "${program}")
  file(WRITE "${folder}/other.cpp" "#include \"tenon.hpp\"\n#include \"tenon.hpp\"\n")
  compile_consumer("${folder}/main.cpp" "${folder}/other.cpp" -Wall -Wextra)
endfunction()

function(mode_uninstall)
  set(build "${SCRATCH}/uninstall/build")
  set(to "${SCRATCH}/uninstall/prefix")
  install_tenon("${build}" "${to}")
  # Somebody else's file in one of our folders, which must survive.
  file(WRITE "${to}/share/doc/tenon/notes.txt" "mine\n")
  run("${CMAKE_COMMAND}" --build "${build}" --target uninstall)
  list_files(left "${to}" "^$")
  expect("the files after uninstall" "${left}" "share/doc/tenon/notes.txt")
  foreach(folder include/tenon share/cmake/tenon)
    if(EXISTS "${to}/${folder}")
      message(FATAL_ERROR "uninstall left the empty folder ${folder}")
    endif()
  endforeach()
  # A second time there is nothing to do, which is no error.
  run("${CMAKE_COMMAND}" --build "${build}" --target uninstall)
endfunction()

cmake_language(CALL "mode_${MODE}")
