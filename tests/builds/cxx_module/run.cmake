# SPDX-License-Identifier: MIT
# The body of cxx_module.import, with what tests/builds/consumer/run.cmake has, which calls it. The user's project is the
# one in docs/building.md, and programs.cmake behind it.

set(cxx_module "${CMAKE_CURRENT_LIST_DIR}")

# Writes the project to SCRATCH/<name>, where `way` stands for the line that finds tenon.
function(write_project name way)
  file(READ "${TENON_SOURCE_DIR}/docs/building.md" text)
  if(NOT text MATCHES "```cmake\n([^`]*)\n(find_package[^\n]*)\n([^`]*)```[^`]*```cpp\n([^`]*)```")
    message(FATAL_ERROR "docs/building.md does not have the module's example")
  endif()
  if(way STREQUAL "find_package")
    set(way "${CMAKE_MATCH_2}")
  endif()
  file(WRITE "${SCRATCH}/${name}/CMakeLists.txt"
       "${CMAKE_MATCH_1}\n${way}\n${CMAKE_MATCH_3}include(\"${cxx_module}/programs.cmake\")\n")
  file(WRITE "${SCRATCH}/${name}/main.cpp" "${CMAKE_MATCH_4}")
endfunction()

# Builds the project, with the targets alone that are named, and runs the example.
function(build name)
  set(build "${SCRATCH}/${name}/build")
  file(REMOVE_RECURSE "${build}")
  cmake_parse_arguments(arg "" "" "OPTIONS;TARGETS" ${ARGN})
  run(${configure} ${arg_OPTIONS} -S "${SCRATCH}/${name}" -B "${build}")
  run("${CMAKE_COMMAND}" --build "${build}" --target ${arg_TARGETS})
  run("${build}/app")
  string(STRIP "${output}" output)
  expect("the documented program's output" "${output}" "[[1. 2. 3.]\n [4. 5. 6.]]\nFloat {2, 3}")
endfunction()

function(expect_same_output program other)
  run("${program}")
  set(printed "${output}")
  run("${other}")
  string(LENGTH "${output}" length)
  if(length LESS 1000)
    message(FATAL_ERROR "${other} printed less than it should:\n${output}")
  endif()
  expect("${program}" "${printed}" "${output}")
endfunction()

function(mode_import)
  run("${CXX}" -std=c++20 -fno-exceptions -fsyntax-only "-I${TENON_SOURCE_DIR}/include" "${TENON_SOURCE_DIR}/src/tenon.cppm")

  set(from_tree "${SCRATCH}/tree/build")
  write_project(tree "add_subdirectory(\"${TENON_SOURCE_DIR}\" tenon)")
  build(tree OPTIONS -DTENON_MODULE=ON TARGETS app includes imports both)
  foreach(program imports both)
    expect_same_output("${from_tree}/${program}" "${from_tree}/includes")
  endforeach()

  set(prefix "${SCRATCH}/prefix")
  set(library "${SCRATCH}/library")
  file(REMOVE_RECURSE "${library}" "${prefix}" "${SCRATCH}/installed")
  run(${configure} -DTENON_MODULE=ON -S "${TENON_SOURCE_DIR}" -B "${library}")
  run("${CMAKE_COMMAND}" --build "${library}")
  run("${CMAKE_COMMAND}" --install "${library}" --prefix "${SCRATCH}/installed")
  file(RENAME "${SCRATCH}/installed" "${prefix}")  # an installed tree may be moved
  write_project(user find_package)
  build(user OPTIONS "-DCMAKE_PREFIX_PATH=${prefix}" TARGETS app imports)
  expect_same_output("${SCRATCH}/user/build/imports" "${from_tree}/includes")

  # What cannot is told so, and can use the rest of the same tenon.
  set(version "${here}/version")
  set(module "-DCONSUMER_COMPONENTS=COMPONENTS,module")
  set(needs "C++20 modules need CMake 3.28 or later and the generator Ninja or Visual Studio")
  set(make -G "Unix Makefiles" "-DCMAKE_CXX_COMPILER=${CXX}")
  execute_process(COMMAND "${OLDER_CMAKE}" --version OUTPUT_VARIABLE output)
  set(others "${CMAKE_COMMAND}")
  if(output MATCHES "version (3\\.2[0-7]\\.[0-9]+)")
    list(APPEND others "${OLDER_CMAKE}")
  endif()
  foreach(cmake IN LISTS others)
    file(REMOVE_RECURSE "${SCRATCH}/other")
    expect_failure("TENON_MODULE: ${needs}" "${cmake}" ${make} -DTENON_MODULE=ON -S "${TENON_SOURCE_DIR}" -B "${SCRATCH}/other")
    file(REMOVE_RECURSE "${SCRATCH}/other")
    set(find "${cmake}" ${make} "-DCMAKE_PREFIX_PATH=${prefix}" -S "${version}" -B "${SCRATCH}/other")
    expect_failure("module: ${needs}" ${find} ${module})
    run(${find} -DCONSUMER_COMPONENTS=OPTIONAL_COMPONENTS,module)
  endforeach()
endfunction()

include("${CMAKE_CURRENT_LIST_DIR}/../consumer/run.cmake")
